"""Pairs of vertices over ranks, and the coarse graph of the pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.graph import RankGraph
from linforest_precond.distributed.partition import NO_VERTEX, host
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.owners import lookup, owners_of, send_to

coarse_graph, expanded_rows = host.forest.pairs.coarse_graph, host.matrix.entries.expanded_rows


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
    offsets, numbers = comm.numbered(leads)
    places = 2 * numbers
    places[~leads] = 2 * lookup(comm, graph.offsets, numbers, partners[~leads]) + 1
    return RankPairs(offsets, places)


def graph_of_pairs(graph: RankGraph, pairs: RankPairs) -> RankGraph:
    """The coarse graph whose vertices are the pairs; the weight of an edge is the sum over the four members.

    The rank of a pair gets the row of its higher member; rows are merged by the kernel of one rank.
    """
    comm, own = graph.comm, np.arange(graph.n_local)
    rows, far = _with_higher_members(graph, pairs)
    halo, numbers = Halo.ascending_numbering(comm, pairs.offsets, rows.places >> 1)
    # Ghost pairs of lower ranks come first; their rows are empty.
    lower, index = halo.lower, graph.columns.dtype
    members = np.full((lower + halo.n_local, 2), NO_VERTEX, index)
    pair, side = np.divmod(pairs.places, 2)
    here = halo.is_own(pair)
    members[pair[here] - halo.first + lower, side[here]] = own[here]
    members[far - halo.first + lower, 1] = graph.n_local + np.arange(far.size)
    places = (2 * numbers + (rows.places & 1)).astype(f"u{index.itemsize}")
    indptr, columns, values, *_ = coarse_graph(rows, members, places)
    if halo.ghosts.size:  # renumber columns from ascending order to own pairs, then ghosts
        ghosts = np.where(columns < lower, columns + halo.n_local, columns)
        columns = np.where((columns >= lower) & (columns < lower + halo.n_local), columns - lower, ghosts)
    arrays = indptr[lower:], columns.astype(index, copy=False), values
    return RankGraph(comm, pairs.offsets, *arrays, halo, total_weight=graph.total_weight, scale=graph.scale)


class MemberRows(NamedTuple):
    """Rows of vertices in CSR, and the place of each column's vertex in its pair."""

    indptr: Array
    indices: Array
    values: Array
    places: Array


def _with_higher_members(graph: RankGraph, pairs: RankPairs) -> tuple[MemberRows, Array]:
    """Own rows, then those of higher members of own pairs on other ranks, and these pairs: collective."""
    comm, places = graph.comm, graph.with_ghosts(pairs.places)
    owners = owners_of(pairs.offsets, pairs.places >> 1)
    sent = np.flatnonzero(owners != comm.rank)
    lengths = np.diff(graph.indptr)[sent].astype(np.int64)
    slots = expanded_rows(graph.indptr, sent)[1]
    far, counts = send_to(comm, owners[sent], pairs.places[sent] >> 1, lengths)
    entries = places[graph.columns[slots]], graph.values[slots]
    far_places, values = send_to(comm, np.repeat(owners[sent], lengths), *entries)
    if not far.size:
        return MemberRows(graph.indptr, graph.columns, graph.values, places), far
    # Each received entry gets a column of its own.
    indptr = np.append(graph.indptr, graph.indptr[-1] + np.cumsum(counts)).astype(graph.indptr.dtype)
    columns = np.append(graph.columns, places.size + np.arange(values.size)).astype(graph.columns.dtype)
    values = np.append(graph.values, values)
    return MemberRows(indptr, columns, values, np.append(places, far_places)), far
