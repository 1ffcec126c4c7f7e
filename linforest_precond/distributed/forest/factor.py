"""The [0,n]-factor over ranks: Algorithm 2 of Klein & Strzodka (2022), bit-equal to that of one rank.

A rank proposes for its own vertices, by the kernels of one rank. Charges and ties are hashes of global ids,
so a rank computes those of its ghosts itself. An iteration has two exchanges with neighbouring ranks, the
proposals of the ghosts and then whether they are saturated, and one reduction of three numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.graph import RankGraph, graph_of
from linforest_precond.distributed.forest.records import RankFactor
from linforest_precond.distributed.partition import NO_VERTEX, host, readonly
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.graph.forest.factor import FactorKeywords, FactorOptions, check_options
from linforest_precond.records.forest import share_of

SATURATED, tie_rule_of = host.forest.factor.SATURATED, host.forest.factor.tie_rule_of
gathered = host.matrix.entries.gathered


@named_arguments
def factor(A: Matrix, n: int = 2, **options: Unpack[FactorKeywords]) -> RankFactor:
    """Find a [0,n]-factor of the graph of a matrix over ranks, the same as on one rank.

    Collective: all ranks call it with the same options.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks. Edge weights are magnitudes; where they are not symmetric, ``|A| + |A|^T`` is
        used.
    n, **options
        As in `linforest_precond.graph.factor`, whose result this is, bit for bit.

    Returns
    -------
    RankFactor
        The edges of this rank's vertices, on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(1, 30)
    >>> def edges(comm):
    ...     return distributed.factor(distributed.scatter(A, comm)).n_edges
    >>> distributed.simulate(3, edges), int((lf.graph.factor(A).neighbors >= 0).sum()) // 2
    ([895, 895, 895], 895)
    """
    agreed = agreed_options(A, lambda: check_options(n, **options))
    with A.comm.together():
        graph = graph_of(without_rounding(A), A.backend)
        found = propose_factor(graph, agreed)
        return RankFactor(
            *found, coverage=covered_share(graph, found.values), n_edges=edges_of(graph.comm, found.neighbors)
        )


class FactorArrays(NamedTuple):
    """The edges of own vertices, as in `RankFactor`."""

    neighbors: Array
    values: Array
    iterations: int
    maximal: bool


def propose_factor(graph: RankGraph, options: FactorOptions) -> FactorArrays:
    """Propose and confirm edges until the limit, the automatic rule or a maximal factor ends it."""
    proposals = Proposals(graph, options.n)
    limit, m, k_m, seed = options.limit, options.m, options.k_m, options.seed
    edges = k = 0
    maximal = False
    while not maximal and (limit is None or k < limit):
        charged = k % m != k_m
        if charged:
            proposals.draw_charges(options.charge, options.threshold, seed, k)
        hashed, tie_key = tie_rule_of(options.ties, charged, seed, k)
        made = proposals.propose(charged, hashed, tie_key, m == 1 and k > 0)
        k += 1
        proposals.exchange()
        confirmed = proposals.confirm()
        made, confirmed, active = graph.comm.totals(made, confirmed, proposals.active.size)
        maximal = not charged and made == 0
        new = confirmed // 2
        edges += new
        if options.automatic and k >= 5 and 100 * new <= edges:
            break
        if active == 0 and limit is None and not maximal:
            k += (k_m - k) % m  # charged iterations propose nothing without active vertices
    return FactorArrays(*proposals.table(), k, maximal)


def covered_share(graph: RankGraph, *kept: Array) -> float:
    """Share of the weight of the graph in the values of all ranks, as `records.covered_share` has it."""
    weight = math.fsum(tree_sum(graph.comm, values, graph.scale) for values in kept)
    return share_of(weight, graph.total_weight)


def edges_of(comm: Communicator, neighbors: Array) -> int:
    """Number of edges in the neighbors of all ranks."""
    return comm.total(int((neighbors >= 0).sum())) // 2  # stall: reported to the user


class Proposals:
    """The proposals of a rank's vertices, with the kernels of one rank. Vertices are columns of the graph."""

    def __init__(self, graph: RankGraph, n: int) -> None:
        xp, index, size = graph.backend.xp, graph.columns.dtype, graph.ids.size
        self.graph, self._steps, self._xp = graph, graph.backend.forest.factor, xp
        self.ids, *self._rows = (
            _as_input(each) for each in (xp.asarray(graph.ids), graph.indptr, graph.columns, graph.values)
        )
        tables = (xp.full((rows, n), NO_VERTEX, index) for rows in (*(graph.n_local,) * 3, size))
        self.neighbors, self.slots, self.proposed_slots, self.proposed = tables
        self.degrees = xp.zeros(graph.n_local, np.uint8)
        self.states = xp.zeros(size, np.uint8)  # charges of own vertices and ghosts, or `SATURATED`
        self.active = xp.arange(graph.n_local, dtype=index)  # own vertices that may have a free edge
        sent = np.concatenate([np.empty(0, np.int64), *graph.halo.sent.values()])
        self._boundary = xp.asarray(np.unique(sent))
        self._sent = xp.empty((graph.n_local, n), np.int64)  # of vertices at the boundary

    def draw_charges(self, charge: str, threshold: int, seed: int, k: int) -> None:
        """Charges of the active vertices and of the ghosts, from their global ids."""
        own = self.graph.n_local
        ghosts = own + self._xp.flatnonzero(self.states[own:] != SATURATED)
        vertices = self._xp.concatenate([self.active, ghosts.astype(self.active.dtype)])
        self._steps.draw_charges(vertices, self.ids, self.states, charge, threshold, seed, k)

    def propose(self, charged: bool, hashed: bool, tie_key: np.uint32, same_rules: bool) -> int:
        """Propose for all active vertices; returns the number of proposals.

        With `same_rules` as in the iteration before, proposals to free vertices are kept.
        """
        made: int = self._steps.propose(
            *self._rows, self.neighbors, self.degrees, self.states, self.active, self.ids, charged, hashed,
            tie_key, same_rules, self.proposed, self.proposed_slots,
        )  # fmt: skip
        return made

    def exchange(self) -> None:
        """Fetch the proposals of the ghosts; of those, only the ones to own vertices matter."""
        graph, rows, xp = self.graph, self._boundary, self._xp
        chosen = self.proposed[rows]
        self._sent[rows] = xp.where(chosen >= 0, self.ids[xp.maximum(chosen, 0)], NO_VERTEX)
        found = graph.halo.fetch(self._sent) - graph.first
        own = (found >= 0) & (found < graph.n_local)
        self.proposed[graph.n_local :] = xp.where(own, found, NO_VERTEX)

    def confirm(self) -> int:
        """Confirm the edges that both ends proposed; returns how many ends of them are own vertices."""
        confirmed: int
        confirmed, left = self._steps.confirm(
            self.proposed, self.proposed_slots, self.neighbors, self.slots, self.degrees, self.states,
            self.active,
        )  # fmt: skip
        self.active = self.active[:left]
        own = self.graph.n_local
        self.states[own:] = self.graph.halo.fetch(self.states[:own])
        return confirmed

    def table(self) -> tuple[Array, Array]:
        """The confirmed neighbors, global ids in ascending order, and their values."""
        # Slots ascend with the ids; as an unsigned number, an empty slot is the largest.
        xp, unsigned = self._xp, self.slots.view(f"u{self.slots.itemsize}")
        if unsigned.shape[1] == 2:  # NumPy sorts short rows slowly
            first, second = unsigned.T
            unsigned = xp.stack([xp.minimum(first, second), xp.maximum(first, second)], axis=1)
        else:
            unsigned = xp.sort(unsigned, axis=1)
        slots = unsigned.view(self.slots.dtype)
        neighbors = self.ids[_at_slots(self.graph.columns, slots)]
        return xp.where(slots < 0, NO_VERTEX, neighbors), _at_slots(self.graph.values, slots)


def _as_input(array: Array) -> Array:
    """An array as kernels take it."""
    return readonly(array) if xp_of(array) is np else array


def _at_slots(array: Array, slots: Array) -> Array:
    """The entries at some slots, 0 where there is none."""
    xp = xp_of(array)
    if xp is np:
        return gathered(array, slots)
    stored: Array = xp.append(array, array.dtype.type(0))  # the last one is that of the slot -1
    return stored[slots]
