# make demo        the convergence study on small matrices; its report lies in linforest-study/report.html
# make test        every test that is not slow
# make test-all    the slow ones too
# make test-gpu    the whole suite; a missing GPU, matrix folder or PyAMG is a failure
# make bench       the benchmarks; ARGS, such as "--device cpu", are passed to benchmarks/run.py
# make clean       remove what builds and tests leave behind (the environment stays)
#
# Without PYTHON, an environment is made in .venv and this package installed into it. With PYTHON=python3 that
# interpreter's packages are used as they are, and nothing is installed.

EXTRAS ?= test
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
export LINFOREST_COMMIT := $(COMMIT)

ifdef PYTHON
ready :=
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))
else
PYTHON := .venv/bin/python
ready := .venv/.ready-$(EXTRAS)
endif

pytest := $(PYTHON) -m pytest tests --doctest-modules linforest_precond

.PHONY: demo test test-all test-gpu bench clean

demo: $(ready)
	$(PYTHON) -m linforest_precond study --quick --offline --out linforest-study

# NumPy's own threads would spin beside Numba's.
test test-all: export OPENBLAS_NUM_THREADS := 1

test: $(ready)
	$(pytest) -m "not slow"

test-all: $(ready)
	$(pytest)

test-gpu: export LINFOREST_REQUIRE := gpu,matrices,pyamg
test-gpu: $(ready)
	$(pytest)

bench: $(ready)
	$(PYTHON) benchmarks/run.py $(ARGS)

# The stamp makes the second call fast; a changed pyproject.toml installs again.
.venv/.ready-$(EXTRAS): pyproject.toml
	test -x .venv/bin/python || python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade pip
	.venv/bin/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . \( -name .venv -o -name .git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
