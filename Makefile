# `make probe` and `make test` are all a newcomer needs; both set up what they run with.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help probe test quick lint format bench docs reference clean

help:
	@echo "make probe   set up and probe the bundled model; leaves a report in out/"
	@echo "make test    set up and run every test"
	@echo "make quick   the tests without the slow ones"
	@echo "make lint    ruff and mypy"
	@echo "make bench   the benchmarks, beside the peers"
	@echo "make docs    regenerate the generated pages of docs/"
	@echo "make clean   remove everything that make has made"

# Remade when the dependencies change, so the second run starts at once.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,ray]'
	@touch $(READY)

probe: $(READY)
	$(BIN)/lmprobe run --base uniform --base labor --output out
	@echo "first   . $(BIN)/activate  (so that your shell finds lmprobe)"

# One thread each: two workers with two threads each would only wait for one another.
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q

quick: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

docs: $(READY)
	$(BIN)/python docs/generate.py

reference: $(READY)
	$(BIN)/python -m lmprobe.models.reference.train --output lmprobe/models/reference

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
