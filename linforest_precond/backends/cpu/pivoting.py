"""(Block) tridiagonal systems that need pivoting: singular rows are found and lifted, LAPACK does the rest."""

import math

import numpy as np
from scipy.linalg import get_lapack_funcs

from .arithmetic import lifted, limits_of, reciprocal, scaled, size, split, squared, times

GROUP = 16  # rows that are folded into one relation
RELATIONS = 4  # relations that are folded into one
AT_ONCE = 4096  # relations whose numbers stay in the cache
ROUNDS = 4  # lifting a row may uncover another one; so often at most
MARGIN = 3  # rows that LAPACK's wrappers want at least

# A relation is two equations between four unknowns: before and at the start of its rows, at and behind their end.
# While two are joined, the unknowns between them stand in the columns HERE and NEXT.
OUTER, UNKNOWNS = 4, 6
START, HERE, NEXT, BEHIND = 1, 2, 3, 4


def lift(lower, diagonal, upper):
    """Add to the diagonal where elimination, orthogonal and hence stable, finds that unknowns vanish.

    Returns the new diagonal, or the old one where nothing vanishes, and the number of rows changed.
    """
    limits = limits_of(diagonal.dtype)
    sizes = row_sizes(lower, diagonal, upper)
    marked, changed = sizes == 0, np.zeros(diagonal.size, bool)
    for _ in range(ROUNDS + 1):
        if marked.any():
            diagonal = diagonal.copy()
            diagonal[marked] += lifted(diagonal[marked], sizes[marked], limits)
            changed |= marked
        with np.errstate(all="ignore"):  # numbers that underflow vanish beside the others
            marked = find_vanishing(*equilibrate(lower, diagonal, upper, limits), limits)
        if not marked.any():
            break
    return diagonal, int(changed.sum())


def row_sizes(*bands):
    """The largest entry of each row."""
    return np.maximum.reduce([size(band) for band in bands])


def equilibrate(lower, diagonal, upper, limits):
    """Bring the rows, then the columns, to sizes in [1/2, 1), by powers of two."""
    rows = powers_of(row_sizes(lower, diagonal, upper), limits)
    lower, diagonal, upper = (scaled(band, rows) for band in (lower, diagonal, upper))
    below, above = np.zeros_like(lower), np.zeros_like(upper)
    below[:-1], above[1:] = lower[1:], upper[:-1]
    columns = powers_of(row_sizes(below, diagonal, above), limits)
    lower[1:] = scaled(lower[1:], columns[:-1])
    upper[:-1] = scaled(upper[:-1], columns[1:])
    return lower, scaled(diagonal, columns), upper


def powers_of(sizes, limits):
    """The powers of two that bring sizes to [1/2, 1), within bounds whose powers are ordinary numbers."""
    exponents = np.clip(np.frexp(sizes)[1], -limits.exponent, limits.exponent)
    return np.ldexp(sizes.dtype.type(1), -exponents)


def find_vanishing(lower, diagonal, upper, limits):
    """Which rows' unknowns vanish, beside the others, while all equations are folded into one relation."""
    n, span = diagonal.size, GROUP
    marked = np.zeros(n, bool)
    if n == 0:
        return marked
    relations = fold_rows(lower, diagonal, upper, limits, marked)
    while relations.shape[-1] > 1:
        relations = fold_relations(relations, span, limits, marked)
        span *= RELATIONS
    # Nothing lies before the first unknown and behind the last.
    marked[0] |= eliminate(relations[:, START : HERE + 1], 0, limits)[0]
    marked[-1] |= size(relations[0, HERE])[0] <= limits.epsilon
    return marked


def fold_rows(lower, diagonal, upper, limits, marked):
    """The equations of each group's rows, without the unknowns inside: (2, 4, groups)."""
    folded = []
    half = diagonal.real.dtype.type(0.5)
    for start in range(0, diagonal.size, GROUP * AT_ONCE):
        stop = min(start + GROUP * AT_ONCE, diagonal.size)
        first = np.arange(start, stop, GROUP)
        rows = np.zeros((3, UNKNOWNS, first.size), diagonal.dtype)
        rows[0, 0], rows[0, START], rows[0, NEXT] = lower[first], diagonal[first], upper[first]
        rows[1, START], rows[1, HERE] = half, -half
        for step in range(1, GROUP):
            j = np.arange(start + step, stop, GROUP)  # all groups, or all but a short last one
            some = rows[..., : j.size]
            some[2] = 0
            some[2, HERE], some[2, NEXT], some[2, BEHIND] = lower[j], diagonal[j], upper[j]
            marked[j - 1] = eliminate(some, HERE, limits)
            some[:2, HERE:-1], some[:2, -1] = some[:2, NEXT:].copy(), 0
        folded.append(normalized(rows[:2, :OUTER], limits))
    return np.concatenate(folded, axis=-1)


