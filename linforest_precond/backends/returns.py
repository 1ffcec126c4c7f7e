"""What both backends return: named tuples of arrays and numbers, and the codes they contain."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from linforest_precond.annotations import Array


class Report(NamedTuple):
    """The state of k systems under iteration, and the records since the last report; all on the host."""

    statuses: Array  # (k,)
    iterations: Array  # (k,)
    steps: Array  # (m,) iteration numbers, with halves
    seconds: Array  # (m,)
    norms: Array  # (m, k) of the residuals, NaN where a system had stopped
    errors: Array | None  # (m, k)


class PivotFinding(IntEnum):
    """The counters of a (block) tridiagonal factorization.

    Decisions depend only on whether a counter is 0; the number of `PERTURBED` pivots is reported to the user.
    """

    PERTURBED = 0  # pivots tiny relative to their row, replaced by +-sqrt(eps) times the row's norm
    INDEFINITE = 1  # pivots that a positive definite matrix cannot have
    GROWN = 2  # inverse pivots that are large relative to their row
    NOT_ROW_DOMINANT = 3  # rows that are not diagonally dominant
    NOT_COLUMN_DOMINANT = 4
    NOT_SYMMETRIC = 5  # rows that differ from their columns
    NOT_HERMITIAN = 6
    NOT_POSITIVE = 7  # diagonal entries without a positive real part
    INCONSISTENT = 8  # pivots that two orders of elimination give with more than roundoff between them


class EntryScan(NamedTuple):
    """What one pass over the stored entries finds; a position is -1 where there is nothing to report."""

    first_bad_row: int
    first_out_of_range: int
    first_nonfinite: int
    sorted: bool
    symmetric: bool
    total: float
    adjacent: float
    longest_row: int
    diagonal: Array


class PatternScan(NamedTuple):
    """The same of the places of stored entries alone."""

    first_bad_row: int
    first_out_of_range: int
    sorted: bool
    symmetric: bool
    longest_row: int
    degrees: Array  # entries of each row, the diagonal left out, 32-bit


class ForestArrays(NamedTuple):
    """What a backend returns for a linear forest."""

    neighbors: Array
    values: Array
    slots: Array | None
    path_id: Array
    position: Array
    lengths: Array  # of each path at its id, 0 elsewhere
    counts: Array  # paths, vertices of the longest, cycles broken
