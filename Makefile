# The same commands for people and for CI. Each works as the first command on a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help demo test check up bench docs format clean

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

help: ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1	/' | expand -t 16

demo: .venv/base ## traces to a checked dataset and its X-ray, on this machine, in about a minute
	TUNIX_RT_HOME="$(CURDIR)/.demo" $(BIN)/tunix-rt demo

up: .venv/base ## start the server on this machine
	$(BIN)/tunix-rt up

test: .venv/dev ## all tests
	$(BIN)/python -m pytest -n 2 -q

check: .venv/dev ## lint, types, layers, generated files, secrets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --baseline .secrets.baseline

bench: .venv/dev ## speed, size and linter accuracy, with intervals (about ten minutes)
	PYTHONPATH=backend/tests $(BIN)/python -m benchmarks.linter_gsm8k
	PYTHONPATH=backend/tests $(BIN)/python -m benchmarks.store

docs: .venv/dev ## the reference pages, made from the code
	$(BIN)/python -m pytest -q backend/tests/unit/test_docs.py --update-golden

format: .venv/dev ## put the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what make made, except the demo's home
	rm -rf .venv build dist backend/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Tunix RT needs Python 3.11 or newer. Install it, or run: make PYTHON=/path/to/python"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/base: .venv/bin/python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e .
	touch $@

.venv/dev: .venv/base
	$(PIP_INSTALL) -e '.[dev]'
	touch $@
