# make demo | test | test-slow | check | bench. Everything is installed into .venv, once.
PYTHON ?= python3
REQUEST ?= The sign-in page keeps saying that my password is wrong and I cannot remember it. How do I get back in?

BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input install
PROCEDURE := examples/support/procedure.yaml
BENCHMARKS := chaos concurrency context finding fuzz grips language limits overhead support_desk

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check bench clean

help:
	@echo "make demo       a support ticket goes through a procedure, on a model on this machine"
	@echo "make test       the tests that need no model (PYTEST='-k name' narrows them)"
	@echo "make test-slow  the tests with a real model"
	@echo "make check      style, format, types, layers"
	@echo "make bench      all benchmarks, and docs/results.md"
	@echo "make clean      remove .venv"

demo: .venv/.demo-stamp
	@echo "== model (the first time about 0.5 GB)"
	@$(BIN)/sopwith model pull
	@echo "== run"
	@# 4 is a ticket that was handed to a person: a good end as well.
	@$(BIN)/sopwith run $(PROCEDURE) --model local --request "$(REQUEST)" || [ $$? -eq 4 ]
	@echo "== what happened, from the log"
	@$(BIN)/sopwith trace

test: .venv/.bench-stamp
	@$(BIN)/python -m pytest -q -m "not slow" $(PYTEST)

test-slow: .venv/.bench-stamp
	@$(BIN)/sopwith model pull
	@$(BIN)/python -m pytest -q -m slow $(PYTEST)

check: .venv/.dev-stamp
	@echo "== style"
	@$(BIN)/ruff check --quiet .
	@echo "== format"
	@$(BIN)/ruff format --check --quiet .
	@echo "== types"
	@$(BIN)/basedpyright --pythonpath $(BIN)/python
	@echo "== layers"
	@$(BIN)/lint-imports --no-logo

bench: .venv/.bench-stamp
	@$(BIN)/sopwith model pull
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done
	@$(BIN)/python -m benchmarks.report

clean:
	@rm -rf .venv

.venv/.made:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "== virtual environment"
	@$(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "Install Python's venv module first (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@touch $@

.venv/.demo-stamp: pyproject.toml .venv/.made
	@echo "== install"
	@$(PIP) --editable ".[local]"
	@touch $@

.venv/.dev-stamp: pyproject.toml .venv/.made
	@echo "== install for development"
	@$(PIP) --editable ".[dev]"
	@touch $@ .venv/.demo-stamp

.venv/.bench-stamp: pyproject.toml .venv/.made
	@echo "== install for benchmarks"
	@$(PIP) --editable ".[dev,bench]"
	@touch $@ .venv/.dev-stamp .venv/.demo-stamp
