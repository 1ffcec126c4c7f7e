"""Strongly connected components, numbered by their lowest vertex."""

import numpy as np

from ..matrix import entries
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address
from .components import BLOCK, numbered

# So many edges tell well enough which vertices are busy.
SAMPLE = 2**20

# The structs in strong_components.cu.
SEARCH = Struct(
    "Search", "csgraph/strong_components.cu",
    rows="P", columns="P", departures="P", arrivals="P", signatures="P",
    tails="PP", heads="PP", vertices="PP", members="P", lowest="P", roots="P", is_root="P", words="P",
    edges="q", sampling="q", n="q",
)  # fmt: skip
WORDS = 9


def strong_components(pattern):
    """The number of components, and each vertex's."""
    n, nnz = pattern.n, pattern.nnz
    program = kernels("csgraph/strong_components", cooperative=True, INDEX=pattern.indptr.dtype.type)
    rows = entries.rows_of(pattern.indptr, nnz)
    tails, heads = ([cupy.empty(nnz, np.int32) for _ in range(2)] for _ in range(2))
    vertices = [cupy.empty(n, np.int32) for _ in range(2)]
    members, lowest, roots, is_root = (cupy.empty(n, np.int32) for _ in range(4))
    arrivals, signatures = cupy.zeros(n, np.int32), cupy.empty(n, np.uint64)
    words = cupy.zeros(WORDS, np.uint64)
    arguments = SEARCH(
        rows=rows, columns=pattern.indices, departures=pattern.degrees, arrivals=arrivals,
        signatures=signatures, tails=[*map(address, tails)], heads=[*map(address, heads)],
        vertices=[*map(address, vertices)], members=members, lowest=lowest, roots=roots, is_root=is_root,
        words=words, edges=nnz, sampling=max(nnz // SAMPLE, 1), n=n,
    )  # fmt: skip
    launch(program.cut_cycles_apart, (arguments,), block=BLOCK)
    return numbered(roots, is_root)
