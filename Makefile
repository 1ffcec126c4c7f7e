# make demo        the convergence study on small matrices; its report lies in linforest-study/report.html
# make test        every test that is not slow
# make test-all    the slow ones too
# make test-gpu    the whole suite; a missing GPU, matrix folder or PyAMG is a failure
# make test-oldest the quick tests with the oldest supported NumPy, SciPy and Numba, in .venv-oldest
# make test-petsc  the tests of the PETSc preconditioner, with Debian's petsc4py and Open MPI, in .venv-petsc
# make test-interop the tests with JAX, lineax and array-api-strict, in .venv-interop; torch's too where it is in there
# make dist        wheel and source archive in dist/, checked by twine and imported in empty environments of Python 3.11 to 3.13
# make examples    the programs of examples/gallery, beside what users of other packages do now, in .venv-gallery
# make coverage    the quick tests, and the lines of the package that none of them reaches
# make fuzz        the fuzzers at full length (2 to 2.5 hours on two cores), by seeds; ARGS are passed to tests/fuzz/run_fuzzers.py
# make lint        ruff, clang-format, codespell and mypy; make format applies the formatters
# make docs        the documentation, in build/docs; a warning is an error
# make bench       the benchmarks; ARGS, such as "--device cpu", are passed to benchmarks/run.py
# make clean       remove what builds and tests leave behind (the environment stays)
#
# Without PYTHON, an environment is made in .venv and this package installed into it. With PYTHON=python3 that
# interpreter's packages are used as they are, and nothing is installed.

EXTRAS ?= test
# The CuPy that `make dist` tries the wheel with; CUPY= leaves it out.
CUPY ?= cupy-cuda13x
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
export LINFOREST_COMMIT := $(COMMIT)
# Bytecode is written when a module is imported first: most of what is installed never is, and tests start many
# processes.
export PYTHONDONTWRITEBYTECODE :=
pip := -m pip install --quiet --no-compile

ifdef PYTHON
ready :=
lint-ready :=
docs-ready :=
tools :=
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))
else
PYTHON := .venv/bin/python
ready := .venv/.ready-$(EXTRAS)
lint-ready := .venv/.ready-lint
docs-ready := .venv/.ready-docs
tools := .venv/bin/
endif

pytest := $(PYTHON) -m pytest tests --doctest-modules linforest_precond

sources := $(shell git ls-files "*.cu" "*.cuh" 2>/dev/null)
texts := $(shell git ls-files "*.py" "*.cu" "*.cuh" "*.md" "*.toml" "*.cff" Makefile 2>/dev/null)
pages := $(wildcard README.md CONTRIBUTING.md CHANGELOG.md)

.PHONY: demo test test-all test-gpu test-oldest petsc test-petsc test-interop dist examples coverage fuzz lint format docs bench clean

# Threads of OpenBLAS and idle threads of OpenMP would spin beside those that work.
demo examples test test-all test-gpu test-oldest test-interop coverage: export OPENBLAS_NUM_THREADS := 1
demo examples test test-all test-gpu test-oldest test-interop coverage: export OMP_WAIT_POLICY := passive

demo: $(ready)
	$(PYTHON) -m linforest_precond study --quick --offline --out linforest-study

# A quarter of a first run is compilation, by one thread: two workers share it, whole rooms of tests at a time. A lost
# worker ends the run: xdist can wait for ever for its replacement (pytest-xdist #784).
workers := -n 2 --dist loadscope --max-worker-restart 0
# Seconds after which a test counts as hanging; pyproject.toml has the limit of the slow ones.
quick := -m "not slow" -o faulthandler_timeout=300

test: $(ready)
	$(pytest) $(quick) $(workers)

test-all: $(ready)
	$(pytest) $(workers)

test-gpu: export LINFOREST_REQUIRE := gpu,matrices,pyamg
test-gpu: $(ready)
	$(pytest)

coverage: $(ready)
	$(pytest) $(quick) $(workers) --cov --cov-report=term-missing

test-oldest: .venv-oldest/.ready
	.venv-oldest/bin/python -m pytest tests --doctest-modules linforest_precond $(quick) $(workers)

# Ranks share the cores, so each has one thread; Open MPI refuses root without being told twice.
test-petsc: export OMPI_ALLOW_RUN_AS_ROOT := 1
test-petsc: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
test-petsc: export OMP_NUM_THREADS := 1
test-petsc: export OPENBLAS_NUM_THREADS := 1
test-petsc: export NUMBA_NUM_THREADS := 1
test-petsc: export LINFOREST_REQUIRE := petsc
test-petsc: export PYTHONPATH := $(CURDIR)
test-petsc: petsc
	PETSC_DIR=$${PETSC_DIR:-$$($(petsc-dir))} .venv-petsc/bin/python -m pytest tests/petsc $(quick) $(ARGS)

# Torch's wheel for x86 needs gigabytes of CUDA packages: its tests run in `make test` where it is installed.
test-interop: export LINFOREST_REQUIRE := jax,lineax,array_api_strict
test-interop: .venv-interop/.ready
	.venv-interop/bin/python -m pytest tests/interop $(ARGS)

