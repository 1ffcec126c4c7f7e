"""Forests of blocks: pairs of vertices are the vertices of a coarse graph, which has a linear forest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.graph.forest.factor import FactorOptions, check_options, propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.forest import BlockForest, Factor, Pairs, share_of

# Number of pairings for each block size.
PAIRINGS = {1: 0, 2: 1, 4: 2}
# The values of m that "auto" tries for all factors.
CANDIDATES = 1, 5
# The iterations of "auto" without charging (m = 1): among tied weights, an iteration pairs few vertices while
# all are active.
UNCHARGED_ITERATIONS = 5
# Above the rounding errors of two coverages.
MARGIN = 1e-12


def check_block_options(
    block_size: Any,
    m: Any = "auto",
    iterations: Any = "auto",
    k_m: Any = 0,
    p: Any = 0.5,
    seed: Any = 0,
    charge: Any = "splitmix64",
    ties: Any = "auto",
) -> list[tuple[FactorOptions, ...]]:
    """Checked options of a block forest: candidates, each with those of the pairings, then of the paths."""
    block_size = as_integer("block_size", block_size)
    if block_size not in PAIRINGS:
        raise ValueError(f"block_size must be 1, 2 or 4, got {block_size}")
    degrees = (1,) * PAIRINGS[block_size] + (2,)
    return [
        tuple(
            _factor_options(degree, iterations, each, k_m, p, seed, charge, ties)
            for degree, each in zip(degrees, candidate, strict=True)
        )
        for candidate in _candidates(m, len(degrees))
    ]


def _factor_options(degree: int, iterations: Any, m: Any, *others: Any) -> FactorOptions:
    options = check_options(degree, iterations, m, *others)
    if options.automatic and options.m == 1:
        return replace(options, limit=UNCHARGED_ITERATIONS, automatic=False)
    return options


def _candidates(m: Any, factors: int) -> list[tuple[Any, ...]]:
    """The candidates for m, each with one number per factor."""
    if isinstance(m, str):
        if m != "auto":
            raise ValueError(f'm must be an integer, a tuple of integers or "auto", got {m!r}')
        return [(each,) * factors for each in CANDIDATES]
    if not isinstance(m, tuple | list):
        return [(m,) * factors]
    if len(m) != factors:
        raise ValueError(f"m must be one number or {factors}, the pairings' first, got {m!r}")
    return [tuple(m)]


def best_block_forest(
    graph: Graph, candidates: list[tuple[FactorOptions, ...]], partners: Array | None = None
) -> BlockForest:
    """The block forest of largest coverage among the candidates; the first one if several are equal.

    If there are several candidates, pairs across paths are tried, too, with the best candidate's options,
    unless `partners` are given: vertices to be paired, -1 for those that are paired along heavy edges.
    """
    if len(candidates) == 1:
        return blocks_along_edges(graph, candidates[0], partners).forest
    best = _best_of([BlockCandidate(blocks_along_edges(graph, options, partners)) for options in candidates])
    if not tries_pairs_across_paths(candidates, partners) or best.covers_all():
        return best.blocks.forest
    ladders = blocks_across_paths(graph, best.blocks.options, candidates[-1][-1])
    return _best_of([best, BlockCandidate(ladders)]).blocks.forest


def tries_pairs_across_paths(candidates: list[tuple[FactorOptions, ...]], partners: Array | None) -> bool:
    """Whether pairs across paths are tried where the candidates do not cover all edges."""
    return len(candidates) > 1 and len(candidates[0]) > 1 and partners is None


class BlockCandidate:
    """Blocks whose coverage is known to lie between `least` and `most`, up to rounding."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self._coverages = blocks.coverages()
        self.tighten()

    def tighten(self) -> None:
        """Compute the next pair of bounds."""
        self.least, self.most = next(self._coverages)

    def covers_all(self) -> bool:
        while self.least < self.most == 1.0:
            self.tighten()
        return self.least == 1.0


def _best_of(candidates: list[BlockCandidate]) -> BlockCandidate:
    """The candidate of largest coverage, the first one if several are equal."""
    while True:
        best = max(candidates, key=lambda each: each.most)
        if all(each is best or each.most + MARGIN < best.least for each in candidates):
            return best
        unsure = [each for each in candidates if each.least < each.most]
        if not unsure:
            return best
        max(unsure, key=lambda each: each.most).tighten()


