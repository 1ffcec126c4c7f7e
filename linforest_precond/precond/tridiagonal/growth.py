"""Singular segments of (block) tridiagonal systems are regularized where their solutions overflow.

Elimination finds a singular segment at its last rows, and perturbs a pivot there. The solution then has a
large multiple of the null vector, scaled to 1 in the perturbed row. Where the null vector decays towards that
row, it overflows, though the matrix is well conditioned but for the null vector. Segments whose solutions
overflow are regularized: first their whole diagonal is shifted, which reaches the null vector wherever it is
large; where that is not enough, their couplings are dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.flags import any_set
from linforest_precond.precond.tridiagonal.segments import Triple, any_in_segments, entries_of_rows


def overflowing_rows(method: Any, bands: Triple) -> Array | None:
    """A mask of the (block) rows of all segments whose solutions overflow; None where there are none."""
    if not bands[1].size:
        return None
    bad = overflows(method, bands)
    return any_in_segments(bad, bands) if any_set(bad) else None  # stall: decides how the system is solved


def overflows(method: Any, bands: Triple, first: int = 0) -> Array:
    """A mask of the (block) rows where solutions overflow; the rows of `bands` are numbered from `first`.

    A right-hand side of the size of the rows is solved for. Its solution counts as an overflow beyond the
    square root of the largest number, which leaves as much room for larger ones.
    """
    xp, diagonal = xp_of(bands[1]), bands[1]
    b = diagonal.shape[1] if diagonal.ndim == 3 else 1
    sizes = xp.repeat(row_sizes(bands), b)
    # Pseudorandom numbers between 1/2 and 3/2, by multiplicative hashing.
    places = xp.arange(first + 1, first + sizes.size + 1).astype(np.uint32)
    numbers = (places * np.uint32(2654435769)).astype(np.float64)
    right = (sizes * (numbers / 2.0**32 + 0.5)).astype(diagonal.dtype).reshape(-1, 1)
    largest, bad = 2.0 ** (np.finfo(diagonal.dtype).maxexp // 2), xp.zeros(diagonal.shape[0], bool)
    for transpose in (False, True):
        x = xp.empty_like(right)
        with np.errstate(all="ignore"):
            method.solve(right, x, None, transpose)
            bad |= ~(abs(x) <= largest).reshape(-1, b).all(axis=1)
    return bad


def shift_diagonal(bands: Triple, rows: Array) -> Triple:
    """The bands with +-sqrt(eps) times the rows' norms added to the diagonals of some (block) rows."""
    lower, diagonal, upper = bands
    xp, b = xp_of(diagonal), diagonal.shape[1] if diagonal.ndim == 3 else 1
    blocks, sizes = diagonal.copy().reshape(-1, b, b), row_sizes(bands)
    shift = xp.where(rows, np.sqrt(np.finfo(diagonal.dtype).eps) * xp.where(sizes > 0, sizes, 1), 0)
    for r in range(b):
        own = blocks[:, r, r]
        blocks[:, r, r] = own + xp.where(own.real < 0, -shift, shift).astype(diagonal.dtype)
    return lower, blocks.reshape(diagonal.shape), upper


def drop_couplings(bands: Triple, rows: Array) -> Triple:
    """The bands without the couplings of some (block) rows, which are whole segments."""
    lower, diagonal, upper = bands
    kept = (~rows).astype(diagonal.dtype).reshape(-1, *[1] * (diagonal.ndim - 1))
    return lower * kept, diagonal, upper * kept


REPAIRS = shift_diagonal, drop_couplings


def row_sizes(bands: Triple) -> Array:
    """The largest magnitude of each (block) row."""
    xp = xp_of(bands[1])
    with np.errstate(all="ignore"):
        sizes = [abs(entries_of_rows(band)).max(axis=1) for band in bands]
    return xp.minimum(xp.maximum(xp.maximum(*sizes[:2]), sizes[2]), np.finfo(bands[1].dtype).max)
