"""Paths of a general matrix with weak pivots, artefacts of what the bands neglect: couplings are clipped.

A tridiagonal part may be worse than the diagonal: where the entries outside of it would have kept its pivots
away from zero, elimination along a path ends in tiny pivots, or in pivots of the wrong sign, and the
preconditioned matrix has eigenvalues of both signs. Three things must come together in a path:

- a pivot is *weak*: less than a quarter of its diagonal entry, or of the other sign (of a block: 1 over a
  diagonal entry of P^-1 D, for the pivot block P of a diagonal block D), and less than the weight that its
  row neglects (of a block: 1 over a diagonal entry of P^-1). So diagonally dominant rows are never weak;
- its rows have, on average, less than two thirds of their off-diagonal weight in the bands. Bands that hold
  more have the pivots of A itself, and clipping makes them worse;
- no diagonal entry is negligible in its row of A: clipping approaches the diagonal, which is then no better.

Such a path is clipped to ``|l u| <= 0.4995^2 |d d'|``: its pivots are then at least half of its diagonal
entries. For Hermitian matrices with a positive diagonal, `make_definite` has a stricter criterion.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.flags import any_set, count_set
from linforest_precond.precond.tridiagonal.segments import (
    Triple,
    any_of_last,
    backend_of_bands,
    first_rows,
    segments_of,
    sum_of_last,
    sums_of_segments,
)
from linforest_precond.records.forest import magnitudes_of

# The largest product of the relative couplings between two (block) rows.
LARGEST_PRODUCT = 0.4995**2
# A row's coverage is counted in these units, so that the sums over a path are exact.
UNITS = 2**20
# A diagonal entry below this share of its row's off-diagonal weight is negligible.
NEGLIGIBLE = 1 / 16

# The rows to be repaired, for the bands and the inverses of their pivots; None where there are none.
Decision: TypeAlias = Callable[[Triple, Array], "Array | None"]


def rows_to_repair(bands: Triple, inverse: Array, magnitudes: Array) -> Array | None:
    """A mask of the (block) rows of all paths that are to be repaired; None where there are none.

    `magnitudes` are the sums of the magnitudes of A's rows, in the order of the system; 0 for ghost rows.
    """
    segments, starts = segments_of(bands)
    counts = counts_of_rows(bands, inverse, magnitudes)
    repaired: Array = needs_repair(*(sums_of_segments(each, starts) for each in counts))[segments]
    return repaired if any_set(repaired) else None  # stall: decides whether bands are factored again


def counts_of_rows(bands: Triple, inverse: Array, magnitudes: Array) -> tuple[Array, Array, Array, Array]:
    """What is summed over paths: weak pivots, negligible diagonals, coverages in `UNITS` and rows."""
    blocks = as_blocks(bands[1])
    units, rows, negligible, neglected = _coverages(bands, magnitudes.reshape(blocks.shape[:2]))
    return _weak_rows(blocks, as_blocks(inverse), neglected), negligible, units, rows


def needs_repair(weak: Array, negligible: Array, units: Array, rows: Array) -> Array:
    """Whether paths are repaired, by the sums of `counts_of_rows`."""
    return (weak > 0) & (negligible == 0) & (3 * units < 2 * UNITS * rows)


def clipped_couplings(bands: Triple, rows: Array) -> tuple[Triple, int, int]:
    """The bands with the couplings of some paths clipped; the number of these paths and of clipped couplings.

    Of two blocks D and D' that are coupled by U and L, the product of the Frobenius norms of D^-1 U and
    D'^-1 L is bounded; both couplings are scaled by the same factor.
    """
    clipped, clip = scaled_couplings(bands, rows)
    paths = rows & first_rows(bands)
    return clipped, count_set(paths), count_set(clip)  # stall: reported to the user


def scaled_couplings(bands: Triple, rows: Array) -> tuple[Triple, Array]:
    """The bands with the couplings of some paths clipped, and whether each row's to the next one is."""
    lower, diagonal, upper = bands
    backend = backend_of_bands(bands)
    xp, inverse = backend.xp, backend.matrix.diagonal_blocks.invert(as_blocks(diagonal))[0]
    after, before = (_norms(_products(inverse, as_blocks(band))) for band in (upper, lower))
    products = after[:-1] * before[1:]
    clip = rows[1:] & rows[:-1] & (products > LARGEST_PRODUCT)
    factors = xp.sqrt(LARGEST_PRODUCT / xp.where(clip, products, LARGEST_PRODUCT))
    factors = factors.astype(diagonal.dtype).reshape(-1, *[1] * (diagonal.ndim - 1))
    lower, upper = lower.copy(), upper.copy()
    lower[1:] *= factors
    upper[:-1] *= factors
    return (lower, diagonal, upper), clip


def as_blocks(band: Array) -> Array:
    """The entries of a band as blocks; numbers are blocks of one row."""
    return band if band.ndim == 3 else band.reshape(-1, 1, 1)


def _weak_rows(blocks: Array, inverse: Array, neglected: Array) -> Array:
    """Whether each (block) row has a weak pivot: `PivotFinding.WEAK`, and below the neglected weight."""
    b = blocks.shape[1]
    ratios: list[Any] = [sum(inverse[:, r, k] * blocks[:, k, r] for k in range(b)) for r in range(b)]
    weak = [~((abs(ratio.real) + abs(ratio.imag) <= 4) & (ratio.real >= 0)) for ratio in ratios]
    below = [abs(inverse[:, r, r]) * neglected[:, r] > 1 for r in range(b)]
    return functools.reduce(operator.or_, (one & other for one, other in zip(weak, below)))


def _coverages(bands: Triple, magnitudes: Array) -> tuple[Array, Array, Array, Array]:
    """Of each (block) row: its coverages in `UNITS`, its rows, and whether a diagonal entry is negligible.

    The last result is the weight that each row neglects, 0 where it is rounding error. A row without
    off-diagonal entries counts as covered, and a ghost row does not count.
    """
    lower, blocks, upper = map(as_blocks, bands)
    xp = xp_of(blocks)
    sizes = [magnitudes_of(band.reshape(-1)).reshape(band.shape) for band in (lower, blocks, upper)]
    kept = sum(sum_of_last(size.astype(np.float64)) for size in sizes)
    own = xp.diagonal(sizes[1], axis1=1, axis2=2).astype(np.float64)
    total = xp.maximum(magnitudes, kept) - own
    shares = xp.where(total > 0, (kept - own) / xp.where(total > 0, total, 1), 1)
    exists = magnitudes > 0
    units = xp.where(exists, xp.rint(UNITS * shares), 0).astype(np.int64)
    negligible = exists & (own < NEGLIGIBLE * total)
    neglected = xp.where(shares < 1 - 1 / UNITS, total - (kept - own), 0)
    return sum_of_last(units), sum_of_last(exists), any_of_last(negligible), neglected


def _products(left: Array, right: Array) -> Array:
    """Products of blocks, added up in order; `matmul` of CuPy takes long for many small matrices."""
    terms = [left[:, :, k, None] * right[:, k, None, :] for k in range(left.shape[1])]
    return functools.reduce(operator.add, terms)


def _norms(blocks: Array) -> Array:
    """Frobenius norms, in double precision."""
    sizes = abs(blocks).astype(np.float64)
    squares = sizes * sizes
    sums = squares[:, 0, 0] if squares.shape[1] == 1 else squares.sum(axis=(1, 2))
    return xp_of(blocks).sqrt(sums)
