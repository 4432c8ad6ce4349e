# One command for each thing a person does here; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
ARGS ?=
NODES ?= 1
JOBS ?= 2

BIN := .venv/bin
STAMP := .venv/.installed
PACKAGES := mnemolog schemas producers processors projections gateway
SOURCES := $(PACKAGES) tests $(if $(wildcard benchmarks/*.py),benchmarks)
KAFKA := infra/kafka/kafka.sh
CHAOS = --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 \
  --generate-hashes --no-header --no-annotate --quiet

.PHONY: help setup demo demo-kafka test test-fast lint types fmt bench bench-page bench-counts verify mutants \
        chaos fuzz release-schemas kafka-up kafka-down lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with the locked dependencies and mnemolog itself

$(STAMP): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo "The venv module is missing: install it (Debian: apt install python3-venv)" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## Watch events go in and answers come out, on the embedded runtime
	$(BIN)/mnemolog demo $(ARGS)

demo-kafka: $(STAMP) ## The same against a real Apache Kafka, with separate processes
	@$(KAFKA) status >/dev/null 2>&1 || trap '$(KAFKA) down' EXIT; \
	bootstrap=$$($(KAFKA) up $(NODES) | tail -n 1); \
	MNEMOLOG_KAFKA="$$bootstrap" $(BIN)/mnemolog demo --kafka "$$bootstrap" $(ARGS)

test: $(STAMP) ## Every test, those on Kafka included (JOBS processes, a broker each)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

test-fast: $(STAMP) ## The tests that need no broker and few seconds
	$(BIN)/python -m pytest -m "not kafka and not slow" $(ARGS)

lint: $(STAMP) ## Check style, format and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP) ## Check types (mypy, strict)
	$(BIN)/mypy $(SOURCES)

fmt: $(STAMP) ## Rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Measure against floor and goals, embedded and on Kafka (ARGS=--full: at 10^6 events)
	@$(KAFKA) status >/dev/null 2>&1 || trap '$(KAFKA) down >/dev/null' EXIT; \
	bootstrap=$$($(KAFKA) up 1 | tail -n 1) || bootstrap=; \
	$(BIN)/python -m benchmarks.bench $${bootstrap:+--kafka "$$bootstrap"} $(ARGS)

bench-page: $(STAMP) ## Put the last whole run's figures into docs/performance.md
	$(BIN)/python -m benchmarks.report

bench-counts: $(STAMP) ## Compare calls, rows and bytes an event with the baseline (ARGS=--update)
	$(BIN)/python -m benchmarks.counts $(ARGS)

verify: $(STAMP) ## Check the ledger in $MNEMOLOG_DATA or ./mnemolog-data
	$(BIN)/mnemolog verify $(ARGS)

mutants: $(STAMP) ## Break each clause of the contract and see a test fail
	$(BIN)/python -m tests.mutants $(ARGS)

fuzz: $(STAMP) ## Damaged input against codec, ledger entries and bodies (SEED=… SECONDS=60)
	$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

release-schemas: $(STAMP) ## Keep the current Avro schemas as those of their version
	$(BIN)/python -m schemas.released

chaos: $(STAMP) ## Random faults for a while, embedded and on Kafka (SEED=1 SECONDS=60)
	$(BIN)/python -m tests.chaos $(CHAOS) $(ARGS)
	$(BIN)/python -m tests.chaos $(CHAOS) --kafka $(ARGS)

kafka-up: ## Start Apache Kafka on this machine (NODES=1 or 3)
	$(KAFKA) up $(NODES)

kafka-down: ## Stop it and remove its data
	$(KAFKA) down

lock: $(STAMP) ## Resolve pyproject.toml anew into the two lock files
	$(COMPILE) --extra dev --output-file requirements.lock $(ARGS)
	$(COMPILE) --constraint requirements.lock --output-file infra/requirements.lock

clean: ## Remove the virtual environment, caches and the broker's jars
	rm -rf .venv build ./*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis infra/kafka/target
