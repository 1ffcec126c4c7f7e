"""(Block) tridiagonal systems that need pivoting: LAPACK's LU factors."""

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..runtime.arithmetic import lifted, limits_of, size
from .repairs import perturb_singular

# Rows of the identity before and after a system. LAPACK's gttrs writes the first and last two rows out, and
# compilers round these statements otherwise than its loop: a path's solution would depend on its neighbours.
PADDING = 2


class Pivoted:
    """The LU factors of a tridiagonal matrix with partial pivoting (LAPACK's gttrf).

    Where the inverses of pivots without pivoting are given, singular segments are perturbed before.
    """

    def __init__(self, lower, diagonal, upper, inverse=None):
        perturbed = 0
        if inverse is not None:
            diagonal, perturbed = perturb_singular(lower, diagonal, upper, inverse)
        bands = _padded(lower, 0)[1:], _padded(diagonal, 1), _padded(upper, 0)[:-1]
        factorize, self._solve = get_lapack_funcs(("gttrf", "gttrs"), bands)
        multipliers, pivots, first_upper, second_upper, exchanges, _ = factorize(*bands)
        sizes = size(bands[1])
        sizes[:-1] = np.maximum(sizes[:-1], size(bands[0]))
        sizes[1:] = np.maximum(sizes[1:], size(bands[2]))
        self.perturbed = perturbed + perturb_tiny(pivots, sizes)
        self.factors = multipliers, pivots, first_upper, second_upper, exchanges

    @property
    def nbytes_extra(self):
        return sum(array.nbytes for array in self.factors)

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i of the system is row order[i] of both."""
        right = gather(b, order, self.factors[1].dtype, PADDING)
        solution = self._solve(*self.factors, right, trans="T" if transpose else "N", overwrite_b=True)[0]
        scatter(solution[PADDING:-PADDING], x, order)


def _padded(band, value):
    return np.pad(band, PADDING, constant_values=value)


class PivotedBlocks:
    """The LU factors of a block tridiagonal matrix, stored as a banded one (LAPACK's gbtrf)."""

    def __init__(self, lower, diagonal, upper, inverse, perturbed):
        n, b = diagonal.shape[:2]
        self.width = 2 * b - 1  # subdiagonals, and as many superdiagonals
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
        self.perturbed = perturb_tiny(self.factors[2 * self.width], sizes)

    @property
    def nbytes_extra(self):
        return self.factors.nbytes + self.exchanges.nbytes

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i is row order[i] of both, -1 for a ghost row."""
        right = gather(b, order, self.factors.dtype)
        bands = self.factors, self.width, self.width
        scatter(
            self._solve(*bands, right, self.exchanges, trans=int(transpose), overwrite_b=True)[0], x, order
        )


def perturb_tiny(pivots, sizes):
    """Perturb zero pivots in place to sqrt(eps) times their column's norm (rows are exchanged); how many."""
    limits = limits_of(pivots.dtype)
    tiny = size(pivots) < limits.tiny
    pivots[tiny] = lifted(pivots[tiny], sizes[tiny], limits)
    return np.count_nonzero(tiny)


def gather(b, order, dtype, padding=0):
    """The rows of b in the system's order, Fortran-contiguous; ghost rows and `padding` end rows are 0."""
    rows = b.shape[0] if order is None else order.size
    right = np.zeros((rows + 2 * padding, b.shape[1]), dtype, order="F")
    inside = right[padding : padding + rows]
    if order is None:
        inside[...] = b
    else:
        inside[...] = b.take(order, axis=0, mode="clip")
        inside[order < 0] = 0
    return right


def scatter(solution, x, order):
    """Write the solution to x in x's order, without the ghost rows."""
    if order is None:
        x[...] = solution
    else:
        x[order[order >= 0]] = solution[order >= 0]
