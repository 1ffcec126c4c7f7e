"""Segments are independent subsystems of a (block) tridiagonal system: no coupling joins them."""

from __future__ import annotations

import math
from typing import cast

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of

Triple = tuple[Array, Array, Array]


def backend_of_bands(bands: Triple) -> Backend:
    return backend_of(bands[1])


def as_blocks(band: Array) -> Array:
    """The entries of a band as blocks; numbers are blocks of one row."""
    return band if band.ndim == 3 else band.reshape(-1, 1, 1)


def entries_of_rows(band: Array) -> Array:
    """A band with one row for each (block) row, of which there may be none."""
    return band.reshape(band.shape[0], math.prod(band.shape[1:]))


def first_rows(bands: Triple) -> Array:
    """Whether each (block) row is the first one of its segment; there is at least one row."""
    lower, _, upper = bands
    coupled = [any_of_last(entries_of_rows(band) != 0) for band in (lower, upper)]
    first: Array = xp_of(lower).ones(lower.shape[0], bool)
    first[1:] = ~(coupled[0][1:] | coupled[1][:-1])
    return first


def segments_of(bands: Triple) -> tuple[Array, Array]:
    """The number of each (block) row's segment, and the first row of each segment; at least one row."""
    first = first_rows(bands)
    xp = xp_of(first)
    return xp.cumsum(first) - 1, xp.flatnonzero(first)  # stall: the number of segments


def any_of_last(array: Array) -> Array:
    """`any` along the last axis; scalar bands have one entry there, for which CuPy's reduction is slow."""
    return array[..., 0] if array.shape[-1] == 1 else cast(Array, array.any(axis=-1))


def any_in_segments(rows: Array, bands: Triple) -> Array:
    """The (block) rows of all segments that have a marked one."""
    segments, starts = segments_of(bands)
    return sums_of_segments(rows, starts)[segments] > 0


def sums_of_segments(counts: Array, starts: Array) -> Array:
    """The sums of integers over each segment: exact, in any order."""
    xp = xp_of(counts)
    before = xp.zeros(counts.size + 1, "int64")
    before[1:] = xp.cumsum(counts.astype("int64"))
    ends = xp.append(starts[1:], counts.size)
    return before[ends] - before[starts]
