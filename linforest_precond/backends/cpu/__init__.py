"""The CPU backend: Numba kernels on NumPy arrays, a folder for each topic, a file for each algorithm."""

import numpy as xp  # noqa: F401
from scipy import sparse  # noqa: F401

from linforest_precond.backends.rooms import import_rooms

name = "cpu"
converter = "cupy.asnumpy"
linear_operators = "scipy.sparse.linalg"
maps_files = True
max_rows = 2**63 - 1
# Index arrays are always copied: that costs less than to check every index that a kernel follows.
checks_shared_arrays = False

import_rooms(__name__, __path__)


def prefetch(call, *facts):
    """No programs are compiled ahead: Numba compiles a function when it is called."""
