"""Locally dominant matching over ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.host_numbers import batch_ends
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.factor import covered_share, edges_of
from linforest_precond.distributed.forest.graph import RankGraph, graph_of, weighed
from linforest_precond.distributed.partition import NO_VERTEX, host
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrix.value_range import is_nonzero
from linforest_precond.records.forest import progress_rows
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays

NEGATIVE, SATURATED = host.forest.factor.NEGATIVE, host.forest.factor.SATURATED
expanded_rows, hash_edges = host.matrix.entries.expanded_rows, host.runtime.hashing.hash_edges

WEIGHTS = "magnitude", "pattern"


@dataclass(frozen=True, eq=False, repr=False)
class RankMatching(ReadOnlyArrays, Printed):
    """A rank's part of a matching: the edges of its own vertices.

    Attributes
    ----------
    mate : (own rows,) array of int64
        The other end of each own vertex's edge, a global id; -1 for a single vertex.
    values : (own rows,) array
        The graph's values on these edges, 0 for a single vertex.
    size, weight, coverage
        Of the whole matching, as in `linforest_precond.graph.matching`.
    n_vertices : int
        Vertices of the whole graph.
    iterations : int
        Exchanges of pointers between the ranks. They depend on the partition, the matching does not.
    maximal : bool
        Always.
    """

    mate: Array
    values: Array
    size: int
    weight: float
    coverage: float
    n_vertices: int
    iterations: int
    maximal: bool = True

    def _printout(self) -> Printout:
        return Printout.of(
            "matching over ranks",
            ("vertices", f"{self.n_vertices:,}"),
            ("edges", f"{self.size:,}, {self.n_vertices - 2 * self.size:,} vertices are single"),
            ("weight", f"{self.weight:.6g}"),
            *progress_rows(self),
        )


@named_arguments
def matching(
    A: Matrix, *, batches: int | None = None, seed: int = 0, weights: str = "magnitude"
) -> RankMatching:
    """Match locally dominant edges of a graph whose rows are partitioned among ranks.

    The matching is that of `linforest_precond.graph.matching`, bit for bit, for any number of ranks: edges
    are in a total order, (-weight, hash of the ends and the seed, lower end, higher end), and the locally
    dominant matching of a total order is unique.

    In the pointing phase each free vertex points along its best edge to a free vertex; in the matching phase
    mutual pointers are matched. A rank repeats both on what it knows, until none of its edges are locally
    dominant, and only then exchanges the pointers of the vertices that other ranks refer to. So the number of
    exchanges is how often a chain of dependent edges crosses to another rank, not its length. Memory is
    proportional to own rows and ghosts: no rank holds pointers of all vertices. After LD-GPU in chapter 4 of
    M. Mandulak, "Large-Scale Graph Analysis and Matching on Parallel Architectures", Rensselaer Polytechnic
    Institute (2025); Manne & Bisseling, "A Parallel Approximation Algorithm for the Weighted Maximum Matching
    Problem" (2008), doi:10.1007/978-3-540-68111-3_74.

    Parameters
    ----------
    A : Matrix
        The partitioned matrix. All ranks call the function together.
    batches : int or None
        The number of batches of own rows, with about equal numbers of entries, in which vertices are pointed:
        more of them need less work space. The matching does not depend on it. None is one batch. On a GPU
        there is one, without work space for entries.
    seed : int
        Seed of the order among equal weights.
    weights : {"magnitude", "pattern"}
        The magnitudes of A's entries (``|A| + |A|^T`` where they are not symmetric), or 1 for every edge. An
        edge of weight 0 is no edge.

    Returns
    -------
    RankMatching
        The mates of the own rows, on A's device.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond.distributed import matching, scatter, simulate
    >>> A = lf.matrices.aniso(1, 30)
    >>> parts = simulate(3, lambda comm: matching(scatter(A, comm), batches=2).mate)
    >>> bool((np.concatenate(parts) == lf.graph.matching(A).mate).all())
    True
    """
    agreed = agreed_options(A, lambda: checked_options(batches, seed, weights))
    with A.comm.together():
        exact = without_rounding(A)
        if agreed["weights"] == "magnitude":
            graph = graph_of(exact, A.backend)
        else:
            graph = unit_graph(graph_of(exact)).on(A.backend)
        return described(graph, match_rank_graph(graph, agreed["seed"], agreed["batches"]))


def checked_options(batches: Any, seed: Any, weights: Any) -> dict[str, Any]:
    """The seed, the number of batches and the kind of weights."""
    count = 1 if batches is None else as_integer("batches", batches, 1)
    kind = as_choice("weights", weights, WEIGHTS)
    return {"seed": as_integer("seed", seed) % 2**64, "batches": count, "weights": kind}


def unit_graph(graph: RankGraph) -> RankGraph:
    """The same edges, each of weight 1."""
    return weighed(replace(graph, values=is_nonzero(graph.values).astype(graph.values.dtype)))


def match_rank_graph(graph: RankGraph, seed: int, batches: int = 1) -> MatchingRounds:
    """The rounds of a maximal matching, after the last one."""
    rounds = MatchingRounds(graph, tie_key_of(seed), batches)
    rounds.match_own()
    while graph.comm.total(rounds.active.size):
        rounds.match_across_ranks()
        rounds.match_own()
    return rounds


def described(graph: RankGraph, rounds: MatchingRounds) -> RankMatching:
    """The record of a matching, with the sums over all ranks."""
    values = rounds.values()
    return RankMatching(
        rounds.mate,
        values,
        size=edges_of(graph.comm, rounds.mate),
        weight=tree_sum(graph.comm, values, graph.scale) / (2.0 * graph.scale),
        coverage=covered_share(graph, values),
        n_vertices=graph.n,
        iterations=rounds.exchanges,
    )


class MatchingRounds:
    """The rounds of a matching on one rank.

    Vertices are numbered as the columns of the local rows: the own ones, then the ghosts.
    """

    def __init__(self, graph: RankGraph, tie_key: np.uint32, batches: int) -> None:
        self.graph, self.tie_key, self.comm = graph, tie_key, graph.comm
        self.xp = xp = graph.backend.xp
        self.n, self.ids = graph.n_local, xp.asarray(graph.ids)
        self.ends = batch_ends(graph.indptr, batches) if xp is np else None
        self.mate = xp.full(self.n, NO_VERTEX, np.int64)  # global ids of own vertices' mates
        self.pointers = xp.full(self.n, NO_VERTEX, np.int64)  # local numbers of own vertices' targets
        self.slots = xp.full(self.n, NO_VERTEX, np.int64)  # of the pointers
        self.free = xp.ones(self.ids.size, bool)  # own vertices and ghosts that can be matched
        self.active = xp.arange(self.n)  # own free vertices with a target, ascending
        self.lost = self.active  # active vertices whose target is not free
        self.exchanges = 0  # between ranks

    def match_own(self) -> None:
        """Point and match until no edge between own vertices is locally dominant."""
        while self.lost.size:
            self._point_all()
            pointing = self.lost[self.pointers[self.lost] >= 0]
            targets = self.pointers[pointing]
            own = targets < self.n
            pointing, targets = pointing[own], targets[own]
            mutual = self.pointers[targets] == pointing
            self._match(pointing[mutual], targets[mutual])
            self._match(targets[mutual], pointing[mutual])
            self._compact()

    def match_across_ranks(self) -> None:
        """Exchange the pointers of the vertices on the boundary, and match the mutual ones."""
        own_pointers = self.xp.full(self.n, NO_VERTEX, np.int64)
        own_pointers[self.active] = self.ids[self.pointers[self.active]]
        ghost_pointers = self.graph.halo.fetch(own_pointers)
        self.exchanges += 1
        self.free[self.n :] = ghost_pointers != NO_VERTEX
        outward = self.active[self.pointers[self.active] >= self.n]
        targets = self.pointers[outward]
        mutual = ghost_pointers[targets - self.n] == self.ids[outward]
        self._match(outward[mutual], targets[mutual])
        self.free[targets[mutual]] = False
        self._compact()

    def values(self) -> Array:
        """The graph's values on the matched edges of the own vertices."""
        stored: Array = self.xp.append(self.graph.values, self.graph.values.dtype.type(0))
        return stored[self.xp.where(self.mate >= 0, self.slots, -1)]

    def _match(self, vertices: Array, targets: Array) -> None:
        self.mate[vertices] = self.ids[targets]
        self.free[vertices] = False

    def _compact(self) -> None:
        """Stream compaction of the active vertices, and those whose target is not free any more."""
        self.active = self.active[self.free[self.active] & (self.pointers[self.active] >= 0)]
        self.lost = self.active[~self.free[self.pointers[self.active]]]

    def _point_all(self) -> None:
        """Point the vertices that have lost their targets."""
        if self.ends is None:
            self._point_on_device(self.lost)
            return
        for batch in np.split(self.lost, np.searchsorted(self.lost, self.ends[:-1])):
            self._point(batch)

    def _point_on_device(self, vertices: Array) -> None:
        """As `_point`, by proposals of one edge for each vertex: equal weights are in the same order."""
        graph, xp, index = self.graph, self.xp, self.graph.columns.dtype
        held, targets, slots = (xp.full((self.n, 1), NO_VERTEX, index) for _ in range(3))
        states = xp.where(self.free, NEGATIVE, SATURATED).astype(np.uint8, copy=False)
        graph.backend.forest.factor.propose(
            graph.indptr, graph.columns, graph.values, held, xp.zeros(self.n, np.uint8), states,
            vertices.astype(index), self.ids, False, True, self.tie_key, False, targets, slots,
        )  # fmt: skip
        self.pointers[vertices] = xp.maximum(targets[vertices, 0], NO_VERTEX)
        self.slots[vertices] = slots[vertices, 0]

    def _point(self, vertices: Array) -> None:
        """Point vertices along their best edges to free vertices."""
        self.pointers[vertices] = NO_VERTEX
        chosen, slots = best_edges(self.graph, vertices, self.free, self.tie_key)
        self.pointers[chosen], self.slots[chosen] = self.graph.columns[slots], slots


