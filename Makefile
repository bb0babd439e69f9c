# The front door: every target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
SPARK ?= 4.3.0
OLDEST_SPARK ?= 4.0.5
# for the oldest Spark: there is none for the newest yet
DELTA ?= 4.0.1
VENV ?= .venv
BIN := $(VENV)/bin
CACHE ?= $(HOME)/.cache/indextables
export CARGO_TARGET_DIR ?= $(CACHE)/cargo
# tells pyo3 what to build for; outside the clone, so that all clones share one build of it
export PYO3_CONFIG_FILE := $(CACHE)/pyo3-abi3.txt
export PYTHONWARNDEFAULTENCODING =
# `dev` compiles in seconds for work on the engine; everything measured or shipped is `release`.
PROFILE ?= release
DIST ?= dist
JAR := python/indextables/jars/indextables-hooks.jar
NATIVE := python/indextables/_native.abi3.so
# servers that the tests of object stores run against; without Go or Node those tests are skipped
MINIO := $(CACHE)/bin/minio
MINIO_VERSION ?= v0.0.0-20260212201848-7aac2a2c5b7c
AZURITE := $(CACHE)/npm/node_modules/.bin/azurite-blob
AZURITE_VERSION ?= 3.35.0
RUST_SOURCES := $(shell find rust/src -name '*.rs') rust/Cargo.toml rust/Cargo.lock
SCALA_SOURCES := $(shell find jvm -name '*.scala' -o -path '*/services/*' -type f -o -path '*/resources/*' -type f)

##@ Everyday
help: ## Show this help
	@awk 'BEGIN{FS=":.*##"} /^##@/{printf "\n%s\n",substr($$0,5)} /^[a-z-]+:.*##/{printf "  %-12s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready $(NATIVE) $(JAR) servers ## Create .venv with everything built (idempotent)

servers: $(MINIO) $(AZURITE) ## Fetch the object stores of the tests (minutes once, then cached)

demo: $(VENV)/.ready $(NATIVE) $(JAR) ## Index, search, aggregate and change a sample of log events
	$(BIN)/python -m indextables.cli demo

test: setup ## Run the tests
	cargo test --quiet --manifest-path rust/Cargo.toml
	$(BIN)/python -m pytest -q -m "not slow"

test-oldest: setup ## Run the short test of everything on the oldest supported Spark
	$(MAKE) --no-print-directory .venv-oldest/.ready VENV=.venv-oldest SPARK=$(OLDEST_SPARK)
	.venv-oldest/bin/python -m pytest -q tests/spark/test_compat.py

test-slow: setup ## Run thousands of generated cases
	INDEXTABLES_CASES=explore $(BIN)/python -m pytest -q -m slow

check: setup ## Lint, types, layers, formatting, generated files
	$(BIN)/ruff check python tests benches jvm
	$(BIN)/ruff format --check python tests benches jvm
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest indextables._native
	$(BIN)/lint-imports
	cargo fmt --manifest-path rust/Cargo.toml --check
	cargo clippy --quiet --manifest-path rust/Cargo.toml --all-targets -- -D warnings
	$(BIN)/python docs/generate.py --check

fix: setup ## Format and apply safe fixes, regenerate documents
	$(BIN)/ruff check --fix python tests benches jvm
	$(BIN)/ruff format python tests benches jvm
	cargo fmt --manifest-path rust/Cargo.toml
	$(BIN)/python docs/generate.py

bench: setup ## Measure, side by side with Parquet
	$(BIN)/python -m benches

bench-delta: setup ## Measure changes of rows against Delta Lake, on the oldest supported Spark
	$(MAKE) --no-print-directory .venv-oldest/.ready VENV=.venv-oldest SPARK=$(OLDEST_SPARK)
	.venv-oldest/bin/uv pip install --quiet --python .venv-oldest/bin/python --no-deps delta-spark==$(DELTA)
	.venv-oldest/bin/python -m benches rows

docs: setup ## Regenerate the generated documents
	$(BIN)/python docs/generate.py

##@ Building
wheel: $(VENV)/.ready $(JAR) | $(PYO3_CONFIG_FILE) ## Build the wheel into dist/
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --quiet --release --out $(DIST)

clean: ## Remove what was built here (not the cache)
	rm -rf $(VENV) dist $(NATIVE) $(JAR)

$(VENV)/.ready: requirements-dev.txt pyproject.toml
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get install -qq -y openjdk-17-jre-headless; } \
		|| { echo "a Java runtime (17 or newer) is needed: apt-get install openjdk-17-jre-headless"; exit 1; }
	@command -v cargo >/dev/null || { echo "Rust (1.90 or newer) is needed: see rustup"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-dev.txt "pyspark[connect]==$(SPARK)"
	echo "$(CURDIR)/python" > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/indextables.pth
	touch $@

$(PYO3_CONFIG_FILE):
	@mkdir -p $(@D)
	printf '%s\n' implementation=CPython version=3.11 shared=true abi3=true > $@

$(NATIVE): $(RUST_SOURCES) $(VENV)/.ready | $(PYO3_CONFIG_FILE)
	cd rust && cargo rustc --quiet --profile $(PROFILE) --lib --features python --crate-type cdylib
	cp $(CARGO_TARGET_DIR)/$(subst dev,debug,$(PROFILE))/libindextables_engine.so $@.new
	mv $@.new $@

$(JAR): $(SCALA_SOURCES) jvm/build.py $(VENV)/.ready
	$(BIN)/python jvm/build.py $@

$(MINIO):
	@mkdir -p $(@D)
	@if command -v go >/dev/null; then GOBIN=$(@D) go install github.com/minio/minio@$(MINIO_VERSION); \
	else echo "no Go: tests against S3 will be skipped"; fi

$(AZURITE):
	@mkdir -p $(CACHE)/npm
	@if command -v npm >/dev/null; then \
	npm install --silent --no-fund --no-audit --prefix $(CACHE)/npm azurite@$(AZURITE_VERSION); \
	else echo "no Node: tests against Azure will be skipped"; fi

.PHONY: help setup servers demo test test-oldest test-slow check fix bench bench-delta docs wheel clean