def block_forest(graph: Graph, options: tuple[FactorOptions, ...]) -> BlockForest:
    """Pair vertices by [0,1]-factors, once for each option but the last; that one is for the paths of blocks.

    Section 6 of Klein & Strzodka (2022), doi:10.1145/3545008.3545035.
    """
    return blocks_along_edges(graph, options).forest


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of paired vertices, whose paths are not found yet."""

    graph: Graph  # whose vertices are the blocks
    pairings: list[Pairs]
    options: tuple[FactorOptions, ...]  # of all factors
    pairing: str  # along "edges", or across "paths"
    kept: tuple[Array, ...]  # values of the pairing factors; of pairs across paths, those of the graph
    heaviest_two: Array | None  # weights of each block in the graph; None without pairings

    def coverages(self) -> Iterator[tuple[float, float]]:
        """Lower and upper bounds of the coverage; each pair is tighter and costs more, the last is exact."""
        backend = self.graph.backend.forest
        # Each block keeps two edges at most.
        yield 0.0, 1.0 if self.heaviest_two is None else self._coverage(self.heaviest_two)
        factor = self.factor
        lost = backend.linear_forest.most_lost(factor.neighbors, factor.values)
        weight, lost_weight = self._weights(factor.values, lost)
        most = self._share(weight)
        # Without cycles the factor is the forest. The values hold each edge twice.
        yield most - (2 * lost_weight / self.graph.total_weight + MARGIN if lost_weight else 0.0), most
        yield self.forest.coverage, self.forest.coverage

    def _coverage(self, values: Array) -> float:
        """Share of the weight within blocks and on edges between them, which have these values."""
        return self._share(*self._weights(values))

    def _share(self, weight: float) -> float:
        """The coverage from the weight of the edges between blocks."""
        total = self.graph.total_weight
        if self.pairing == "edges":
            return share_of(math.fsum((*self._paired, weight)), total)
        # Only the weight between blocks that are not neighbours on a path is not covered.
        return 1.0 - (share_of(math.fsum(self._paired), total) - share_of(weight, total))

    @cached_property
    def _paired(self) -> list[float]:
        """The weights of the arrays in `kept`, once they are read."""
        return []

    def _weights(self, *arrays: Array) -> list[float]:
        """The weights in arrays, read together with those of the pairs at the first time."""
        first = () if self._paired else self.kept
        weights = self.graph.backend.matrix.sums.tree_sums((*first, *arrays), self.graph.scale)
        self._paired.extend(weights[: len(first)])
        return weights[len(first) :]

    @property
    def block_size(self) -> int:
        return int(2 ** len(self.pairings))

    @cached_property
    def factor(self) -> Factor:
        """The factor of the blocks' graph, until the forest is asked for, which changes it."""
        return propose_factor(self.graph, self.options[-1])

    @cached_property
    def forest(self) -> BlockForest:
        """The blocks along the paths of a linear forest of their graph."""
        forest = break_cycles(self.factor, in_place=True)
        return BlockForest(
            members=_vertices_in_order(forest.order, self.pairings),
            block_size=self.block_size,
            forest=forest,
            coverage=self._coverage(forest.values),
            m=tuple(each.m for each in self.options),
            pairing=self.pairing,
        )


def blocks_along_edges(
    graph: Graph, options: tuple[FactorOptions, ...], partners: Array | None = None
) -> Blocks:
    """Pair vertices by [0,1]-factors, once for each option but the last."""
    pairings: list[Pairs] = []
    kept: list[Array] = []
    heaviest_two = None
    for pairing in options[:-1]:
        if partners is None or pairings:
            factor = propose_factor(graph, pairing)
        else:
            factor = factor_with_partners(graph, partners, pairing)
        pairings.append(pair_up(factor))
        kept.append(factor.values)
        graph, heaviest_two = _merged(graph, pairings[-1])
    return Blocks(graph, pairings, options, "edges", tuple(kept), heaviest_two)


def factor_with_partners(graph: Graph, partners: Array, options: FactorOptions) -> Factor:
    """The [0,1]-factor with the edges between partners, and a factor of the vertices without one."""
    backend = graph.backend
    xp, rows = backend.xp, backend.matrix.entries.rows_of(graph.indptr, graph.indices.size)
    mates = partners.astype(graph.indices.dtype, copy=False)
    free = mates < 0
    others = xp.where(free[rows] & free[graph.indices], graph.values, graph.values.dtype.type(0))
    rest = propose_factor(replace(graph, values=others), options)
    paired = backend.matching.matched_weight.matched_edge_values(graph, mates)
    neighbors = xp.where(free, rest.neighbors[:, 0], mates).reshape(-1, 1)
    values = xp.where(free, rest.values[:, 0], paired).reshape(-1, 1)
    return replace(rest, neighbors=neighbors, values=values, slots=None)


