"""Facts of a matrix, found by scans before any setup: symmetry, diagonal, dominance, row sums, rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.flags import count_set
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.scaling.number_range import scaled_into_range
from linforest_precond.precond.scaling.scaling import count_tiny_diagonal

# CG with Jacobi takes about this many iterations for each grid point along a side, for 8 digits.
BOUNDARY_ITERATIONS = 3.0
# Rows are nearly dominant if their off-diagonal magnitudes add up to at most this multiple of the diagonal:
# those of differences of fourth order add up to 1.13 of it.
NEARLY_DOMINANT = 1.25
# Relative rounding errors of a row's sum.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Facts:
    """Properties of a matrix, from scans of its entries.

    Attributes
    ----------
    hermitian, rounding
        Whether A equals its conjugate transpose, up to rounding; that in words, where it is not exact.
    positive_diagonal
        Whether the diagonal entries of all rows with entries are real and positive.
    zero_diagonal, tiny_diagonal
        Rows whose diagonal entry is 0, and those where it is tiny compared to the row; the latter are not
        counted where A may be definite.
    dominant_share, m_matrix_share, constant_share
        The share of diagonally dominant rows; of those whose couplings all have the opposite sign of the
        diagonal; and of those whose entries, with their signs, add up to 0.
    row_ratio
        The largest ratio of a row's off-diagonal magnitudes to its diagonal entry.
    heavy_share
        At most this share of the off-diagonal weight (scaled by the diagonal) lies on two couplings a row: a
        bound on what a linear forest covers.
    centered
        Whether A is Hermitian and maps constants to 0: it is singular.
    surplus, zero_sum_share
        The mean over all rows of 1 - sum |a_ij| / |a_ii|, where that is positive; the share where it is 0.
    structural_rank, dependent_rows
        The most rows that can be matched to columns where they have an entry, which is the largest rank that
        any values in A's pattern give; and the first few rows that are left over then.
    """

    rows: int
    entries: int
    hermitian: bool
    positive_diagonal: bool
    zero_diagonal: int
    tiny_diagonal: int
    dominant_share: float
    m_matrix_share: float
    row_ratio: float
    heavy_share: float
    centered: bool
    surplus: float = 0.0
    zero_sum_share: float = 0.0
    constant_share: float = 0.0
    structural_rank: int = 0
    dependent_rows: tuple[int, ...] = ()
    rounding: str = ""

    @property
    def may_be_definite(self) -> bool:
        """Hermitian, with a positive diagonal; and not a Z-matrix most of whose rows have negative sums: such
        a matrix, like that of Helmholtz's equation, is rarely definite."""
        doubtful = self.m_matrix_share >= 0.9 and self.dominant_share < 0.5
        return self.has_definite_diagonal and not doubtful

    @property
    def has_definite_diagonal(self) -> bool:
        return self.hermitian and self.positive_diagonal

    def expected_iterations(self, digits: float) -> float:
        """Iterations with Jacobi to expect for an elliptic matrix, 0 where nothing is known.

        Few rows with sums above 0 are at Dirichlet boundaries: their share is the reciprocal of the width of
        the domain in grid points, to which iterations are proportional. Sums above 0 in all rows are a shift,
        which bounds the condition number of a Hermitian matrix; a small one says nothing of a graph.
        """
        if not (self.is_elliptic and self.surplus and (self.hermitian or self.has_boundaries)):
            return 0.0
        of_width = BOUNDARY_ITERATIONS * digits / 8
        found = of_width / self.surplus if self.has_boundaries else bound(1 - self.surplus, digits)
        return found if found <= of_width * 1.5 * self.rows**0.5 else 0.0

    @property
    def has_boundaries(self) -> bool:
        """Whether most rows have the sum 0, so that those with others are at boundaries."""
        return self.zero_sum_share >= 0.5

    @property
    def separator(self) -> float:
        """Vertices that cut an elliptic mesh of known width into halves, at most as in a cube; else 0."""
        is_known = self.has_boundaries and self.expected_iterations(8) > 0
        return min(self.rows * self.surplus, self.rows ** (2 / 3)) if is_known else 0.0

    @property
    def is_singular(self) -> bool:
        """Whether the pattern or the constants show that A has no inverse."""
        return self.centered or self.structural_rank < self.rows

    @property
    def is_elliptic(self) -> bool:
        """Whether A looks like a discrete elliptic operator or a graph Laplacian: multigrid works. Where A is
        not Hermitian, rows that are not dominant, as those at an outflow, must nearly be."""
        return self.is_nearly_dominant and (self.hermitian or self.row_ratio <= 1.6)

    @property
    def looks_easy(self) -> bool:
        """Whether A may be definite, or is nearly dominant: iterations are likely to converge."""
        return self.may_be_definite or self.is_nearly_dominant

    @property
    def is_nearly_dominant(self) -> bool:
        """Whether nearly all rows are dominant, with couplings of one sign."""
        return self.dominant_share >= 0.9 and self.m_matrix_share >= 0.9

    @property
    def is_scalar_stiffness(self) -> bool:
        """Whether A maps constants to 0 in most rows, as a stiffness matrix does, and some rows are dominant,
        or all nearly; with several unknowns at a point, as in elasticity, none are. Multigrid often pays."""
        keeps_constants = self.has_definite_diagonal and self.constant_share >= 0.5
        return keeps_constants and (self.dominant_share >= 0.05 or self.row_ratio <= NEARLY_DOMINANT)

    @property
    def needs_matching(self) -> bool:
        """Whether rows have to be permuted to get large entries onto the diagonal."""
        return self.zero_diagonal + self.tiny_diagonal > 0 and not self.has_definite_diagonal


