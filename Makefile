# Everything runs in .venv; nothing but Python 3.11 or newer is needed before.
PYTHON ?= python3
PIP_FLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS)

# A real package, of which `make demo` checks a released version.
DEMO_PACKAGE := pytorch-metric-learning
DEMO_VERSION := 2.9.0
DEMO := .demo/$(DEMO_PACKAGE)-$(DEMO_VERSION)

SPELLED := docs rules README.md CHANGELOG.md CONTRIBUTING.md stablelint/report/terms.md stablelint/cli/pages

.PHONY: demo test lint docs site dist clean

demo: $(VENV)/.demo-ready $(DEMO)
	@echo "\$$ cd $(DEMO); stablelint check"
	@cd $(DEMO) && "$(CURDIR)/$(BIN)/stablelint" check || test $$? -eq 1

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Brings the output that the README shows up to date.
docs: $(VENV)/.ready
	$(BIN)/python docs/refresh.py

# The site, in site/: a link that leads nowhere, or a word that is misspelled, is an error.
site: $(VENV)/.site-ready
	$(BIN)/codespell $(SPELLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Wheel and sdist, each tried where nothing else is installed.
dist: $(BIN)/python
	$(PIP) 'build>=1.2' 'twine>=6'
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	set -e; for package in dist/*.whl dist/*.tar.gz; do \
	    $(BIN)/python -m venv --clear dist/fresh; \
	    dist/fresh/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS) $$package; \
	    dist/fresh/bin/stablelint check --exit-zero docs/example/policy.py; \
	done
	rm -rf dist/fresh

clean:
	rm -rf $(VENV) site .demo .stablelint_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# The demonstration needs neither torch nor what development needs.
$(VENV)/.demo-ready: pyproject.toml | $(BIN)/python
	test -e $(VENV)/.ready || $(PIP) --editable .
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/.site-ready: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[site]'
	touch $@

$(DEMO): | $(BIN)/python
	mkdir -p .demo
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
	    --dest .demo $(PIP_FLAGS) $(DEMO_PACKAGE)==$(DEMO_VERSION)
	$(BIN)/python -m zipfile -e .demo/*$(DEMO_VERSION)*.whl $@