def best_edges(graph: RankGraph, vertices: Array, eligible: Array, tie_key: np.uint32) -> tuple[Array, Array]:
    """The best edges of own vertices to eligible ones: those vertices that have any, and the edges' slots.

    By weight, then hash; columns ascend, so that the first of equal ones is the lowest. Segmented reductions
    over the rows of the vertices.
    """
    rows, slots = expanded_rows(graph.indptr, vertices)
    columns, weights = graph.columns[slots], np.abs(graph.values[slots])
    usable = eligible[columns] & (weights > 0) & (columns != vertices[rows])
    rows, slots = least_of_rows(rows[usable], -weights[usable], slots[usable])
    ties = np.empty(rows.size, np.uint32)
    hash_edges(graph.ids[vertices[rows]], graph.ids[graph.columns[slots]], tie_key, ties)
    rows, slots = least_of_rows(rows, ties, slots)
    first = starts_of(rows)
    return vertices[rows[first]], slots[first]


def starts_of(rows: Array) -> Array:
    """Where each of the ascending rows begins."""
    return np.flatnonzero(np.diff(rows, prepend=-1))


def least_of_rows(rows: Array, keys: Array, slots: Array) -> tuple[Array, Array]:
    """The entries that have the least key of their row; rows ascend."""
    if not rows.size:
        return rows, slots
    starts = starts_of(rows)
    least = np.repeat(np.minimum.reduceat(keys, starts), np.diff(starts, append=rows.size))
    kept = keys == least
    return rows[kept], slots[kept]
