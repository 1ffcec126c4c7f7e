"""Label propagation, all rounds in one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime import INDICES, Program, Struct, cupy, launch
from .components import labels_of_marked_roots

PROPAGATION = Struct("Propagation", "csgraph/label_propagation.cu", long_rows=LONG_ROWS_FIELD)
# Slots of a long row's hash table per entry, and the word of an empty one.
TABLE_SHARE = 2
EMPTY = 2**64 - 1
PROGRAM = Program("csgraph/label_propagation", cooperative=True, INDEX=INDICES, PIECE=PIECE)


def propagate_labels(pattern, max_iter, seed):
    n, piece = pattern.n, PIECE
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    rows, pieces = long_rows.measured()
    labels, chosen, roots, is_root = (cupy.empty(n, np.int32) for _ in range(4))
    active, any_active = cupy.empty(n, np.uint8), cupy.zeros(2, np.uint8)
    tables = cupy.full(pieces * TABLE_SHARE * piece, EMPTY, np.uint64)
    best, arrived = cupy.zeros(rows, np.uint64), cupy.zeros(rows, np.uint32)
    changed, barrier = cupy.empty(rows, np.uint8), cupy.zeros(1, np.uint32)
    propagation = PROPAGATION(
        indptr=pattern.indptr, indices=pattern.indices, long_rows=long_rows.field, labels=labels,
        chosen=chosen, active=active, any_active=any_active, tables=tables, best=best, arrived=arrived,
        changed=changed, roots=roots, is_root=is_root, n=n, seed=seed, max_iter=max_iter,
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr, PIECE=piece).propagate, (propagation, barrier))
    return labels_of_marked_roots(roots, is_root)[1]
