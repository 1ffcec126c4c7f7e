"""PageRank by power iteration in one launch: the same bits as on the CPU."""

import numpy as np

from ..matrix.entries import transposed
from ..matrix.long_row_split import LONG_ROWS_FIELD, SUMMED_PIECE, split_long_rows
from ..matrix.sums import CHUNK
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address

# The structs in pagerank.cu.
MATRIX = Struct(
    "Matrix",
    "csgraph/pagerank.cu",
    indptr="P",
    indices="P",
    data="P",
    long_rows=LONG_ROWS_FIELD,
    partials="P",
)
MATRIX_FIELD = "".join(MATRIX.fields.values())
RANKING = Struct(
    "Ranking", "csgraph/pagerank.cu",
    leaving=MATRIX_FIELD, coming=MATRIX_FIELD, personalization="P", dangling="P", ranks="P", inverses="P",
    flows="P", sums="P", chunk_sums="P", room="q", progress="P", n="q", max_iter="q", alpha="d", goal="d",
)  # fmt: skip


def power_iteration(csr, alpha, personalization, dangling, start, max_iter, goal):
    """Ranks, and the iterations made and what the last one changed."""
    n = csr.n
    types = {"VALUE": csr.data.dtype.type, "INDEX": csr.indices.dtype.type, "PIECE": SUMMED_PIECE}
    program = kernels("csgraph/pagerank", cooperative=True, **types)
    # stall: weights that are all 1 need not be read again
    weights = None if bool((csr.data == 1).all()) else csr.data
    leaving = _Matrix(csr.indptr, csr.indices, weights, csr.longest_row)
    coming = leaving if csr.symmetric else leaving.transposed()
    ranks, progress = start.copy(), cupy.empty(2)
    inverses, flows, sums = cupy.empty((3, n))
    chunks = -(-n // CHUNK)
    room = chunks + -(-chunks // CHUNK) + 1
    chunk_sums, barrier = cupy.empty((2, room)), cupy.zeros(1, np.uint32)
    ranking = RANKING(
        leaving=leaving.field, coming=coming.field, personalization=personalization, dangling=dangling,
        ranks=ranks, inverses=inverses, flows=flows, sums=sums, chunk_sums=chunk_sums, room=room,
        progress=progress, n=n, max_iter=max_iter, alpha=alpha, goal=goal,
    )  # fmt: skip
    launch(program.iterate, (ranking, barrier))
    iterations, change = progress.tolist()  # stall: whether the ranks are good
    return ranks, int(iterations), change


class _Matrix:
    """A matrix whose rows are summed; weights of None are all 1."""

    def __init__(self, indptr, indices, weights, longest_row):
        self.indptr, self.indices, self.weights = indptr, indices, weights
        self.long_rows = split_long_rows(indptr, indices.size, longest_row, SUMMED_PIECE)
        self.partials = cupy.empty(self.long_rows.most_pieces)

    def transposed(self):
        arrays = transposed(self.indptr, self.indices, self.weights)
        longest_row = int((arrays[0][1:] - arrays[0][:-1]).max())  # stall: to see whether rows are cut
        return _Matrix(*arrays, longest_row)

    @property
    def field(self):
        """The struct's value as a field."""
        arrays = self.indptr, self.indices, self.weights, *self.long_rows[:4], self.partials
        return [address(array) for array in arrays]