def bound(q: float, digits: float) -> float:
    """A bound on the iterations of CG with Jacobi: all eigenvalues of D^-1 A lie in [1 - q, 1 + q] if no row
    has more than q times the magnitude of its diagonal entry beside it."""
    return math.inf if q >= 1 else 0.5 * math.sqrt((1 + q) / (1 - q)) * (digits + 0.3) * math.log(10)


class Scans:
    """Scans of all rows of a matrix with entries in the safe range; `whole` has what is known of it."""

    def __init__(self, csr: CheckedMatrix) -> None:
        self.csr, self.entries = csr, csr.nnz
        self.whole: Any = csr

    def count(self, flags: Array) -> int:
        """How many flags of all rows are set."""
        return count_set(flags)

    def largest(self, values: Array) -> float:
        """The largest value of all rows."""
        return float(values.max())

    def total(self, values: Array) -> float:
        """The sum of nonnegative values of all rows."""
        return float(values.sum())

    def tiny_diagonal(self) -> int:
        return count_tiny_diagonal(self.csr)

    def unmatched(self) -> Array:
        """The rows that a largest matching with columns leaves over."""
        return np.flatnonzero(self.csr.matched_columns < 0)

    def couplings(self) -> tuple[Array, Array]:
        """Of the weights 2 |a_ij| / (|a_ii| + |a_jj|), the sum and the largest of each row."""
        found: tuple[Array, Array] = self.csr.backend.multigrid.strength.coupling_sums(self.csr)
        return found


def facts_of(csr: CheckedMatrix) -> Facts:
    """The facts of a checked matrix, by existing scans of its rows and a few reads of scalars."""
    return found_by(Scans(scaled_into_range(csr, csr.dtype)[0]))  # sums of rows do not overflow


@without_numpy_warnings
def found_by(scans: Scans) -> Facts:
    """The facts that scans find."""
    csr, whole, rows = scans.csr, scans.whole, scans.whole.n
    if not rows:
        return Facts(0, 0, True, True, 0, 0, 1.0, 1.0, 0.0, 1.0, False)
    xp = csr.backend.xp
    diagonal, (magnitudes, sums) = abs(csr.diagonal), csr.backend.multigrid.strength.row_sums(csr)
    is_stored = magnitudes > 0  # empty rows have no equation
    zero = scans.count((diagonal == 0) & is_stored)  # stall: decides whether rows are matched
    positive = (csr.diagonal.real > 0) & (csr.diagonal.imag == 0)
    is_positive = not scans.count(~positive & is_stored)  # stall: CG or not
    has_diagonal = not (zero or scans.count(~is_stored))  # stall: a full diagonal has full rank
    unmatched = np.empty(0, np.int64) if has_diagonal else scans.unmatched()
    # Couplings have the opposite sign of a_ii where |a_ii + sum a_ij| is ||a_ii| - sum |a_ij||.
    has_one_sign = abs(abs(2 * diagonal - magnitudes) - sums) <= ROUNDING * magnitudes
    ratios = magnitudes / (diagonal + ~is_stored)
    surplus = 2 - ratios
    couplings, strongest = scans.couplings()
    weight = scans.total(couplings)  # stall: decides whether a forest is expected to pay
    heavy = scans.total(xp.minimum(2 * strongest, couplings))
    return Facts(
        rows=rows,
        entries=scans.entries,
        hermitian=whole.hermitian,
        positive_diagonal=is_positive,
        zero_diagonal=zero,
        tiny_diagonal=0 if whole.hermitian and is_positive else scans.tiny_diagonal() - zero,
        dominant_share=whole.facts.dominant_share,
        m_matrix_share=scans.count(has_one_sign) / rows,  # stall: whether multigrid is expected to work
        row_ratio=scans.largest(ratios) - 1.0,  # stall: bounds iterations
        heavy_share=heavy / weight if weight else 1.0,
        centered=whole.centered,
        surplus=scans.total(xp.maximum(surplus, 0)) / rows,  # stall: predicts iterations
        zero_sum_share=scans.count(abs(surplus) <= ROUNDING**0.5) / rows,  # stall: the same
        constant_share=scans.count(sums <= ROUNDING**0.5 * magnitudes) / rows,  # stall: the same
        structural_rank=rows - unmatched.size,
        dependent_rows=tuple(unmatched[:5].tolist()),
        rounding=csr.rounding_in_words,
    )
