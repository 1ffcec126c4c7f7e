"""PageRank by power iteration, in one launch and with the same bits as on the CPU."""

import numpy as np

from linforest_precond.backends.flags import all_set

from ..matrix.entries import transposed
from ..matrix.long_row_split import LONG_ROWS_FIELD, SUMMED_PIECE, split_long_rows
from ..matrix.sums import CHUNK
from ..runtime import INDICES, WEIGHTS, Program, Struct, address, cupy, launch

MATRIX = Struct("Matrix", "csgraph/pagerank.cu", long_rows=LONG_ROWS_FIELD)
MATRIX_FIELD = "".join(MATRIX.fields.values())
PAGERANK = Struct("PageRank", "csgraph/pagerank.cu", outgoing=MATRIX_FIELD, incoming=MATRIX_FIELD)
PROGRAM = Program("csgraph/pagerank", cooperative=True, VALUE=WEIGHTS, INDEX=INDICES, PIECE=SUMMED_PIECE)


def power_iteration(csr, alpha, personalization, dangling, start, max_iter, threshold):
    n = csr.n
    # stall: if all weights are 1, the kernel need not read them
    weights = None if all_set(csr.data == 1) else csr.data
    outgoing = _Matrix(csr.indptr, csr.indices, weights, csr.longest_row)
    incoming = outgoing if csr.symmetric else outgoing.transposed()
    ranks, progress = start.copy(), cupy.empty(2)
    inverses, scaled_ranks, sums = cupy.empty((3, n))
    chunks = -(-n // CHUNK)
    capacity = chunks + -(-chunks // CHUNK) + 1
    chunk_sums, barrier = cupy.empty((2, capacity)), cupy.zeros(1, np.uint32)
    arguments = PAGERANK(
        outgoing=outgoing.field, incoming=incoming.field, personalization=personalization, dangling=dangling,
        ranks=ranks, inverses=inverses, scaled_ranks=scaled_ranks, sums=sums, chunk_sums=chunk_sums,
        capacity=capacity, progress=progress, n=n, max_iter=max_iter, alpha=alpha, threshold=threshold,
    )  # fmt: skip
    launch(PROGRAM(VALUE=csr.data, INDEX=csr.indices).iterate, (arguments, barrier))
    iterations, change = progress.tolist()  # stall: whether the iteration converged
    return ranks, int(iterations), change


class _Matrix:
    """A matrix in CSR with its long rows; weights are None if all are 1."""

    def __init__(self, indptr, indices, weights, longest_row):
        self.indptr, self.indices, self.weights = indptr, indices, weights
        self.long_rows = split_long_rows(indptr, indices.size, longest_row, SUMMED_PIECE)
        self.partials = cupy.empty(self.long_rows.most_pieces)

    def transposed(self):
        arrays = transposed(self.indptr, self.indices, self.weights)
        longest_row = int((arrays[0][1:] - arrays[0][:-1]).max())  # stall: whether there are long rows
        return _Matrix(*arrays, longest_row)

    @property
    def field(self):
        """The values of the struct as a field of another."""
        arrays = self.indptr, self.indices, self.weights, *self.long_rows[:4], self.partials
        return [address(array) for array in arrays]
