"""Array libraries for the tests of interchange, and a minimal one that is always here."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import skip_or_fail


class PlainArray:
    """The least that an array of the array API has: DLPack and a namespace, and no operators."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        return PlainNamespace

    def __array__(self, *_args, **_options):
        raise AssertionError("a copy was asked for")

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def dtype(self):
        return self.array.dtype


class PlainNamespace:
    @staticmethod
    def from_dlpack(x):
        return PlainArray(np.from_dlpack(x))


def require(name):
    """A module, or a skip with the reason (a failure where LINFOREST_REQUIRE lists it)."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        skip_or_fail(name.partition(".")[0], f"{name} does not import ({error}); see `make test-interop`")


class Library:
    """One library: arrays from NumPy's, and back."""

    def __init__(self, name, make, kind, host):
        self.name, self.array, self.kind, self.host = name, make, kind, host


def plain():
    return Library("plain", PlainArray, PlainArray, lambda x: x.array)


def array_api_strict():
    library = require("array_api_strict")
    return Library("array_api_strict", library.asarray, type(library.asarray([0.0])), np.from_dlpack)


def torch():
    library = require("torch")
    return Library("torch", library.from_numpy, library.Tensor, lambda x: x.numpy())


def jax():
    library = require("jax")
    jax_on_host(library)
    return Library("jax", library.device_put, library.Array, np.asarray)


def jax_on_host(library):
    """In double precision, and on the CPU also where the default device is a GPU."""
    library.config.update("jax_enable_x64", True)
    library.config.update("jax_default_device", library.devices("cpu")[0])


LIBRARIES = {make.__name__: make for make in (plain, array_api_strict, torch, jax)}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]()


def nonsymmetric(n=12, seed=0, dtype=np.float64):
    """A well-conditioned sparse matrix of a nonsymmetric pattern, with a few entries in each row."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.2, rng=rng, dtype=np.float64)
    if np.dtype(dtype).kind == "c":
        A = A + 1j * sp.random_array((n, n), density=0.2, rng=rng)
    A = sp.csr_array(A + 4 * sp.eye_array(n)).astype(dtype)
    A.sort_indices()
    return A


def definite(n=12, seed=0):
    A = nonsymmetric(n, seed)
    A = sp.csr_array(A + A.T)
    A.sort_indices()
    return A
