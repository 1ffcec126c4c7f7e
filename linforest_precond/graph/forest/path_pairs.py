"""Pairs across paths: the vertices of two neighbouring heavy paths are paired one by one.

A pair along a heavy edge covers an edge that a path would cover anyway. Pairs across two paths form a ladder,
one path of blocks, which covers both paths and the edges between them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linforest_precond.graph.forest.factor import FactorOptions, propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.forest import Factor, Pairs


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
