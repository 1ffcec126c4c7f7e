"""Blocks of an adjacency matrix on a grid of ranks: push and pull along the edges of listed rows.

Arrays are int64, but for weights and shares, which are float64. All is NumPy on whole arrays.
"""

import numpy as np

from ..matrix.entries import expanded_rows as expanded_rows
from ..runtime.hashing import hash_edges


def lower_along(indptr, indices, rows, first_row, pull, values, state):
    """Lower states along the edges of some rows; returns the ids of these states, which may be repeated.

    A push lowers the states of the neighbours to the values of the rows, a pull those of the rows to the
    values of the neighbours. Row r has the id ``r + first_row``; `values` may be `state`, as it was before.
    """
    places, slots = expanded_rows(indptr, rows)
    own, others = rows[places] + first_row, indices[slots]
    sources, targets = (others, own) if pull else (own, others)
    candidates = values[sources]
    better = candidates < state[targets]
    targets = targets[better]
    np.minimum.at(state, targets, candidates[better])
    return targets


def add_along(indptr, indices, first_column, shares, weights, columns, bits, lower_bits):
    """For each column the sums of the rows' shares times weights, in units and in lower units: (2, columns).

    Units are 2**-bits, lower units 2**-(bits + lower_bits); the rest of a product is dropped.
    """
    products = np.repeat(shares, np.diff(indptr))
    products = products if weights is None else weights * products
    scaled, ids = products * 2.0**bits, indices - first_column
    units = np.floor(scaled)
    lower = np.floor((scaled - units) * 2.0**lower_bits)
    sums = np.zeros((2, columns), np.int64)
    np.add.at(sums[0], ids, units.astype(np.int64))
    np.add.at(sums[1], ids, lower.astype(np.int64))
    return sums


def row_maxima(indptr, weights):
    """The largest weight of each row, 0 in empty ones; no weight is negative."""
    maxima = np.zeros(indptr.size - 1)
    np.maximum.at(maxima, np.repeat(np.arange(maxima.size), np.diff(indptr)), weights)
    return maxima


def minimum_at(state, ids, values):
    """Lower the states of some ids, which may be repeated."""
    np.minimum.at(state, ids, values)


def add_at(sums, ids, values):
    """Add integers to the sums of some ids, which may be repeated."""
    np.add.at(sums, ids, values)


def run_sums(values, begins):
    """The sum of each run of values from left to right."""
    sums, others = values[begins], np.ones(values.size, bool)
    others[begins] = False
    np.add.at(sums, np.cumsum(~others)[others] - 1, values[others])  # unbuffered: one at a time, in order
    return sums


def hashed_edges(sources, targets, key):
    """The hashes that break ties between equal weights."""
    hashes = np.empty(sources.size, np.uint32)
    hash_edges(sources, targets, key, hashes)
    return hashes.astype(np.int64)


def lexicographic_order(keys):
    """The stable order of keys of which the last one decides first."""
    return np.lexsort(keys)
