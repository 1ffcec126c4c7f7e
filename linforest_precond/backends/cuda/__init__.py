"""The CUDA backend: CUDA C++ kernels on CuPy arrays, a folder for each topic, a file for each algorithm.

A function is described in the CPU backend, which has one with the same name and arguments: here is only said
what differs.
"""

from linforest_precond.backends.rooms import import_rooms

from .runtime.prefetch import prefetch as prefetch

name = "cuda"
converter = "cupy.asarray"
linear_operators = "cupyx.scipy.sparse.linalg"
maps_files = False
# The number of a half-edge (two per vertex) and a flag share 32 bits (kernels/forest/ranking_stages.cuh).
max_rows = 2**30 - 1
# The kernels of tridiagonal and Jacobi setups and of the solvers' products check indices that they follow.
checks_shared_arrays = True

import_rooms(__name__, __path__)


def __getattr__(attribute):
    """`xp` is CuPy and `sparse` its sparse matrices, imported on first use."""
    if attribute == "xp":
        import cupy

        return cupy
    if attribute == "sparse":
        import cupyx.scipy.sparse

        return cupyx.scipy.sparse
    raise AttributeError(attribute)
