# The front door: every target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# what keeps one core busy runs beside the next thing that does
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=2
endif

PYTHON ?= python3
SPARK ?= 4.3.0
OLDEST_SPARK ?= 4.0.5
# for the oldest Spark: there is none for the newest yet
DELTA ?= 4.0.1
# the rows of TPC-H
TPCH ?= tpchgen-cli==4.0.0
# what search without Spark is measured beside
PEERS ?= pylance==14.0.2 chdb==4.4.0 duckdb==2.0.0 tantivy==0.27.0
VENV ?= .venv
BIN := $(VENV)/bin
CACHE ?= $(HOME)/.cache/indextables
export CARGO_TARGET_DIR ?= $(CACHE)/cargo
# tells pyo3 what to build for; outside the clone, so that all clones share one build of it
export PYO3_CONFIG_FILE := $(CACHE)/pyo3-abi3.txt
export PYTHONWARNDEFAULTENCODING =
# mkdocs-material announces its successor at every build
export NO_MKDOCS_2_WARNING := 1
# `dev` compiles in seconds for work on the engine; everything measured or shipped is `release`.
PROFILE ?= release
DIST ?= dist
SITE ?= $(CURDIR)/site
LINTED := python tests benches jvm packaging
JAR := python/indextables/jars/indextables-hooks.jar
NATIVE := python/indextables/_native.abi3.so
# Spark's classes as the JVMs of the tests map them; it fits the jars of this folder only
CLASSES := $(VENV)/spark.jsa
# what cargo calls a shared library, and how it finds the symbols of the interpreter
ifeq ($(shell uname -s),Darwin)
DYLIB := dylib
LINK := -- -C link-arg=-undefined -C link-arg=dynamic_lookup
else
DYLIB := so
LINK :=
endif
# flags of a wheel to publish: WHEEL_FLAGS="--zig --compatibility manylinux_2_28" on Linux
WHEEL_FLAGS ?=
# servers that the tests of object stores run against; without Go or Node those tests are skipped
MINIO := $(CACHE)/bin/minio
MINIO_VERSION ?= v0.0.0-20260212201848-7aac2a2c5b7c
AZURITE := $(CACHE)/npm/node_modules/.bin/azurite-blob
AZURITE_VERSION ?= 3.35.0
# checks the workflows; without Go they are not checked
ACTIONLINT := $(CACHE)/bin/actionlint
ACTIONLINT_VERSION ?= v1.7.12
# of the Hadoop client that comes with Spark
HADOOP ?= 3.5.0
HDFS := $(CACHE)/jars/hadoop-client-minicluster-$(HADOOP).jar
# Delta's and Iceberg's own connectors, for the oldest Spark
ICEBERG ?= 1.11.0
LAKES := $(CACHE)/jars/lakes-$(DELTA)-$(ICEBERG)
# the program COMMAND from Debian's PACKAGES, or a word about WHAT is skipped: $(call debian,COMMAND,PACKAGES,WHAT)
debian = command -v $(1) >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { apt-get update -qq || true; } \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(2) >/dev/null; } \
	|| echo "no $(1): $(3) will be skipped (apt-get install $(2))"
# take a file from the cache if it was built from equal sources before, in whichever clone, else build it:
# $(call cached,WHAT IT DEPENDS ON BESIDE SOURCES,SOURCES,COMMANDS that write $$fresh); the newest 20 are kept.
# One clone builds it at a time: they share the folder where cargo puts its result
cached = @built=$(CACHE)/built; mkdir -p $$built $(@D); \
	kept=$$built/$$({ echo $(1); sha256sum $(sort $(2)); } | sha256sum | cut -c1-32)-$(@F); \
	if ! test -f $$kept; then \
		exec 9>$(CACHE)/$(@F).lock; ! command -v flock >/dev/null || flock 9; \
		fresh=$$kept.$$$$; if ! test -f $$kept; then $(3); mv $$fresh $$kept; fi; \
		exec 9>&-; \
	fi; \
	touch $$kept; cp $$kept $@.new; mv $@.new $@; \
	ls -t $$built | tail -n +21 | sed "s|^|$$built/|" | xargs rm -f
RUST_SOURCES := $(shell find rust/src -name '*.rs') rust/Cargo.toml rust/Cargo.lock
SCALA_SOURCES := $(shell find jvm -name '*.scala' -o -path '*/services/*' -type f -o -path '*/resources/*' -type f)

##@ Everyday
help: ## Show this help
	@awk 'BEGIN{FS=":.*##"} /^##@/{printf "\n%s\n",substr($$0,5)} /^[a-z-]+:.*##/{printf "  %-13s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready $(NATIVE) $(JAR) servers browser kerberos ## Create .venv with everything built (idempotent)

