"""(Block) tridiagonal systems that need pivoting: LAPACK's factors."""

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..runtime.arithmetic import lifted, limits_of, size

MARGIN = 3  # rows that LAPACK's wrappers want at least


class Pivoted:
    """LAPACK's factors of a tridiagonal matrix, with partial pivoting."""

    def __init__(self, lower, diagonal, upper, lifted):
        self.n = diagonal.size
        bands = self._padded(lower, 0)[1:], self._padded(diagonal, 1), self._padded(upper, 0)[:-1]
        factorize, self._solve = get_lapack_funcs(("gttrf", "gttrs"), bands)
        below, pivots, above, second, exchanges, _ = factorize(*bands)
        sizes = size(bands[1])
        sizes[:-1] = np.maximum(sizes[:-1], size(bands[0]))
        sizes[1:] = np.maximum(sizes[1:], size(bands[2]))
        self.lifted = lifted + lift(pivots, sizes)
        self.factors = below, pivots, above, second, exchanges

    @property
    def nbytes_extra(self):
        return sum(array.nbytes for array in self.factors)

    def _padded(self, rows, value):
        """At least `MARGIN` rows, the new ones filled with one value."""
        missing = max(0, MARGIN - self.n)
        widths = [(0, missing)] + [(0, 0)] * (rows.ndim - 1)
        return np.pad(rows, widths, constant_values=value) if missing else rows

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i of the system is row order[i] of both."""
        right = self._padded(gather(b, order, self.factors[1].dtype), 0)
        solution = self._solve(*self.factors, right, trans="T" if transpose else "N", overwrite_b=True)[0]
        scatter(solution[: self.n], x, order)


class PivotedBlocks:
    """LAPACK's factors of a block tridiagonal matrix as a banded one, with partial pivoting."""

    def __init__(self, lower, diagonal, upper, inverse, lifted):
        n, b = diagonal.shape[:2]
        self.width = 2 * b - 1  # bands beside the diagonal
        matrix = np.zeros((3 * self.width + 1, n * b), diagonal.dtype, order="F")
        for step, band in ((-1, lower), (0, diagonal), (1, upper)):
            rows, columns = np.arange(n) * b, (np.arange(n) + step) * b
            inside = (columns >= 0) & (columns < n * b)
            for r in range(b):
                for c in range(b):
                    place = 2 * self.width + rows + r - columns - c
                    matrix[place[inside], (columns + c)[inside]] = band[inside, r, c]
        sizes = size(matrix).max(axis=0, initial=0)
        factorize, self._solve = get_lapack_funcs(("gbtrf", "gbtrs"), (matrix,))
        self.factors, self.exchanges, _ = factorize(matrix, self.width, self.width, overwrite_ab=True)
        self.lifted = lift(self.factors[2 * self.width], sizes)

    @property
    def nbytes_extra(self):
        return self.factors.nbytes + self.exchanges.nbytes

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i of the system is row order[i] of both, -1 a ghost."""
        right = gather(b, order, self.factors.dtype)
        bands = self.factors, self.width, self.width
        scatter(
            self._solve(*bands, right, self.exchanges, trans=int(transpose), overwrite_b=True)[0], x, order
        )


def lift(pivots, sizes):
    """Lift, in place, the pivots that vanished, beside their columns (rows are exchanged); how many."""
    limits = limits_of(pivots.dtype)
    vanished = size(pivots) < limits.tiny
    pivots[vanished] = lifted(pivots[vanished], sizes[vanished], limits)
    return np.count_nonzero(vanished)


def gather(b, order, dtype):
    """The rows of b in the system's order, columns contiguous; ghosts are 0."""
    if order is None:
        return np.array(b, dtype, order="F")
    right = np.empty((order.size, b.shape[1]), dtype, order="F")
    right[...] = b.take(order, axis=0, mode="clip")
    right[order < 0] = 0
    return right


def scatter(solution, x, order):
    """Bring the solution to x's order, without the ghosts."""
    if order is None:
        x[...] = solution
    else:
        x[order[order >= 0]] = solution[order >= 0]