def blocks_across_paths(
    graph: Graph, options: tuple[FactorOptions, ...], path_options: FactorOptions
) -> Blocks:
    """Pair vertices across the paths of a forest, which has the options `path_options`."""
    pairings, heaviest_two = [], None
    for _ in options[:-1]:
        pairings.append(pair_paths(graph, path_options))
        graph, heaviest_two = _merged(graph, pairings[-1])
    return Blocks(graph, pairings, options, "paths", (graph.values,), heaviest_two)


def pair_up(factor: Factor) -> Pairs:
    """The pairs of a [0,1]-factor, numbered by their lower members; unmatched vertices get a ghost."""
    return Pairs(*factor.backend.forest.pairs.pair_up(factor.neighbors))


def graph_of_pairs(graph: Graph, pairs: Pairs) -> Graph:
    """The coarse graph whose vertices are the pairs; the weight of an edge is the sum over the four members.

    With w_rc between the r-th member of one pair and the c-th of the other, the sum is
    (w_00 + w_11) + (w_01 + w_10), which gives the same bits with rows and columns exchanged.
    """
    return _merged(graph, pairs)[0]


def _merged(graph: Graph, pairs: Pairs) -> tuple[Graph, Array]:
    """The coarse graph, and the two largest weights of each pair in it, 0 where it has fewer."""
    merged = graph.backend.forest.pairs.coarse_graph(graph, pairs.members, pairs.places)
    indptr, indices, values, longest_row, heaviest_two = merged
    scales = graph.total_weight, graph.scale
    return Graph(indptr, indices, values, *scales, longest_row, False, False), heaviest_two


def _vertices_in_order(order: Array, pairings: list[Pairs]) -> Array:
    """The vertices of each block in the new order: each block is replaced by its pair, last pairing first."""
    members = order
    for pairs in reversed(pairings):
        members = pairs.backend.forest.pairs.members_of(members, pairs.members)
    return members


def pair_paths(graph: Graph, options: FactorOptions) -> Pairs:
    """Pair the vertices of neighbouring paths; the checked options are those of the paths' factor.

    The graph has at least one vertex. The paths are those of a linear forest. They are the vertices of a
    graph in turn, whose linear forest pairs neighbouring paths: mates. Two rows from the middle of a path
    determine the offset and the direction of its mate.
    """
    backend = graph.backend.forest
    forest = break_cycles(without_weak_edges(propose_factor(graph, options)), in_place=True)
    paths = backend.path_pairs.number_paths(forest.order, forest.rank, forest.position, forest.n_paths)
    samples = backend.path_pairs.sample_rows(graph, paths)
    factor = propose_factor(_graph_of_paths(graph, samples), options)
    partners = backend.path_pairs.partners(graph, paths, samples, break_cycles(factor, in_place=True))
    return Pairs(*backend.pairs.pair_up(partners))


def without_weak_edges(factor: Factor) -> Factor:
    """A [0,2]-factor without edges below half of the heaviest at both ends: they join parallel grid lines."""
    drop = factor.backend.forest.path_pairs.drop_weak_edges
    neighbors, values = drop(factor.neighbors, factor.values)
    return replace(factor, neighbors=neighbors, values=values, slots=None)


def _graph_of_paths(graph: Graph, samples: Any) -> Graph:
    """The graph whose vertices are the paths: weights are sums of the sampled entries between two paths."""
    backend = graph.backend
    indptr, indices, sums, longest = backend.forest.path_pairs.merge_samples(graph, samples)
    # The graph of the paths also has the entries of the transpose.
    index = index_dtype(2 * indices.size, indices.dtype)
    indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
    indptr, indices, values, same_pattern = backend.matrix.entries.symmetrized(indptr, indices, sums)
    if not same_pattern:
        longest = int((indptr[1:] - indptr[:-1]).max())  # stall: one number
    return Graph(indptr, indices, values, graph.total_weight, graph.scale, longest, False, False)
