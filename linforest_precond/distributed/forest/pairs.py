"""Pairs of vertices over ranks, and the coarse graph of the pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.graph import RankGraph, graph_of_rows
from linforest_precond.distributed.partition.owners import lookup, owners_of, send_to


class RankPairs(NamedTuple):
    """Pairs, numbered over all ranks by their lower members; the rank of the lower member owns a pair.

    `places` holds for each own vertex twice its pair, plus one for the higher member. Rank r owns the pairs
    ``offsets[r]:offsets[r + 1]``.
    """

    offsets: Array
    places: Array


def pair_up(graph: RankGraph, partners: Array) -> RankPairs:
    """Number the pairs of own vertices and their partners, -1 for an unmatched vertex."""
    comm, ids = graph.comm, graph.first + np.arange(graph.n_local)
    leads = (partners < 0) | (partners > ids)
    offsets = comm.offsets(leads.sum())
    numbers = offsets[comm.rank] + np.cumsum(leads) - 1
    places = 2 * numbers
    places[~leads] = 2 * lookup(comm, graph.offsets, numbers, partners[~leads]) + 1
    return RankPairs(offsets, places)


def graph_of_pairs(graph: RankGraph, pairs: RankPairs) -> RankGraph:
    """The coarse graph whose vertices are the pairs; the weight of an edge is the sum over the four members.

    The rank of a pair gets the row of its higher member. With w_rc between the r-th member of one pair and
    the c-th of the other, the sum is (w_00 + w_11) + (w_01 + w_10), as on one rank.
    """
    places, weights = graph.with_ghosts(pairs.places), np.abs(graph.values)
    rows, columns = places[graph.rows], places[graph.columns]
    kept = (rows >> 1 != columns >> 1) & (weights > 0)
    rows, columns, weights = rows[kept], columns[kept], weights[kept]
    # From the high bits: the column's pair, the member of the column's pair, the member of the row's.
    keys = 2 * columns + (rows & 1)
    owners = owners_of(pairs.offsets, rows >> 1)
    rows, keys, weights = send_to(graph.comm, owners, rows >> 1, keys, weights)
    # Row and key as one word, if it fits: a plain sort is several times as fast as a lexicographic one.
    own = rows - pairs.offsets[graph.comm.rank]
    width = 4 * int(pairs.offsets[-1])
    order = np.argsort(own * width + keys) if width**2 < 2**64 else np.lexsort((keys, rows))
    merged = _merged(rows[order], keys[order], weights[order])
    coarse = graph_of_rows(graph.comm, pairs.offsets, *merged)
    return replace(coarse, total_weight=graph.total_weight, scale=graph.scale)


def _merged(rows: Array, keys: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Sums of up to four entries with the same pair of columns."""
    columns = keys >> 2
    first = np.ones(rows.size, bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    four = np.zeros((np.count_nonzero(first), 4), weights.dtype)
    four[np.cumsum(first) - 1, keys & 3] = weights
    with np.errstate(over="ignore"):
        sums = (four[:, 0] + four[:, 3]) + (four[:, 2] + four[:, 1])
    return rows[first], columns[first], np.minimum(sums, np.finfo(weights.dtype).max)
