"""The CPU backend: Numba kernels on NumPy arrays, a folder for each topic, a file for each algorithm."""

import numpy as xp
from scipy import sparse as sparse

from . import approximate_inverse as approximate_inverse
from . import csgraph as csgraph
from . import forest as forest
from . import ilu as ilu
from . import krylov as krylov
from . import matching as matching
from . import matrix as matrix
from . import multigrid as multigrid
from . import reordering as reordering
from . import runtime as runtime
from . import similarity as similarity
from . import tridiagonal as tridiagonal

__all__ = [
    "approximate_inverse",
    "checks_shared_indices",
    "csgraph",
    "forest",
    "ilu",
    "krylov",
    "maps_files",
    "matching",
    "matrix",
    "max_rows",
    "multigrid",
    "name",
    "reordering",
    "runtime",
    "similarity",
    "sparse",
    "tridiagonal",
    "xp",
]

name = "cpu"
maps_files = True
max_rows = 2**63 - 1
# Index arrays are always copied: that costs less than to check every index that a kernel follows.
checks_shared_indices = False
