"""Label propagation, in rounds of one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .components import numbered

# The struct in label_propagation.cu.
PROPAGATION = Struct(
    "Propagation", "csgraph/label_propagation.cu",
    indptr="P", indices="P", long_rows=LONG_ROWS_FIELD, labels="P", chosen="P", waiting="P", going="P",
    tables="P", best="P", arrived="P", changed="P", roots="P", is_root="P", n="q", seed="Q", max_iter="q",
)  # fmt: skip
# Words of a long row's table for each piece, in multiples of its entries, and what an empty one holds.
TABLE_SHARE = 2
EMPTY = 2**64 - 1


def propagate_labels(pattern, max_iter, seed):
    """The community of each vertex, numbered by their lowest vertices."""
    n, piece = pattern.n, PIECE
    program = kernels(
        "csgraph/label_propagation", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece
    )
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    rows, pieces = long_rows.measured()
    labels, chosen, roots, is_root = (cupy.empty(n, np.int32) for _ in range(4))
    waiting, going = cupy.empty(n, np.uint8), cupy.zeros(2, np.uint8)
    tables = cupy.full(pieces * TABLE_SHARE * piece, EMPTY, np.uint64)
    best, arrived = cupy.zeros(rows, np.uint64), cupy.zeros(rows, np.uint32)
    changed, barrier = cupy.empty(rows, np.uint8), cupy.zeros(1, np.uint32)
    propagation = PROPAGATION(
        indptr=pattern.indptr, indices=pattern.indices, long_rows=long_rows.field, labels=labels,
        chosen=chosen, waiting=waiting, going=going, tables=tables, best=best, arrived=arrived,
        changed=changed, roots=roots, is_root=is_root, n=n, seed=seed, max_iter=max_iter,
    )  # fmt: skip
    launch(program.propagate, (propagation, barrier))
    return numbered(roots, is_root)[1]
