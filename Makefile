PYTHON ?= python3
VENV := .venv
# Python compiles what is imported when it is; pip would compile all of torch, Ray and Sphinx beforehand, for over a minute.
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
SOURCES := pyproject.toml constraints.txt
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))

# The packages are installed without bytecode. Write it on import, or every process compiles torch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test test-all test-minutes test-pythons coverage campaign docs lint prose bench release clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.all ## .venv with packenv, its plug-ins and everything the tests use (torch and OR-tools included)

# Stamps: `.base` is packenv alone, `.all` adds the extras, `.lint` what lint needs. Each is made again when the pins or the project file change.
$(VENV)/.base: $(SOURCES)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.all: $(VENV)/.base $(PLUGINS:=/pyproject.toml)
	$(PIP) -e '.[dev,docs,agents,render,sat,offline,ray]' $(PLUGINS:%=-e %)
	touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) ruff mypy import-linter
	touch $@

demo: $(VENV)/.base ## compare three policies within a minute: a table, and out/demo.png
	@$(VENV)/bin/python experiments/demo.py --out out

test: $(VENV)/.all ## what CI runs; PACKENV_TRACES=FOLDER adds the tests on real traces
	$(VENV)/bin/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/.all ## the slow ones too: before a release, and every night
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m "not minutes"

test-minutes: $(VENV)/.all ## whole studies as the pages show them, and more cases of what is slow
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m minutes

PYTHONS_SECONDS ?= 3600

test-pythons: $(VENV)/.base ## some 250 tests on other Pythons that are here, with the newest libraries and with the pinned ones
	$(VENV)/bin/python -m tests.pythons --seconds $(PYTHONS_SECONDS)

coverage: $(VENV)/.all ## every test, and which lines of Python they run; compiled functions cannot be seen
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m "" --cov=packenv

TIME ?= 600

campaign: $(VENV)/.all ## damaged files, random commands, kills, full disks for TIME seconds; failures lie in out/campaign
	$(VENV)/bin/python -m tests.campaign --seconds $(TIME)

docs: $(VENV)/.all ## the site, into docs/_build/html; a warning is an error
	$(VENV)/bin/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

lint: $(VENV)/.lint ## ruff, mypy, the order of imports, and how hard the words are to read
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy -p agents
	$(VENV)/bin/mypy baselines
	$(VENV)/bin/mypy experiments
	$(if $(PLUGINS),$(VENV)/bin/mypy $(foreach plugin,$(PLUGINS),$(plugin)/packenv_$(notdir $(plugin))))
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/python docs/prose.py --check

prose: $(VENV)/.base ## which sentences of pages and docstrings are hard to read
	$(VENV)/bin/python docs/prose.py

ONE_CORE := $(shell command -v taskset >/dev/null 2>&1 && echo taskset -c 0)

bench: $(VENV)/.base ## how fast this installation is, on one core; PACKENV_TRACES=FOLDER adds the Google trace
	NUMBA_NUM_THREADS=1 $(ONE_CORE) $(VENV)/bin/packenv bench

release: $(VENV)/.all ## wheels, source distributions and a conda recipe in dist, proved in an empty environment
	$(VENV)/bin/python -m tests.release

clean: ## remove what make and the tools have made
	rm -rf $(VENV) out build dist docs/_build docs/examples docs/reference/made *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