dist: .venv-dist/.ready
	rm -rf dist build/lib build/bdist.*
	.venv-dist/bin/python -m build --outdir dist
	.venv-dist/bin/python -m twine check --strict dist/*
	.venv-dist/bin/python packaging/check_dist.py dist $(if $(CUPY),--cupy $(CUPY))

# Programs whose packages are missing, such as torch, PETSc or CuPy, are left out with a word.
examples: .venv-gallery/.ready
	.venv-gallery/bin/python examples/run.py $(ARGS)

fuzz: export OPENBLAS_NUM_THREADS := 1
fuzz: export OMP_WAIT_POLICY := passive
fuzz: $(ready)
	$(PYTHON) tests/fuzz/run_fuzzers.py $(ARGS)

lint: $(lint-ready)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(tools)clang-format --dry-run --Werror $(sources)
	$(PYTHON) -m codespell_lib $(texts)
	$(PYTHON) -m mdformat --check $(pages)
	$(PYTHON) -m mypy

format: $(lint-ready)
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(tools)clang-format -i $(sources)
	$(PYTHON) -m mdformat $(pages)

docs: $(docs-ready)
	$(PYTHON) -m sphinx -W --keep-going -b html docs build/docs

bench: $(ready)
	$(PYTHON) -m benchmarks.run $(ARGS)

# The stamps make the second call fast; a changed pyproject.toml installs again.
.venv/bin/python:
	python3 -m venv .venv

.venv/.ready-$(EXTRAS): pyproject.toml | .venv/bin/python
	.venv/bin/python $(pip) --editable ".[$(EXTRAS)]"
	touch $@

.venv/.ready-docs: pyproject.toml | .venv/bin/python
	.venv/bin/python $(pip) --editable ".[docs]"
	touch $@

.venv/.ready-lint: pyproject.toml | .venv/bin/python
	.venv/bin/python $(pip) --upgrade "pip>=25.1"
	.venv/bin/python $(pip) --group lint
	.venv/bin/python $(pip) --editable .
	touch $@

# The lower bounds of the base dependencies, each exactly.
.venv-oldest/.ready: pyproject.toml
	test -x .venv-oldest/bin/python || python3 -m venv .venv-oldest
	.venv-oldest/bin/python $(pip) --upgrade pip
	.venv-oldest/bin/python -c "import tomllib; print(*[need.replace('>=', '==') + '.*' for need in \
		tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']], sep='\n')" > .venv-oldest/constraints
	.venv-oldest/bin/python $(pip) --constraint .venv-oldest/constraints --editable ".[test]"
	touch $@

.venv-interop/.ready: pyproject.toml
	test -x .venv-interop/bin/python || python3 -m venv .venv-interop
	.venv-interop/bin/python -m pip install --quiet --upgrade pip
	.venv-interop/bin/python -m pip install --quiet --editable ".[jax]" "array-api-strict>=2.0" "hypothesis>=6.80" "pytest>=9"
	touch $@

.venv-gallery/.ready: pyproject.toml
	test -x .venv-gallery/bin/python || python3 -m venv .venv-gallery
	.venv-gallery/bin/python $(pip) --upgrade pip
	.venv-gallery/bin/python $(pip) --editable ".[gallery]"
	touch $@

.venv-dist/.ready: pyproject.toml
	test -x .venv-dist/bin/python || python3 -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --upgrade pip
	.venv-dist/bin/python -m pip install --quiet "build>=1.0" "twine>=6.1"
	touch $@

# Debian's petsc4py is compiled for NumPy 1; the newer packages of the environment come before Debian's.
debian := python3-petsc4py openmpi-bin python3-venv
sudo := $(if $(filter 0,$(shell id -u)),,sudo)
# The folder of the real-valued build: the usual link to it is part of petsc-dev only.
petsc-dir = dpkg-query -L $$(dpkg-query -W -f '$${Package}\n' 'python3-petsc4py-real3*') | \
	sed -n 's|/lib/python3/dist-packages/petsc4py/__init__.py$$||p' | head -n 1

petsc: .venv-petsc/.ready

.venv-petsc/.ready: pyproject.toml
	test "$$(dpkg-query -W -f '$${db:Status-Abbrev}' $(debian) 2>/dev/null)" = "ii ii ii " || \
		{ $(sudo) apt-get update --quiet && \
		DEBIAN_FRONTEND=noninteractive $(sudo) apt-get install --quiet --yes --no-install-recommends $(debian); }
	test -x .venv-petsc/bin/python || /usr/bin/python3 -m venv --system-site-packages .venv-petsc
	.venv-petsc/bin/python $(pip) "numpy>=1.26,<2" "scipy>=1.15" "numba>=0.61" "threadpoolctl>=3.5" \
		"mpi4py>=4.0" "hypothesis>=6.80" "pytest>=9"
	grep -q PETSC_DIR .venv-petsc/bin/activate || echo "export PETSC_DIR=$$($(petsc-dir)) PYTHONPATH=$(CURDIR)" \
		"OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" >> .venv-petsc/bin/activate
	touch $@

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage docs/api/generated docs/notebooks docs/gallery
	find . \( -name .venv -o -name .git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
