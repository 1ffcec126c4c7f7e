"""Strongly connected components by signature propagation (ECL-SCC), numbered by their lowest vertex."""

import numpy as np

from ..matrix import entries
from ..runtime import INDICES, Program, Struct, address, cupy, launch
from .components import BLOCK, labels_of_marked_roots

# Edges sampled to estimate in-degrees, from which the pivot is chosen.
SAMPLE = 2**20

STRONG_COMPONENTS = Struct(
    "StrongComponents", "csgraph/strong_components.cu", tails="PP", heads="PP", vertices="PP"
)
# 64-bit words of the struct Counters.
COUNTER_WORDS = 9
PROGRAM = Program("csgraph/strong_components", cooperative=True, INDEX=INDICES)


def strong_components(pattern):
    n, nnz = pattern.n, pattern.nnz
    rows = entries.rows_of(pattern.indptr, nnz)
    tails, heads = ([cupy.empty(nnz, np.int32) for _ in range(2)] for _ in range(2))
    vertices = [cupy.empty(n, np.int32) for _ in range(2)]
    members, lowest, roots, is_root = (cupy.empty(n, np.int32) for _ in range(4))
    in_degrees, signatures = cupy.zeros(n, np.int32), cupy.empty(n, np.uint64)
    counters = cupy.zeros(COUNTER_WORDS, np.uint64)
    arguments = STRONG_COMPONENTS(
        rows=rows, columns=pattern.indices, out_degrees=pattern.degrees, in_degrees=in_degrees,
        signatures=signatures, tails=[*map(address, tails)], heads=[*map(address, heads)],
        vertices=[*map(address, vertices)], members=members, lowest=lowest, roots=roots, is_root=is_root,
        counters=counters, edges=nnz, sampling=max(nnz // SAMPLE, 1), n=n,
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr).find_strong_components, (arguments,), block=BLOCK)
    return labels_of_marked_roots(roots, is_root)
