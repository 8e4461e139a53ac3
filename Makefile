# Two commands for a newcomer: `make demo` and `make test`. Each makes its own environment in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint types imports protos bench quality clean

demo: .venv/run
	$(BIN)/tryst demo --out demo

test: lint types imports
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

imports: .venv/dev
	$(BIN)/lint-imports

protos: .venv/dev
	$(BIN)/python -m tryst.protos.compile

# The peers come along: anonlink beside Tryst, clkhash in an environment of its own, since it needs older packages.
bench: .venv/dev .venv-clkhash
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks encode
	$(BIN)/python -m benchmarks compare

# Splink and recordlinkage bring packages that Tryst does not have.
quality: .venv/dev .venv-peers
	$(BIN)/python -m benchmarks quality

.venv-peers:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install splink==5.0.0 recordlinkage==0.16

.venv-clkhash:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install clkhash==0.18.3

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tryst needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

.venv/dev: .venv/run
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-clkhash .venv-peers build *.egg-info demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
