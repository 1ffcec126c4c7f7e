"""Aggregates over ranks: pairs of matched unknowns, and unknowns that join them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.runtime.arrays import NO_VERTEX
from linforest_precond.distributed.communicator import Communicator
from linforest_precond.distributed.graph import RankGraph
from linforest_precond.distributed.matching import best_edges
from linforest_precond.distributed.owners import lookup, owners_of, send_to


@dataclass(frozen=True, eq=False)
class RankAggregates:
    """The aggregates of a rank's unknowns.

    Attributes
    ----------
    numbers : (own unknowns,) array of int64
        Each unknown's aggregate. Aggregates are numbered in the order of their lowest unknowns.
    offsets : (size + 1,) array of int64
        Rank r owns the aggregates ``offsets[r]:offsets[r + 1]``, whose lowest unknowns it owns.
    """

    numbers: Array
    offsets: Array

    @property
    def count(self) -> int:
        """Aggregates of all ranks."""
        return int(self.offsets[-1])


def compose(comm: Communicator, first: RankAggregates, second: RankAggregates) -> RankAggregates:
    """Aggregates of aggregates."""
    return RankAggregates(lookup(comm, first.offsets, second.numbers, first.numbers), second.offsets)


def number_pairs(graph: RankGraph, mate: Array) -> RankAggregates:
    """Pairs and single unknowns, each an aggregate."""
    own = graph.ids[: graph.n_local]
    return numbered(graph, np.where(mate < 0, own, np.minimum(own, mate)))


def aggregates_of_mates(graph: RankGraph, mate: Array, tie_key: np.uint32) -> RankAggregates:
    """Pairs; a single unknown joins that of its heaviest matched neighbour, or stays alone without one."""
    own, mates = graph.ids[: graph.n_local], graph.with_ghosts(mate)
    roots = np.where(mate < 0, own, np.minimum(own, mate))
    single = np.flatnonzero(mate == NO_VERTEX)
    joining, slots = best_edges(graph, single, mates != NO_VERTEX, tie_key)
    others = graph.columns[slots]
    roots[joining] = np.minimum(graph.ids[others], mates[others])
    return numbered(graph, lowest_members(graph, roots))


def lowest_members(graph: RankGraph, roots: Array) -> Array:
    """The lowest unknown of those that have the same root, which may be of another rank."""
    comm, offsets = graph.comm, graph.offsets
    at, members = send_to(comm, owners_of(offsets, roots), roots, graph.ids[: graph.n_local])
    lowest = np.full(graph.n_local, graph.n, np.int64)
    np.minimum.at(lowest, at - graph.first, members)
    return lookup(comm, offsets, lowest, roots)


def numbered(graph: RankGraph, lowest: Array) -> RankAggregates:
    """Aggregates from the lowest member of each unknown's: numbered in the order of these."""
    comm, is_lowest = graph.comm, lowest == graph.ids[: graph.n_local]
    counts = comm.allgather(int(np.count_nonzero(is_lowest)))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    numbers = offsets[comm.rank] + np.cumsum(is_lowest) - 1
    return RankAggregates(lookup(comm, graph.offsets, numbers, lowest), offsets)
