"""Return types of both backends: named tuples of arrays and numbers, and the codes they contain."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from linforest_precond.backends.annotations import Array

CSRArrays: TypeAlias = tuple[Array, Array, Array]  # indptr, indices, data


class Report(NamedTuple):
    """The state of k systems under iteration, and the records since the last report; all on the host."""

    statuses: Array  # (k,) `RunningState` or `solvers.Status`
    iterations: Array  # (k,)
    steps: Array  # (m,) iteration numbers; half steps end in .5
    seconds: Array  # (m,)
    norms: Array  # (m, k) of the residuals, NaN where a system had stopped
    errors: Array | None  # (m, k)


class PivotFinding(IntEnum):
    """The counters of a (block) tridiagonal factorization; decisions depend on whether one is 0 alone."""

    PERTURBED = 0  # pivots tiny relative to their row, replaced by +-sqrt(eps) times the row's norm
    INDEFINITE = 1  # pivots that a positive definite matrix cannot have
    GROWN = 2  # inverse pivots that are large relative to their row
    NOT_ROW_DOMINANT = 3  # rows that are not diagonally dominant
    NOT_COLUMN_DOMINANT = 4
    NOT_SYMMETRIC = 5  # rows that differ from their columns
    NOT_HERMITIAN = 6
    NOT_POSITIVE = 7  # diagonal entries without a positive real part
    INCONSISTENT = 8  # pivots that two orders of elimination give with more than roundoff between them
    WEAK = 9  # pivots below a quarter of their diagonal entry, or of the other sign; see `repair`


class FactorFinding(IntEnum):
    """The counters of an incomplete factorization."""

    PERTURBED = 0  # pivots tiny relative to their row, replaced by +-sqrt(eps) times the row's norm
    NEGATIVE = 1  # pivots of a Hermitian matrix: it has no incomplete Cholesky factorization
    NOT_FINITE = 2  # pivots that are NaN or infinite: entries have grown until they overflowed


class NumberedPaths(NamedTuple):
    """The paths of a forest, numbered in the forest's order. A place is an index of that order."""

    order: Array  # the vertex at each place
    rank: Array  # the place of each vertex
    number: Array  # the path at each place, counted from 0 on the CPU, from 1 on the GPU
    starts: Array  # the first place of each path, and the number of vertices


class TrafficScan(NamedTuple):
    """The result of one pass over the links of a traffic matrix; slots are -1 where nothing is wrong."""

    first_out_of_range: int  # slot of a column index outside the matrix
    first_invalid: int  # slot of a value that is no number of packets
    sorted: bool  # columns strictly increase in each row
    packets: int  # of all links; if it exceeds int64, the sums below have wrapped
    largest_link: int
    sources: tuple[int, int, int]  # how many have packets, the most packets of one, the most links of one
    destinations: tuple[int, int, int]
    links: int


class IndexScan(NamedTuple):
    """The check of a matrix's pointers and columns; row and slot are -1 where nothing is wrong."""

    first_bad_row: int  # where indptr decreases, or its first or last value is wrong
    first_out_of_range: int  # slot of a column index outside the matrix
    sorted: bool  # columns strictly increase in each row
    longest_row: int  # entries

    @property
    def valid(self) -> bool:
        """Whether entries can be read in order."""
        return self.first_bad_row < 0 and self.first_out_of_range < 0 and self.sorted


class EntryScan(NamedTuple):
    """The result of one pass over the stored entries, after the check of `IndexScan`.

    Where that is not `valid`, no entry is read, and the fields after `longest_row` mean nothing.
    """

    first_bad_row: int
    first_out_of_range: int
    sorted: bool
    longest_row: int
    first_nonfinite: int  # slot of NaN or infinity
    symmetric: bool  # of the magnitudes
    total: float  # sum of the off-diagonal magnitudes, scaled
    adjacent: float  # the same of the sub- and superdiagonal
    biased_exponent: int  # of the largest magnitude, as IEEE 754 stores it; 0 for subnormal numbers and zeros
    diagonal: Array
    begun: Any = None  # what `meanwhile` returned, which was called while the host waited


class BandSlots(NamedTuple):
    """Where the entries of the (block) bands are stored in a CSR matrix of a known pattern.

    `places` has the slots of the lower band, the diagonal and the upper band: -1 for no entry, and
    ``ghost_code(slot)`` for the diagonal entry of a ghost, which is the entry at the slot, or 1 where that
    is 0 or not stored.
    """

    places: Array  # (3, N) or (3, blocks, b, b)
    kinds: Array | None  # which entries are on the diagonal or next to it, as the backend packs it
    entries: int  # of the matrix


Slots = TypeVar("Slots", int, Array)


def ghost_code(slots: Slots) -> Slots:
    """The codes of ghosts for slots, -2 or less; the function is its own inverse."""
    return -3 - slots


class ValueScan(NamedTuple):
    """The result of one pass over a matrix that should have a known pattern."""

    finite: bool
    total: float  # these three as in `EntryScan`
    adjacent: float
    biased_exponent: int
    digest: list[int]  # of the pattern


class PatternScan(NamedTuple):
    """The same as `EntryScan` for the pattern, whatever the values are."""

    first_bad_row: int
    first_out_of_range: int
    sorted: bool
    longest_row: int
    symmetric: bool
    degrees: Array  # off-diagonal entries of each row, 32-bit


class RowFacts(NamedTuple):
    """Properties of the rows of a matrix, from which the options of multigrid are chosen."""

    hermitian: bool
    positive: bool  # the diagonal, of real parts
    centered: bool  # all rows sum to zero, up to a tolerance
    dominant_share: float  # of rows whose diagonal is at least the sum of the others, up to a thousandth
    mean_ratio: float  # of the rows' sums of magnitudes to the diagonal
    smallest_diagonal: float  # magnitudes
    largest_diagonal: float


class ForestArrays(NamedTuple):
    """A linear forest, as in `records.Forest`, before its vertices are ordered."""

    neighbors: Array
    values: Array
    slots: Array | None
    path_id: Array
    position: Array
    lengths: Array  # of each path, at its id; 0 elsewhere
    counts: Array  # paths, vertices of the longest, cycles broken


class StrongGraph(NamedTuple):
    """The graph of strong couplings, as a `records.Pattern`: entries that are no edges are diagonal ones."""

    indptr: Array
    indices: Array  # 32-bit
    degrees: Array  # edges of each vertex, 32-bit
    longest_row: int

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def nnz(self) -> int:
        return self.indices.size
