"""Return types of both backends: named tuples of arrays and numbers, and the codes they contain."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from linforest_precond.annotations import Array


class Running(IntEnum):
    """What a system that is being iterated is doing; one that has stopped has a `solvers.Status`."""

    RUNNING = 1
    HALF = 2  # the half step has converged, and is still to be taken
    LIMIT = 3  # out of iterations


class Report(NamedTuple):
    """Where iterated columns stand, and what was recorded since the last report; all on the host."""

    statuses: Array  # (k,)
    iterations: Array  # (k,)
    steps: Array  # (m,) iteration numbers, with halves
    seconds: Array  # (m,)
    norms: Array  # (m, k) of the residuals, NaN where a column had stopped
    errors: Array | None  # (m, k)


class Finding(IntEnum):
    """What is counted while a (block) tridiagonal matrix is factored, and where its count stands.

    Only whether a count is 0 decides anything, but for `LIFTED`, which is told to the user.
    """

    LIFTED = 0  # pivots that vanished beside their rows and were lifted
    INDEFINITE = 1  # pivots that a positive definite matrix cannot have
    GROWN = 2  # inverse pivots that are large beside their rows
    NOT_ROW_DOMINANT = 3  # rows whose diagonal is smaller than the others together
    NOT_COLUMN_DOMINANT = 4
    NOT_SYMMETRIC = 5  # rows that differ from their columns
    NOT_HERMITIAN = 6
    NOT_POSITIVE = 7  # diagonal entries without a positive real part
    TORN = 8  # pivots that do not follow from the one before, to working precision


class EntryScan(NamedTuple):
    """The result of one pass over the stored entries; row and slots are -1 where nothing is wrong."""

    first_bad_row: int  # where indptr decreases, or its first or last value is wrong
    first_out_of_range: int  # slot of a column index outside the matrix
    first_nonfinite: int  # slot of NaN or infinity
    sorted: bool  # columns strictly increase in each row
    symmetric: bool  # of the magnitudes
    total: float  # sum of the off-diagonal magnitudes, scaled
    adjacent: float  # the same of the sub- and superdiagonal
    longest_row: int  # entries
    diagonal: Array


class PatternScan(NamedTuple):
    """The same for the pattern, whatever the values are."""

    first_bad_row: int
    first_out_of_range: int
    sorted: bool
    symmetric: bool
    longest_row: int
    degrees: Array  # off-diagonal entries of each row, 32-bit


class ForestArrays(NamedTuple):
    """A linear forest, as in `records.Forest`, before its vertices are ordered."""

    neighbors: Array
    values: Array
    slots: Array | None
    path_id: Array
    position: Array
    lengths: Array  # of each path, at its id; 0 elsewhere
    counts: Array  # paths, vertices of the longest, cycles broken
