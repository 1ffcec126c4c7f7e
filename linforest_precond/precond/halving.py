"""Interpolation along paths of strong couplings: every second unknown of a path stays."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.graph.factor import check_options, propose_factor
from linforest_precond.graph.matching import tie_key_of
from linforest_precond.precond.pairing import pairing_graph
from linforest_precond.precond.prolongation import Rectangle, product
from linforest_precond.precond.smoothers import FORESTS
from linforest_precond.precond.transfers import Interpolation
from linforest_precond.records import CSR, Array, ForestArrays, Graph

# Weights are multiples of one over this: those of a row add up to exactly 1, in single precision, too.
PARTS = 256
# A coarse matrix with more than this share of the entries before it is not worth having.
MOST_ENTRIES = 0.8
# Of one halving, after which others follow.
MOST_ENTRIES_BETWEEN = 1.25


def halved(
    csr: CSR, times: int, weights: str, strength: float, hermitian: bool, seed: int
) -> tuple[Interpolation, CSR] | None:
    """Interpolation that leaves every second unknown of each path, several times, and the matrix behind it.

    None where that matrix would have too many entries: where unknowns are coupled to many others and all of
    about the same strength, each halving couples still more of them.
    """
    whole, between = None, csr
    for left in reversed(range(times)):
        step = path_prolongator(between, weights, strength, seed)
        whole = step if whole is None else product(whole, step)
        if left:
            between = Interpolation.of(step).coarse_csr(between, hermitian)
            if between.nnz > MOST_ENTRIES_BETWEEN * csr.nnz:
                return None
    # From the finest matrix, as it is done again for other values.
    transfer = Interpolation.of(whole)
    coarse = transfer.coarse_csr(csr, hermitian)
    return None if coarse.nnz > MOST_ENTRIES * csr.nnz else (transfer, coarse)


def path_prolongator(csr: CSR, weights: str, strength: float, seed: int) -> Rectangle:
    """Every second unknown of a path stays; those between are means of their neighbours on the path.

    The means are weighted by the entries. An unknown on no path takes the value of the one on a path that
    it is coupled to most strongly, and stays where there is none.
    """
    graph = pairing_graph(csr, weights, strength)
    backend = backend_of(csr.data)
    factor = propose_factor(graph, **check_options(2, **FORESTS, seed=seed))
    paths = backend.forest.linear_forest(factor.neighbors, factor.values, factor.slots, in_place=True)
    xp, index = backend.xp, csr.indices.dtype
    hosts = _hosts(graph, paths, seed)
    stays = ((paths.position % 2 == 0) | (paths.neighbors[:, 0] < 0)) & (hosts == xp.arange(csr.n))
    numbers = xp.cumsum(stays, dtype=index) - index.type(1)
    width = int(numbers[-1]) + 1 if csr.n else 0  # stall: how many
    columns = xp.where(paths.neighbors >= 0, numbers[paths.neighbors], index.type(-1))
    columns[:, 0], columns[:, 1] = (
        xp.where(stays, numbers, columns[:, 0]),
        xp.where(stays, index.type(-1), columns[:, 1]),
    )
    shares = _shares(csr, paths)
    shares[:, 0] = xp.where(stays, 1, shares[:, 0])
    columns, shares = columns[hosts], shares[hosts]
    descends = ((columns[:, 1] >= 0) & (columns[:, 0] > columns[:, 1]))[:, None]
    columns = xp.where(descends, columns[:, ::-1], columns)
    shares = xp.where(descends, shares[:, ::-1], shares)
    kept = (columns >= 0) & (shares > 0)
    indptr = xp.zeros(csr.n + 1, index)
    xp.cumsum(kept.sum(axis=1), dtype=index, out=indptr[1:])
    return Rectangle(indptr, columns[kept], shares[kept].astype(csr.data.dtype), width)


def _shares(csr: CSR, paths: ForestArrays) -> Array:
    """The weights of both neighbours on the path: by their entries, or their couplings in another graph."""
    backend = backend_of(csr.data)
    values = csr.data[paths.slots] if paths.slots is not None and csr.nnz else paths.values
    sizes = backend.entries.magnitudes(values.ravel()).reshape(-1, 2).astype(np.float64)
    sizes *= paths.neighbors >= 0
    total = sizes[:, 0] + sizes[:, 1]
    first = backend.xp.rint(PARTS * (sizes[:, 0] / backend.xp.where(total > 0, total, 1))) / PARTS
    return backend.xp.stack([first, 1 - first], axis=1)


def _hosts(graph: Graph, paths: ForestArrays, seed: int) -> Array:
    """The unknown on a path whose value each unknown takes: itself, or its strongest neighbour."""
    backend = backend_of(graph.values)
    vertices = backend.xp.arange(graph.n, dtype=graph.indices.dtype)
    on_path = paths.neighbors[:, 0] >= 0
    # As if every vertex on a path were a pair of its own, which single ones join.
    joined, count = backend.aggregates.of_mates(
        graph, backend.xp.where(on_path, vertices, vertices.dtype.type(-1)), tie_key_of(seed)
    )
    hosts = backend.xp.empty(count, vertices.dtype)
    hosts[joined] = vertices  # where nobody is on a path, the only one
    hosts[joined[on_path]] = vertices[on_path]
    return hosts[joined]
