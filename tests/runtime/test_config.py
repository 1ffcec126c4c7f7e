"""The choice of the backend, and the report of `show_config`."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from linforest_precond import backends
from linforest_precond.app.configuration import show_config

CPU = "linforest_precond.backends.cpu"
CUDA = "linforest_precond.backends.cuda"


def cupy_like(name, module="cupyx.scipy.sparse._csr"):
    """An object whose type claims to come from CuPy."""
    return type(name, (), {"__module__": module})()


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(backends, "cuda_status", lambda: (False, "no CUDA device answers"))


@pytest.fixture
def fresh_status():
    backends.cuda_status.cache_clear()
    yield
    backends.cuda_status.cache_clear()


@pytest.mark.parametrize(
    "array",
    [np.eye(2), scipy.sparse.eye(2, format="csr"), scipy.sparse.csr_array(np.eye(2)), [[1.0]], None],
    ids=["ndarray", "csr_matrix", "csr_array", "list", "None"],
)
def test_everything_else_goes_to_the_cpu(array):
    assert backends.backend_of(array).__name__ == CPU


def test_cupy_goes_to_the_gpu(monkeypatch):
    monkeypatch.setattr(backends, "cuda_status", lambda: (True, "a device"))
    assert backends.backend_of(cupy_like("csr_matrix")).__name__ == CUDA
    assert backends.backend_of(cupy_like("ndarray", "cupy")).__name__ == CUDA


def test_a_class_derived_from_cupy_goes_to_the_gpu(monkeypatch):
    monkeypatch.setattr(backends, "cuda_status", lambda: (True, "a device"))
    derived = type("mine", (type(cupy_like("ndarray", "cupy")),), {"__module__": "my_library"})
    assert backends.backend_of(derived()).__name__ == CUDA


def test_a_name_that_only_begins_like_cupy_is_not_cupy(no_gpu):
    assert backends.backend_of(cupy_like("matrix", "cupylike.sparse")).__name__ == CPU


def test_cupy_without_gpu_says_why(no_gpu):
    with pytest.raises(TypeError, match=r"cupyx.*csr_matrix.*no CUDA device answers.*on the CPU"):
        backends.backend_of(cupy_like("csr_matrix"))


@pytest.mark.parametrize("stage", range(4))
def test_status_names_the_first_thing_that_fails(monkeypatch, fresh_status, capfd, stage):
    def fail():
        raise OSError("libcuda is missing\nand more")

    attempts = [(lambda: "a device", failure) for _, failure in backends._CUDA_CHECKS]
    attempts[stage] = (fail, attempts[stage][1])
    monkeypatch.setattr(backends, "_CUDA_CHECKS", attempts)
    usable, reason = backends.cuda_status()
    assert not usable
    assert reason == f"{attempts[stage][1]} (OSError: libcuda is missing)"
    assert capfd.readouterr() == ("", "")


def test_status_of_this_machine_is_silent_and_asked_once(fresh_status, capfd, recwarn):
    usable, reason = backends.cuda_status()
    assert isinstance(usable, bool)
    assert reason
    assert backends.cuda_status() is backends.cuda_status()
    assert capfd.readouterr() == ("", "")
    assert not recwarn


@pytest.mark.gpu
def test_arrays_on_a_gpu(cuda):
    assert backends.cuda_status()[0]
    assert backends.backend_of(cuda.array([1.0])).__name__ == CUDA


def test_show_config_names_everything(capsys):
    show_config()
    rows = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    names = {"linforest_precond", "python", "numpy", "scipy", "numba", "cupy", "numba threads"}
    names |= {"numba threading layer", "numba cache", "backend cpu", "backend cuda"}
    assert names <= set(rows)
    assert rows["numpy"].strip() == np.__version__
    usable, reason = backends.cuda_status()
    assert rows["backend cuda"].strip() == f"{'usable' if usable else 'not usable'}: {reason}"


def test_show_config_without_cupy_starts_no_threads():
    script = """
import sys
sys.modules["cupy"] = None  # as if it were not installed
import numba
from linforest_precond.app.configuration import show_config
show_config()
try:
    numba.threading_layer()
except ValueError:
    print("no threads")
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert "not usable: CuPy does not import: install linforest-precond[cuda13x]" in process.stdout
    assert process.stdout.endswith("no threads\n")


def test_every_module_imports_without_cupy():
    script = """
import importlib, pkgutil, sys
sys.modules["cupy"] = sys.modules["cupyx"] = None
import linforest_precond
for module in pkgutil.walk_packages(linforest_precond.__path__, "linforest_precond."):
    importlib.import_module(module.name)
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
