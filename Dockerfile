# An Apache Spark image with IndexTables in it, for the driver and the executors on Kubernetes or a standalone cluster.
ARG SPARK=4.0.1
FROM rust:1.90-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv openjdk-17-jre-headless make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN python3 -m venv /build && /build/bin/pip wheel --no-deps --wheel-dir /dist .

FROM apache/spark:${SPARK}-python3
USER root
COPY --from=build /dist /dist
# the image's own Python may be older than 3.11
RUN pip3 install --no-cache-dir uv && UV_PYTHON_INSTALL_DIR=/opt/python uv venv --python 3.11 /opt/venv \
    && uv pip install --python /opt/venv/bin/python --no-cache /dist/*.whl && rm -rf /dist
ENV PYSPARK_PYTHON=/opt/venv/bin/python
# the jar is part of the package; Spark finds the extension in it by itself
RUN ln -s "$(/opt/venv/bin/python -c 'from indextables.spark.session import JAR; print(JAR)')" /opt/spark/jars/
USER spark
