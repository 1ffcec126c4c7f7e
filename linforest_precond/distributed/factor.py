"""The [0,n]-factor over ranks: Algorithm 2 of Klein & Strzodka (2022), bit-equal to that of one rank.

A rank proposes for its own vertices. Charges and ties are hashes of global ids, so a rank computes those of its
ghosts itself. An iteration has two exchanges with neighbouring ranks, the proposals of the ghosts and then
whether they are saturated, and one reduction of three numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.forest.greedy import hash_edges
from linforest_precond.backends.cpu.runtime.hashing import edge_order_key, iteration_keys
from linforest_precond.backends.cpu.runtime.id_hashes import charges, charges_md5
from linforest_precond.distributed.communicator import Communicator
from linforest_precond.distributed.graph import RankGraph, graph_of
from linforest_precond.distributed.matrix import Matrix
from linforest_precond.distributed.records import RankFactor
from linforest_precond.distributed.tree_sums import tree_sum
from linforest_precond.graph.forest.factor import check_options

NO_VERTEX = -1


def factor(
    A: Matrix,
    n: int = 2,
    *,
    iterations: int | Literal["auto"] | None = 5,
    m: int = 5,
    k_m: int = 0,
    p: float = 0.5,
    seed: int = 0,
    charge: str = "splitmix64",
    ties: str = "auto",
) -> RankFactor:
    """Find a [0,n]-factor of the graph of a matrix over ranks, the same as on one rank.

    Collective: all ranks call it with the same options.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks. Edge weights are magnitudes; where they are not symmetric, ``|A| + |A|^T`` is
        used.
    n, iterations, m, k_m, p, seed, charge, ties
        As in `linforest_precond.graph.factor`, whose result this is, bit for bit.

    Returns
    -------
    RankFactor
        The edges of this rank's vertices.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(1, 30)
    >>> def edges(comm):
    ...     return distributed.factor(distributed.scatter(A, comm)).n_edges
    >>> distributed.simulate(3, edges), int((lf.graph.factor(A).neighbors >= 0).sum()) // 2
    ([881, 881, 881], 881)
    """
    given = n, iterations, m, k_m, p, seed, charge, ties
    options = agreed_options(A, lambda: check_options(*given))
    with A.comm.together():
        graph = graph_of(A)
        found = propose_factor(graph, **options)
        return RankFactor(
            *found, coverage=covered_share(graph, found.values), n_edges=edges_of(graph.comm, found.neighbors)
        )


def agreed_options(A: Any, check: Any) -> Any:
    """Options that `check` returns, on all ranks the same; a wrong A or option is refused by all ranks."""
    if not isinstance(A, Matrix):
        raise TypeError(f"A must be a distributed.Matrix, got {type(A).__name__}; distributed.scatter makes one")
    with A.comm.checking():
        options = check()
    A.comm.same("the options", options)
    return options


class FactorArrays(NamedTuple):
    """The edges of own vertices, as in `RankFactor`."""

    neighbors: Array
    values: Array
    iterations: int
    maximal: bool


def propose_factor(
    graph: RankGraph,
    n: int,
    limit: int | None,
    automatic: bool,
    m: int,
    k_m: int,
    threshold: int,
    seed: int,
    charge: str = "splitmix64",
    ties: str = "auto",
) -> FactorArrays:
    """Propose and confirm edges until the limit, the automatic rule or a maximal factor ends the iteration."""
    edges = FreeEdges.of(graph, n)
    total = k = 0
    maximal = False
    while not maximal and (limit is None or k < limit):
        charged = k % m != k_m
        positive = _charges(graph.ids, charge, threshold, seed, k) if charged else None
        chosen = edges.choices(positive, _tie_key(ties, charged, seed, k))
        k += 1
        counts = np.array([chosen.size, *edges.confirm(chosen)])
        made, confirmed, active = map(int, graph.comm.allreduce(counts))
        maximal = not charged and made == 0
        new = confirmed // 2
        total += new
        if automatic and k >= 5 and 100 * new <= total:
            break
        if active == 0 and limit is None and not maximal:
            k += (k_m - k) % m  # nothing can happen before the next uncharged iteration
    return FactorArrays(*edges.table(), k, maximal)


def covered_share(graph: RankGraph, *kept: Array) -> float:
    """Share of the weight of the graph in the values of all ranks, as `records.covered_share` has it."""
    weight = sum(tree_sum(graph.comm, values, graph.scale) for values in kept)
    return 1.0 if graph.total_weight == 0.0 else min(1.0, weight / graph.total_weight)


def edges_of(comm: Communicator, neighbors: Array) -> int:
    """Number of edges in the neighbors of all ranks."""
    return int(comm.allreduce(np.count_nonzero(neighbors >= 0))) // 2


def _charges(ids: Array, charge: str, threshold: int, seed: int, k: int) -> Array:
    positive = np.empty(ids.size, np.bool_)
    if charge == "md5":
        charges_md5(ids, np.uint64(k), np.uint64(seed), np.uint64(threshold), positive)
    else:
        charges(ids, iteration_keys(seed, k)[0], np.uint64(threshold), positive)
    return positive


def _tie_key(ties: str, charged: bool, seed: int, k: int) -> np.uint32 | None:
    """The key of the hash that orders equal weights in iteration k; None where their columns do."""
    if ties == "random":
        return edge_order_key(seed)
    return iteration_keys(seed, k)[1] if charged and ties == "auto" else None


@dataclass(eq=False)
class FreeEdges:
    """The edges that own vertices may still propose, and what was confirmed so far.

    The edges of a vertex are sorted by decreasing weight, then by column.

    Attributes
    ----------
    graph
        The graph.
    slots, rows, columns
        Of all edges: the entry, its row and its column in the graph.
    groups
        Increases where a row or a weight begins: edges of one group are ordered by hashes, if at all.
    free
        The edges that are not confirmed and whose ends are not saturated.
    confirmed
        Whether each edge is confirmed.
    degrees, saturated
        Number of confirmed edges of own vertices; whether own vertices and ghosts have n of them.
    n
        The largest degree.
    """

    graph: RankGraph
    slots: Array
    rows: Array
    columns: Array
    groups: Array
    free: Array
    confirmed: Array
    degrees: Array
    saturated: Array
    n: int

    @classmethod
    def of(cls, graph: RankGraph, n: int) -> FreeEdges:
        """All edges of own vertices."""
        weights = np.abs(graph.values)
        slots = np.flatnonzero((graph.rows != graph.columns) & (weights != 0))
        slots = slots[np.lexsort((-weights[slots], graph.rows[slots]))]
        rows, weights = graph.rows[slots], weights[slots]
        begins = np.ones(slots.size, bool)
        begins[1:] = (rows[1:] != rows[:-1]) | (weights[1:] != weights[:-1])
        return cls(
            graph=graph,
            slots=slots,
            rows=rows,
            columns=graph.columns[slots],
            groups=np.cumsum(begins),
            free=np.arange(slots.size),
            confirmed=np.zeros(slots.size, bool),
            degrees=np.zeros(graph.n_local, np.int64),
            saturated=np.zeros(graph.ids.size, bool),
            n=n,
        )

    def choices(self, positive: Array | None, tie_key: np.uint32 | None) -> Array:
        """The edges that own vertices propose: the heaviest ones, as many as they lack to n.

        With charges, only edges between opposite ones.
        """
        allowed = self.free
        if positive is not None:
            allowed = allowed[positive[self.rows[allowed]] != positive[self.columns[allowed]]]
        if tie_key is not None:
            allowed = self._sorted_by_hash(allowed, tie_key)
        rows = self.rows[allowed]
        return allowed[place_in_run(rows) < self.n - self.degrees[rows]]

    def confirm(self, chosen: Array) -> tuple[int, int]:
        """Confirm the edges that both ends chose: how many own ends, and how many own vertices stay active.

        A vertex stays active if it had a free edge before and is not saturated now.
        """
        graph, rows = self.graph, self.rows[chosen]
        proposed = np.full((graph.n_local, self.n), NO_VERTEX)
        proposed[rows, place_in_run(rows)] = graph.ids[self.columns[chosen]]
        theirs = graph.with_ghosts(proposed)[self.columns[chosen]]
        both = chosen[(theirs == graph.ids[rows][:, None]).any(axis=1)]
        self.confirmed[both] = True
        self.degrees += np.bincount(self.rows[both], minlength=graph.n_local)
        active = np.zeros(graph.n_local, bool)
        active[self.rows[self.free]] = True
        active &= self.degrees < self.n
        self.saturated = graph.with_ghosts(self.degrees == self.n)
        self._drop_taken()
        return both.size, np.count_nonzero(active)

    def table(self) -> tuple[Array, Array]:
        """The confirmed neighbors of own vertices, global ids in ascending order, and the values."""
        slots = np.sort(self.slots[self.confirmed])  # entries of a row are sorted by global ids
        rows = self.graph.rows[slots]
        neighbors = np.full((self.graph.n_local, self.n), NO_VERTEX)
        values = np.zeros(neighbors.shape, self.graph.values.dtype)
        places = rows, place_in_run(rows)
        neighbors[places] = self.graph.ids[self.graph.columns[slots]]
        values[places] = self.graph.values[slots]
        return neighbors, values

    def _drop_taken(self) -> None:
        free = self.free
        taken = self.saturated[self.rows[free]] | self.saturated[self.columns[free]] | self.confirmed[free]
        self.free = free[~taken]

    def _sorted_by_hash(self, edges: Array, tie_key: np.uint32) -> Array:
        """Edges of equal weight sorted by their hashes, then by column; those too light to be chosen left out."""
        groups, rows = self.groups[edges], self.rows[edges]
        heavier = place_in_run(rows) - place_in_run(groups)
        heavy = heavier < self.n - self.degrees[rows]
        edges, groups = edges[heavy], groups[heavy]
        ids, hashes = self.graph.ids, np.empty(edges.size, np.uint32)
        hash_edges(ids[self.rows[edges]], ids[self.columns[edges]], tie_key, hashes)
        order: Array = edges[np.lexsort((hashes, groups))]
        return order


def place_in_run(numbers: Array) -> Array:
    """The place of each of some sorted numbers among those equal to it, from 0."""
    places = np.arange(numbers.size)
    begins = np.zeros(numbers.size, np.int64)
    begins[1:] = np.where(numbers[1:] != numbers[:-1], places[1:], 0)
    return places - np.maximum.accumulate(begins)
