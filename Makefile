# socsim. `make run` for a first report, `make test` before a commit, `make help` for the rest.
# Needs Python 3.11 or newer, make and git; uv is used where it is on the PATH (`make UV= ...` does without).

VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core-installed
FULL := $(VENV)/.full-installed
LOCKS := requirements.lock requirements-core.lock requirements-nodeps.lock
PYTHONS := python3.11 python3 python3.12 python3.13 python3.14 python
JOBS ?= 2
PLATFORM ?= lunar-lake-268v
UV ?= $(shell uv --version >/dev/null 2>&1 && command -v uv)

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1

ifeq ($(UV),)
PIP_INSTALL = $(BIN)/python -m pip install --quiet
else
PIP_INSTALL = $(UV) pip install --quiet --python $(BIN)/python
endif
# Everything comes from a lock, with hashes; the package itself is linked, not copied
INSTALL_SELF = $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

.DEFAULT_GOAL := help
.PHONY: help setup run test test-slow check format lock browser bench calibrate docs clean

help: ## these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(FULL) ## everything a developer needs, in .venv

run: $(CORE) ## a first report: simulate PLATFORM (lunar-lake-268v)
	$(BIN)/socsim run $(PLATFORM)

test: check ## style, types, every test but the slow ones, coverage
	$(BIN)/pytest -n $(JOBS) -m "not slow" --cov

# pytest's exit 5 says that it found no test: not a failure of this target
test-slow: $(FULL) ## the slow tests
	@$(BIN)/pytest -n $(JOBS) -m slow || { status=$$?; [ $$status -eq 5 ] && echo "no slow test"; }

check: $(FULL) ## style, types, locks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@! grep -nE '://|--(extra-)?index-url|--find-links|@ file' $(LOCKS) || { echo "a lock names a host"; exit 1; }

format: $(FULL) ## sort imports, lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

UV_COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links
lock: ## resolve the dependencies anew (needs uv; add LOCK_FLAGS=--upgrade for newer releases)
	$(UV_COMPILE) $(LOCK_FLAGS) --all-extras --group build pyproject.toml -o requirements.lock
	$(UV_COMPILE) $(LOCK_FLAGS) --group build -c requirements.lock --no-annotate pyproject.toml -o requirements-core.lock
	echo "litgpt>=0.5" | $(UV_COMPILE) $(LOCK_FLAGS) --no-deps --no-annotate - -o requirements-nodeps.lock

browser: ## Chromium for the tests of the report, where it is missing
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } \
	  || echo "Chromium could not be installed: browser tests will be skipped"; \
	else echo "no Chromium, and no right to install it: browser tests will be skipped"; fi

bench: $(FULL) ## how fast the simulator is
	@for file in benchmarks/*.py; do $(BIN)/python "$$file" || exit 1; done

calibrate: $(FULL) ## the fits behind the shipped values, anew: fits.yaml, error bars, tables of VALIDATION.md
	$(BIN)/socsim calibrate -o fits.yaml --residuals validation/residuals.csv --tables VALIDATION.md
	$(BIN)/socsim validate --tables VALIDATION.md
	$(BIN)/socsim validate --claims --tables VALIDATION.md

docs: $(FULL) ## the documentation, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo docs/_build/html/index.html

clean: ## remove what can be made again, but for .venv
	rm -rf build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks htmlcov coverage.xml
	rm -f .coverage .coverage.*
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@for candidate in $(PYTHONS); do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    python=$$($$candidate -c 'import sys; print(sys.executable)'); break; fi; done; \
	[ -n "$$python" ] || { echo "no Python 3.11 or newer on the PATH" >&2; exit 1; }; \
	$(if $(UV),$(UV) venv --quiet --python "$$python" $(VENV),"$$python" -m venv $(VENV))

# A .venv that uv made has no pip of its own
$(CORE): requirements-core.lock pyproject.toml | $(BIN)/python
	@$(if $(UV),:,$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null)
	$(PIP_INSTALL) --require-hashes -r requirements-core.lock
	$(INSTALL_SELF)
	@touch $@

# litgpt comes without its dependencies: only its table of published model configurations is read, by tests
$(FULL): requirements.lock requirements-nodeps.lock $(CORE)
	$(PIP_INSTALL) --require-hashes -r requirements.lock
	$(PIP_INSTALL) --require-hashes --no-deps -r requirements-nodeps.lock
	@touch $@