def fold_relations(finer, span, limits, marked):
    """The relations of each group become one, without the unknowns between them; each spans `span` rows."""
    count = finer.shape[-1]
    rows = np.zeros((4, UNKNOWNS, -(-count // RELATIONS)), finer.dtype)
    rows[:2, :OUTER] = finer[..., ::RELATIONS]
    for step in range(1, RELATIONS):
        k = np.arange(step, count, RELATIONS)
        some = rows[..., : k.size]
        some[2:, :HERE] = 0
        some[2:, HERE:] = finer[..., k]
        marked[k * span - 1] = eliminate(some, HERE, limits)
        marked[k * span] = eliminate(some[:3], NEXT, limits)
        some[:2, HERE:OUTER] = some[:2, BEHIND:]
        some[:2, BEHIND:] = 0
        some[:2] = normalized(some[:2], limits)
    return rows[:2, :OUTER]


def normalized(equations, limits):
    """Equations brought to sizes in [1/2, 1) by powers of two."""
    return scaled(equations, powers_of(size(equations).max(axis=1, keepdims=True), limits))


def eliminate(equations, column, limits):
    """Eliminate one unknown from all equations but the last, by one reflection; where it had vanished.

    `equations` is (equations, unknowns, m). Where the unknown had vanished, the last equation takes a small entry.
    """
    mirror = equations[:, column].copy()
    length = np.sqrt(sum(map(squared, mirror[1:]), squared(mirror[0])))
    vanished = length <= limits.epsilon
    own, phase = split(mirror[-1])
    total = length + own
    small = lifted(mirror[-1], np.ones_like(length), limits)
    mirror[-1] = scaled(phase, total)
    terms = [times(m.conj(), equation) for m, equation in zip(mirror, equations)]
    reflection = scaled(sum(terms[1:], terms[0]), reciprocal(length * total))
    reflection[:, vanished] = 0
    for m, equation in zip(mirror, equations):
        equation -= times(m, reflection)
    equations[:-1, column] = 0
    equations[-1, column] = np.where(vanished, small, -scaled(phase, length))
    return vanished


class Pivoted:
    """LAPACK's factors of a tridiagonal matrix, with partial pivoting."""

    def __init__(self, lower, diagonal, upper):
        self.n = diagonal.size
        bands = self._padded(lower, 0)[1:], self._padded(diagonal, 1), self._padded(upper, 0)[:-1]
        factorize, self._solve = get_lapack_funcs(("gttrf", "gttrs"), bands)
        below, pivots, above, second, exchanges, _ = factorize(*bands)
        sizes = self._padded(row_sizes(lower, diagonal, upper), 1)
        vanished = pivots == 0  # what `lift` did not foresee: exactly singular, though no entry vanishes
        pivots[vanished] = lifted(pivots[vanished], sizes[vanished], limits_of(pivots.dtype))
        self.lifted = np.count_nonzero(vanished)
        self.factors = below, pivots, above, second, exchanges

    @property
    def nbytes_extra(self):
        return sum(array.nbytes for array in self.factors)

    def _padded(self, rows, value):
        """At least `MARGIN` rows, the new ones filled with one value."""
        missing = max(0, MARGIN - self.n)
        return np.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1), constant_values=value)

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
        sizes = np.abs(matrix).max(axis=0, initial=0)
        factorize, self._solve = get_lapack_funcs(("gbtrf", "gbtrs"), (matrix,))
        self.factors, self.exchanges, _ = factorize(matrix, self.width, self.width, overwrite_ab=True)
        self.lifted = self._lift(sizes)

    def _lift(self, sizes):
        """Lift the pivots that vanish beside their columns (rows are exchanged, columns stay); how many."""
        pivots, epsilon = self.factors[2 * self.width], np.finfo(self.factors.dtype).eps
        tiny = np.abs(pivots) <= epsilon * sizes
        least = np.where(sizes == 0, 1, math.sqrt(epsilon) * sizes)
        pivots[tiny] = np.where(pivots.real < 0, -least, least)[tiny]
        return int(tiny.sum())

    @property
    def nbytes_extra(self):
        return self.factors.nbytes + self.exchanges.nbytes

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i of the system is row order[i] of both, -1 a ghost."""
        right = gather(b, order, self.factors.dtype)
        bands = self.factors, self.width, self.width
        scatter(self._solve(*bands, right, self.exchanges, trans=int(transpose), overwrite_b=True)[0], x, order)


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
