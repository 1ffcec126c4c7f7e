"""Aggregates over ranks, from a matching, and their Galerkin product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.graph import RankGraph
from linforest_precond.distributed.matching.matching import best_edges
from linforest_precond.distributed.partition import NO_VERTEX
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.entries import entry_rows, matrix_of_entries
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import lookup, send_to_owners


@dataclass(frozen=True, eq=False)
class RankAggregates:
    """The aggregates of a rank's unknowns, numbered in the order of their lowest unknowns."""

    numbers: Array  # of each own unknown's aggregate, int64
    offsets: Array  # rank r owns the aggregates offsets[r]:offsets[r + 1], and their lowest unknowns

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
    """Pairs; an unmatched unknown joins the pair of its heaviest matched neighbour, if it has one."""
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
    at, members = send_to_owners(comm, offsets, roots, graph.ids[: graph.n_local])
    lowest = np.full(graph.n_local, graph.n, np.int64)
    np.minimum.at(lowest, at - graph.first, members)
    return lookup(comm, offsets, lowest, roots)


def numbered(graph: RankGraph, lowest: Array) -> RankAggregates:
    """Aggregates from the lowest member of each unknown's: numbered in the order of these."""
    comm, is_lowest = graph.comm, lowest == graph.ids[: graph.n_local]
    offsets, numbers = comm.numbered(is_lowest)
    return RankAggregates(lookup(comm, graph.offsets, numbers, lowest), offsets)


def galerkin_product(A: Matrix, aggregates: RankAggregates) -> Matrix:
    """P^T A P for the tentative prolongator P of aggregates, with the bits of one rank.

    Entries that sum to zero stay stored. An aggregate is owned by the rank of its lowest unknown, so its
    other members are of higher ranks. All entries are sent to the owners of their aggregates, where they
    arrive in the (row, column) order of A, and are summed in this order.
    """
    numbers = aggregates.numbers
    rows, columns = numbers[entry_rows(A)], A.halo.with_ghosts(numbers)[A.rows.indices]
    return matrix_of_entries(A.comm, aggregates.offsets, rows, columns, A.rows.data)
