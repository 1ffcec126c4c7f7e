"""Why the weighted ratio depends on the matrices: the same graph with its weights arranged in other ways."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.graph.matching.matching import matching
from linforest_precond.records import Graph
from linforest_precond.study.cases import Case
from linforest_precond.study.matching.calls import host_graph
from linforest_precond.study.matching.quality import share
from linforest_precond.study.matching.serial import serial_matching
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings

# Standard deviations of the binary logarithms of the vertices' factors.
SIGMAS = (0.0, 0.5, 1.0, 1.5, 2.0)
ORDERS = 4


def arrangement(A: Any, case: Case, settings: Settings) -> JsonObject:
    """
    The weight of weighted proposals / Algorithm 1 (gain), and of Algorithm 1 / Algorithm 2 (serial).

    Returns
    -------
    dict
        For the matrix's ``own`` weights; for the same weights ``shuffled`` among the edges; and for unit
        weights ``scaled`` by random factors of the vertices, d_i d_j, by the spread (``sigmas``) of these.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.matching.arrangement import arrangement
    >>> found = arrangement(lf.matrices.poisson((40, 40)), None, None)
    >>> found["scaled"]["gain"][0] < 1 < found["scaled"]["gain"][-1]
    True
    """
    W = upper_weights(host_graph(A))
    random = np.random.default_rng(0)
    shuffled = W.copy()
    shuffled.data = random.permutation(W.data)
    exponents = random.normal(size=W.shape[0])
    scaled = [_measured(_scaled(W, sigma * exponents)) for sigma in SIGMAS]
    return {
        "own": _measured(W),
        "shuffled": _measured(shuffled),
        "sigmas": list(SIGMAS),
        "scaled": {key: [found[key] for found in scaled] for key in ("gain", "serial")},
    }


def upper_weights(graph: Graph) -> Any:
    """The weights above the diagonal, as a matrix without explicit zeros."""
    values = np.abs(graph.values).astype(np.float64)
    W = scipy.sparse.csr_array((values, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    W.eliminate_zeros()
    return scipy.sparse.triu(W, 1).tocsr()


def _scaled(W: Any, exponents: Any) -> Any:
    """The weights 2^(e_i + e_j), not larger than 1."""
    edges = W.tocoo()
    logarithms = exponents[edges.row] + exponents[edges.col]
    values = np.exp2(logarithms - logarithms.max(initial=0.0))
    return scipy.sparse.csr_array((values, (edges.row, edges.col)), shape=W.shape)


def _measured(upper: Any) -> JsonObject:
    W = (upper + upper.T).tocsr()
    graph = host_graph(W)
    serial = statistics.fmean(serial_matching(graph, True, seed)[1] for seed in range(ORDERS))
    parallel = statistics.fmean(matching(W, "weighted", seed=seed).weight for seed in range(ORDERS))
    return {"gain": share(parallel, serial), "serial": share(serial, matching(W, "greedy").weight)}