servers: $(MINIO) $(AZURITE) $(HDFS) ## Fetch the object stores of the tests (minutes once, then cached)

# apt-get runs once at a time
browser: | $(VENV)/.ready ## Install the browser of the page's tests (Debian's chromium)
	@command -v google-chrome >/dev/null || $(call debian,chromium,chromium,tests of the page in a browser)

kerberos: | browser ## Install the Kerberos of the tests of HDFS (Debian's krb5-kdc)
	@export PATH="$$PATH:/usr/sbin"; $(call debian,krb5kdc,krb5-kdc krb5-admin-server krb5-user,tests of Kerberos)

engine: $(NATIVE)

jar: $(JAR)

demo: $(VENV)/.ready $(NATIVE) $(JAR) ## Index, search, aggregate and change a sample of log events
	$(BIN)/python -m indextables demo

# three workers keep two cores busy: tests wait for servers, processes and timers a quarter of their time
test: test-engine $(CLASSES) ## Run the tests
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "not slow"

test-engine: setup
	MAKEFLAGS= cargo test --quiet --lib --manifest-path rust/Cargo.toml

test-spark: setup ## Run the short test of everything on another Spark: make test-spark ON=4.1.4
	$(MAKE) --no-print-directory .venv-$(ON)/.ready VENV=.venv-$(ON) SPARK=$(ON)
	.venv-$(ON)/bin/python -m pytest -q tests/spark/test_compat.py

test-oldest: ## Run the short test of everything on the oldest supported Spark
	$(MAKE) --no-print-directory test-spark ON=$(OLDEST_SPARK)

test-slow: setup test-lakes ## Run thousands of generated cases
	INDEXTABLES_CASES=explore $(BIN)/python -m pytest -q -m slow

test-lakes: $(LAKES) ## Run Delta's and Iceberg's own connectors, on the oldest supported Spark
	$(MAKE) --no-print-directory .venv-$(OLDEST_SPARK)/.ready VENV=.venv-$(OLDEST_SPARK) SPARK=$(OLDEST_SPARK)
	INDEXTABLES_LAKES=$(LAKES) .venv-$(OLDEST_SPARK)/bin/python -m pytest -q tests/lakes

check: setup $(ACTIONLINT) ## Lint, types, layers, formatting, generated files, workflows, documentation
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest indextables._native
	$(BIN)/lint-imports
	cargo fmt --manifest-path rust/Cargo.toml --check
	cargo clippy --quiet --manifest-path rust/Cargo.toml --all-targets -- -D warnings
	$(BIN)/python docs/generate.py --check
	test ! -x $(ACTIONLINT) || $(ACTIONLINT)
	$(BIN)/mkdocs build --quiet --strict --site-dir $(SITE)

fix: setup ## Format and apply safe fixes, regenerate documents
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)
	cargo fmt --manifest-path rust/Cargo.toml
	$(BIN)/python docs/generate.py

bench: setup ## Measure, side by side with Parquet
	$(BIN)/python -m benches

bench-delta: setup ## Measure changes of rows against Delta Lake, on the oldest supported Spark
	$(MAKE) --no-print-directory .venv-$(OLDEST_SPARK)/.ready VENV=.venv-$(OLDEST_SPARK) SPARK=$(OLDEST_SPARK)
	.venv-$(OLDEST_SPARK)/bin/uv pip install --quiet --python .venv-$(OLDEST_SPARK)/bin/python --no-deps delta-spark==$(DELTA)
	.venv-$(OLDEST_SPARK)/bin/python -m benches rows

bench-peers: setup ## Measure search without Spark beside Lance, ClickHouse, DuckDB, SQLite and tantivy
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(PEERS)
	$(BIN)/python -m benches peers

bench-tpch: setup ## Measure the queries of TPC-H beside Parquet, in one Spark session
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(TPCH)
	$(BIN)/python -m benches tpch

screenshots: setup ## Take the pictures of docs/guides/page.md anew
	INDEXTABLES_SCREENSHOTS=1 $(BIN)/python -m pytest -q tests/page/test_screenshots.py

docs: setup ## Regenerate the generated pages and build the documentation site into site/
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet --strict --site-dir $(SITE)

##@ Building
wheel: $(VENV)/.ready $(JAR) | $(PYO3_CONFIG_FILE) ## Build the wheel into dist/
	$(BIN)/python packaging/third_party.py
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --quiet --profile $(PROFILE) --out $(DIST) $(WHEEL_FLAGS)

sdist: $(VENV)/.ready $(JAR) ## Build the source distribution, with the jar inside, into dist/
	$(BIN)/python packaging/third_party.py
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin sdist --out $(DIST)

