"""Sparse LU factors by SciPy's SuperLU: left-looking with supernodes and threshold pivoting.

Demmel, Eisenstat, Gilbert, Li & Liu, "A supernodal approach to sparse partial pivoting" (1999),
doi:10.1137/S0895479895291765.
"""

import numpy as np
import scipy
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ..runtime.arrays import readonly
from ..runtime.jit import kernel

# A diagonal entry is taken as the pivot unless it is below this share of its column's largest entry. 0.001 is
# that of UMFPACK's symmetric strategy (Davis 2004): with 0.1, rows are interchanged, and fill-in added, where
# one step of iterative refinement would do; with 0, growth is unbounded.
DIAGONAL_THRESHOLD = 1e-3
THRESHOLDS = {"diagonal": DIAGONAL_THRESHOLD, "partial": 1.0}
# Columns that are updated together: a panel of 20, SuperLU's default, pays where columns share most updates.
# Below FEW_FLOPS operations a column, single ones take 0.5 to 1.1 of its time (median 0.8).
SINGLE_COLUMNS, FEW_FLOPS = 1, 1e4
# SuperLU's indices are 32-bit.
MOST_ENTRIES = 2**31 - 1


# The library's own symmetric order, which needs none from elsewhere.
OWN_ORDER = ""
# Where the library works: its fill is counted before, and its memory is that of the host.
ON_HOST = True


def unusable(order, pivoting):
    """Why this backend cannot factor a matrix so; empty where it can."""
    return ""


def factor(csr, ordering, pivoting, definite, flops):
    """Factor a matrix in a symmetric order, or COLAMD's of the columns; ZeroDivisionError if it is singular.

    With "diagonal" pivoting, interchanges are the exception. `flops` are expected, infinite where unknown;
    `definite` is not used here.
    """
    threshold = 0.0 if definite and pivoting == "diagonal" else THRESHOLDS[pivoting]
    panel = SINGLE_COLUMNS if flops < FEW_FLOPS * csr.n else None
    return SuperluFactors(csr, None if ordering is None else ordering.rank, threshold, panel)


def memory(csr, count):
    """Bytes of the factors, and at the peak of their computation, from the number of entries: `count()`."""
    return 2 * (bytes_of(count(), csr),)


def bytes_of(entries, csr):
    return entries * (csr.data.dtype.itemsize + 4) + 16 * csr.n


class SuperluFactors:
    """L and U of a matrix, permuted symmetrically by `rank`; None for COLAMD's order.

    `panel` is the number of columns that are updated together; None for SuperLU's 20. `flops` are not known
    here, 0. `nbytes` is an upper bound: indices of a supernode's rows are stored once.
    """

    library = f"SuperLU of SciPy {scipy.__version__}"
    perturbed, flops, definite = 0, 0.0, False

    def __init__(self, csr, rank, threshold, panel):
        self.dtype, self.rank = csr.data.dtype, rank
        self._threshold, self._panel = threshold, panel
        self.entries = self.interchanges = self.nbytes = 0
        if not csr.n:
            return
        if csr.nnz > MOST_ENTRIES:
            raise ValueError(f"A must have at most {MOST_ENTRIES} entries for SuperLU, got {csr.nnz}")
        self._lu = self._factored(csr)
        self.entries = self._lu.nnz
        self.interchanges = int((self._lu.perm_r != self._lu.perm_c).sum())
        self.nbytes = bytes_of(self.entries, csr)

    def _factored(self, csr):
        # SuperLU writes beyond its arrays where a column has no entry to pivot on.
        if not has_full_rank(csr):
            raise ZeroDivisionError(
                "structurally: some rows have entries in fewer columns than there are rows"
            )
        order = "COLAMD" if self.rank is None else "NATURAL"
        try:
            return splu(
                by_columns(csr, self.rank),
                permc_spec=order,
                diag_pivot_thresh=self._threshold,
                panel_size=self._panel,
            )
        except RuntimeError as error:
            if "singular" in str(error):
                raise ZeroDivisionError("elimination leaves a column of zeros") from error
            raise

    def refactored(self, csr):
        """The factors of a matrix with the same pattern; SciPy has no way to keep the symbolic ones."""
        return SuperluFactors(csr, self.rank, self._threshold, self._panel)

    def solve_into(self, b, x, transpose):
        """Solve for all columns; arrays of any strides and precision."""
        if not x.size:
            return
        trans = "T" if transpose else "N"
        if self.rank is None:
            x[...] = self._lu.solve(b.astype(self.dtype, copy=False), trans)
            return
        permuted = np.empty(b.shape, self.dtype, order="F")
        permuted[self.rank] = b
        x[...] = self._lu.solve(permuted, trans)[self.rank]


def has_full_rank(csr):
    """Whether each row has an entry in a column of its own."""
    return bool((csr.diagonal != 0).all() or (csr.matched_columns >= 0).all())


def by_columns(csr, rank):
    """The CSC matrix with rows and columns permuted to their ranks; a transpose has sorted rows."""
    rank = np.arange(csr.n, dtype=np.int32) if rank is None else rank
    indptr, indices = np.zeros(csr.n + 1, np.int32), np.empty(csr.nnz, np.int32)
    slots = np.empty(csr.nnz, np.int64)
    place_by_columns(*map(readonly, (csr.indptr, csr.indices, rank)), indptr, indices, slots)
    return csc_array((csr.data[slots], indices, indptr), shape=(csr.n, csr.n))


@kernel
def place_by_columns(indptr, indices, rank, starts, rows, slots):
    """Count the entries of each permuted column, then place those of one permuted row after another."""
    n = rank.size
    order = np.empty(n, np.int64)
    for row in range(n):
        order[rank[row]] = row
    for slot in range(indices.size):
        starts[rank[indices[slot]] + 1] += 1
    for column in range(n):
        starts[column + 1] += starts[column]
    ends = starts[:n].copy()
    for new_row in range(n):
        for slot in range(np.int64(indptr[order[new_row]]), np.int64(indptr[order[new_row] + 1])):
            column = rank[indices[slot]]
            rows[ends[column]], slots[ends[column]] = new_row, slot
            ends[column] += 1
