"""The CUDA backend: CuPy arrays and CUDA C++ kernels, a folder for each room, a file for each algorithm."""

from . import csgraph as csgraph
from . import forest as forest
from . import krylov as krylov
from . import matching as matching
from . import matrix as matrix
from . import multigrid as multigrid
from . import reordering as reordering
from . import runtime as runtime
from . import tridiagonal as tridiagonal

__all__ = [
    "csgraph",
    "forest",
    "krylov",
    "matching",
    "matrix",
    "max_rows",
    "multigrid",
    "name",
    "reordering",
    "runtime",
    "tridiagonal",
]

name = "cuda"
# Two half-edges a vertex and a flag fit into 32 bits (kernels/forest/ranking_stages.cuh).
max_rows = 2**30 - 1


def __getattr__(attribute):
    """`xp` is CuPy, imported when first asked for."""
    if attribute == "xp":
        import cupy

        return cupy
    raise AttributeError(attribute)
