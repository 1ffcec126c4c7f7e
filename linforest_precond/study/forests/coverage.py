"""Coverages of factors, forests and blocks: tables 4 and 5 of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.annotations import Array, SparseMatrix
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.forest.coverage import identity_coverage
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.greedy import greedy_factor
from linforest_precond.graph.forest.linear_forest import linear_forest
from linforest_precond.graph.forest.pairs import block_forest, check_block_options
from linforest_precond.records import CSR, Graph
from linforest_precond.study.json_types import JsonObject

# The charging configurations of table 4: (m, k_m).
CONFIGURATIONS = ((1, 0), (5, 0), (5, 1))
DEGREES = (1, 2, 3, 4)
BLOCK_PERIODS = (1, 5)
ITERATIONS = 5
# Relative size of the perturbations that order equal weights.
TIE = 2.0**-20


def coverages(A: SparseMatrix) -> JsonObject:
    """
    The coverages of a matrix: shares of its off-diagonal weight, the sum of |a_ij| with i ≠ j.

    Returns
    -------
    dict
        ``identity`` (c_id), ``forest`` (of `linear_forest` with its defaults), ``configurations`` (table 4),
        ``parallel`` and ``sequential`` by n, and ``block`` by m (table 5).

    Notes
    -----
    Ties between equal weights are broken such that the published values are reproduced. Table 4: by index in
    all iterations. ``parallel`` and ``block`` of table 5: by `linforest_precond.graph.factor`, at random in
    charged iterations. ``sequential``: at random; ties by index would pair the strong couplings along a grid
    line perfectly, and the coverage of ANISO1 for n = 1 would be 0.33 instead of the published 0.29.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.forests.coverage import coverages
    >>> found = coverages(lf.matrices.aniso(1, 100))
    >>> found["configurations"][0]["iterations_max"], round(found["parallel"]["2"], 2)
    (52, 0.67)
    """
    csr = as_csr(A)
    graph = as_graph(csr)
    by_index = as_graph(with_ties_by_index(csr))
    configurations = [_configuration(by_index, m, k_m) for m, k_m in CONFIGURATIONS]
    del by_index
    shuffled = with_shuffled_ties(csr)
    return {
        "identity": identity_coverage(csr),
        "forest": linear_forest(_factor(graph, 2, "auto")).coverage,
        "configurations": configurations,
        "parallel": {str(n): _factor(graph, n).coverage for n in DEGREES},
        "sequential": {str(n): greedy_factor(shuffled, n).coverage for n in DEGREES},
        "block": {str(m): _block_coverage(graph, m) for m in BLOCK_PERIODS},
    }


def _factor(graph: Graph, n: int, iterations: Any = ITERATIONS, m: int = 5, k_m: int = 0) -> Any:
    return propose_factor(graph, **check_options(n, iterations, m, k_m, p=0.5, seed=0))


def with_ties_by_index(csr: CSR) -> CSR:
    """The matrix with slightly enlarged weights: the smaller the sum of its indices, the larger an entry."""
    low, high = _ordered_ends(csr)
    return _enlarged(csr, 1.0 - (low.astype(np.float64) + high) / max(2 * csr.n, 1))


def with_shuffled_ties(csr: CSR) -> CSR:
    """The matrix with slightly enlarged weights, at random but equally for both directions of an edge."""
    low, high = (end.astype(np.uint64) for end in _ordered_ends(csr))
    return _enlarged(csr, _splitmix64(low * np.uint64(csr.n) + high).astype(np.float64) * 2.0**-64)


def _ordered_ends(csr: CSR) -> tuple[Array, Array]:
    """The smaller and the larger of row and column, for each entry."""
    backend = backend_of(csr.data)
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    return backend.xp.minimum(rows, csr.indices), backend.xp.maximum(rows, csr.indices)


def _enlarged(csr: CSR, perturbation: Array) -> CSR:
    return replace(csr, data=csr.data * (1.0 + TIE * perturbation))


def _splitmix64(bits: Any) -> Any:
    """64-bit hash: the finalizer of splitmix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _configuration(graph: Graph, m: int, k_m: int) -> JsonObject:
    """One configuration of table 4: the factor after five iterations, and the maximal factor."""
    five, maximal = (_factor(graph, 2, iterations, m, k_m) for iterations in (ITERATIONS, None))
    return {
        "m": m,
        "k_m": k_m,
        "c5": five.coverage,
        "cmax": maximal.coverage,
        "iterations_max": maximal.iterations,
    }


def _block_coverage(graph: Graph, m: int) -> float:
    (options,) = check_block_options(block_size=2, m=m, iterations=ITERATIONS, k_m=0, p=0.5, seed=0)
    return block_forest(graph, options).coverage
