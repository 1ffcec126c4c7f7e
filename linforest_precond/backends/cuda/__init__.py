"""The CUDA backend: CUDA C++ kernels on CuPy arrays, a folder for each topic, a file for each algorithm."""

from . import approximate_inverse as approximate_inverse
from . import csgraph as csgraph
from . import forest as forest
from . import ilu as ilu
from . import krylov as krylov
from . import matching as matching
from . import matrix as matrix
from . import multigrid as multigrid
from . import program_lists as program_lists
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
    "matching",
    "matrix",
    "max_rows",
    "multigrid",
    "name",
    "reordering",
    "runtime",
    "similarity",
    "tridiagonal",
]

name = "cuda"
# The number of a half-edge (two per vertex) and a flag share 32 bits (kernels/forest/ranking_stages.cuh).
max_rows = 2**30 - 1
# The kernels of tridiagonal and Jacobi setups and of the solvers' products check indices that they follow.
checks_shared_indices = True


def __getattr__(attribute):
    """`xp` is CuPy, imported on first use."""
    if attribute == "xp":
        import cupy

        return cupy
    raise AttributeError(attribute)