release-check: wheel sdist ## Try the wheel and the sdist in empty environments, as a user would
	$(BIN)/python packaging/release_check.py $(DIST)

clean: ## Remove what was built here (not the cache)
	rm -rf .venv* dist site licenses $(NATIVE) $(JAR)

$(VENV)/.ready: requirements-dev.txt pyproject.toml
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get install -qq -y openjdk-17-jre-headless; } \
		|| { echo "a Java runtime (17 or newer) is needed: apt-get install openjdk-17-jre-headless"; exit 1; }
	@command -v cargo >/dev/null || { echo "Rust (1.90 or newer) is needed: see rustup"; exit 1; }
	@echo "Creating $(VENV) with the tools of requirements-dev.txt and pyspark $(SPARK): about a minute"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-dev.txt "pyspark[connect]==$(SPARK)"
	echo "$(CURDIR)/python" > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/indextables.pth
	touch $@

$(PYO3_CONFIG_FILE):
	@mkdir -p $(@D)
	printf '%s\n' implementation=CPython version=3.11 shared=true abi3=true > $@

$(NATIVE): $(RUST_SOURCES) $(VENV)/.ready | $(PYO3_CONFIG_FILE)
	$(call cached,$(PROFILE) $$(rustc --version),$(RUST_SOURCES), \
		echo "Compiling the engine ($(PROFILE)): minutes the first time; dependencies are cached in $(CACHE)"; \
		(cd rust && cargo rustc --profile $(PROFILE) --lib --features python --crate-type cdylib $(LINK)); \
		cp $(CARGO_TARGET_DIR)/$(subst dev,debug,$(PROFILE))/libindextables_engine.$(DYLIB) $$fresh)

$(JAR): $(SCALA_SOURCES) jvm/build.py $(VENV)/.ready
	$(call cached,$(SPARK),$(SCALA_SOURCES) jvm/build.py, \
		echo "Compiling the hooks jar: about a minute"; $(BIN)/python jvm/build.py $$fresh)

# tests run without it too, only longer
$(CLASSES): tests/archive_classes.py $(VENV)/.ready $(JAR) | $(NATIVE)
	@echo "Archiving Spark's classes for the tests: half a minute"
	@$(BIN)/python -m tests.archive_classes $@ 2>$@.log || { cat $@.log; echo "no archive: tests take longer"; }

$(ACTIONLINT):
	@mkdir -p $(@D)
	@if command -v go >/dev/null; then GOBIN=$(@D) go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION); \
	else echo "no Go: the workflows are not checked"; fi

$(MINIO):
	@mkdir -p $(@D)
	@if command -v go >/dev/null; then GOBIN=$(@D) go install github.com/minio/minio@$(MINIO_VERSION); \
	else echo "no Go: tests against S3 will be skipped"; fi

$(AZURITE):
	@mkdir -p $(CACHE)/npm
	@if command -v npm >/dev/null; then \
	npm install --silent --no-fund --no-audit --prefix $(CACHE)/npm azurite@$(AZURITE_VERSION); \
	else echo "no Node: tests against Azure will be skipped"; fi

# Ivy comes with Spark
$(HDFS): | $(VENV)/.ready
	@mkdir -p $(@D)
	java -cp "$$($(BIN)/python -c 'import pyspark; print(pyspark.__path__[0])')/jars/*" org.apache.ivy.Main \
		-error -cache $(@D)/ivy -notransitive -types jar -confs default \
		-dependency org.apache.hadoop hadoop-client-minicluster $(HADOOP) \
		-retrieve "$(@D)/[artifact]-[revision].[ext]" || echo "no Maven repository: tests against HDFS will be skipped"
	rm -rf $(@D)/ivy

$(LAKES): | $(VENV)/.ready
	for module in "io.delta delta-spark_2.13 $(DELTA)" "io.delta delta-storage $(DELTA)" \
		"org.apache.iceberg iceberg-spark-runtime-4.0_2.13 $(ICEBERG)"; do \
		java -cp "$$($(BIN)/python -c 'import pyspark; print(pyspark.__path__[0])')/jars/*" org.apache.ivy.Main \
			-error -cache $@.ivy -notransitive -types jar -confs default -dependency $$module \
			-retrieve "$@.new/[artifact]-[revision].[ext]"; \
	done
	rm -rf $@.ivy
	mv $@.new $@

.PHONY: help setup engine jar servers browser kerberos demo test test-engine test-oldest test-spark test-lakes test-slow check fix bench bench-delta bench-peers bench-tpch docs screenshots wheel sdist release-check clean
