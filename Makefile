PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := pyproject.toml constraints.txt

.PHONY: help install demo test test-all coverage campaign lint bench clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.all ## .venv with packenv and everything its tests use (torch and OR-tools included)

# Stamps: `.base` is packenv alone, `.all` adds the extras. Each is made anew when the pins or the project file change.
$(VENV)/.base: $(SOURCES)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.all: $(VENV)/.base
	$(PIP) -e '.[dev,agents,render,sat,offline]'
	touch $@

# Four policies on a random workload fitted to a Google trace, on machines a fifth of the size of its largest.
demo: $(VENV)/.base ## compare four policies: a table, and out/demo.png
	mkdir -p out
	$(VENV)/bin/packenv evaluate google2011-like --servers 100x0.2 --intensity 0.92 --slots 100000000 --seeds 2 \
		--plot out/demo.png --json out/demo.json
	@echo "the same as a picture: out/demo.png; every number: out/demo.json"

test: $(VENV)/.all ## the default tests; PACKENV_TRACES=FOLDER adds those on real traces
	$(VENV)/bin/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/.all ## every test, those that are marked slow included
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m ""

coverage: $(VENV)/.all ## every test, and which lines of Python they run; compiled functions cannot be seen
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m "" --cov=packenv

TIME ?= 600

campaign: $(VENV)/.all ## damaged files, random commands, kills, full disks for TIME seconds; failures lie in out/campaign
	$(VENV)/bin/python -m tests.campaign --seconds $(TIME)

lint: $(VENV)/.all ## ruff, mypy, and the order of imports
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy agents
	$(VENV)/bin/mypy baselines
	$(VENV)/bin/mypy experiments
	$(VENV)/bin/lint-imports --no-cache

ONE_CORE := $(shell command -v taskset >/dev/null 2>&1 && echo taskset -c 0)

bench: $(VENV)/.base ## how fast this installation is, on one core; PACKENV_TRACES=FOLDER adds the Google trace
	NUMBA_NUM_THREADS=1 $(ONE_CORE) $(VENV)/bin/packenv bench

clean: ## remove what make and the tools have made
	rm -rf $(VENV) out build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
