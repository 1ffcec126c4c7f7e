"""Weight coverages of factors, forests and blocks: what tables 4 and 5 of the paper show."""

from __future__ import annotations

from typing import Any

from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.coverage import identity_coverage
from linforest_precond.graph.factor import check_options, propose_factor
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.greedy import greedy_factor
from linforest_precond.graph.pairs import block_forest, check_block_options
from linforest_precond.records import Graph

# The charging of table 4: (m, k_m).
CONFIGURATIONS = ((1, 0), (5, 0), (5, 1))
DEGREES = (1, 2, 3, 4)
BLOCK_PERIODS = (1, 5)
ITERATIONS = 5


def coverages(A: Any) -> dict:
    """
    The coverages of a matrix: shares of its off-diagonal weight.

    Returns
    -------
    dict
        ``identity`` (c_id), ``forest`` (of `linear_forest` with its defaults), ``configurations`` (table 4),
        ``parallel`` and ``sequential`` by n, and ``block`` by m (table 5).

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.coverage import coverages
    >>> found = coverages(lf.matrices.aniso(1, 100))
    >>> found["configurations"][0]["iterations_max"], round(found["parallel"]["2"], 2)
    (52, 0.67)
    """
    csr = as_csr(A)
    graph = as_graph(csr)
    return {
        "identity": identity_coverage(csr),
        "forest": linear_forest(_factor(graph, 2, "auto")).coverage,
        "configurations": [_configuration(graph, m, k_m) for m, k_m in CONFIGURATIONS],
        "parallel": {str(n): _factor(graph, n).coverage for n in DEGREES},
        "sequential": {str(n): greedy_factor(csr, n).coverage for n in DEGREES},
        "block": {str(m): _block_coverage(graph, m) for m in BLOCK_PERIODS},
    }


def _factor(graph: Graph, n: int, iterations: Any = ITERATIONS, m: int = 5, k_m: int = 0) -> Any:
    return propose_factor(graph, **check_options(n, iterations, m, k_m, 0.5, 0))


def _configuration(graph: Graph, m: int, k_m: int) -> dict:
    """A row of table 4: after five iterations, and of the maximal factor."""
    five, maximal = (_factor(graph, 2, iterations, m, k_m) for iterations in (ITERATIONS, None))
    return {
        "m": m,
        "k_m": k_m,
        "c5": five.coverage,
        "cmax": maximal.coverage,
        "iterations_max": maximal.iterations,
    }


def _block_coverage(graph: Graph, m: int) -> float:
    (options,) = check_block_options(2, m, ITERATIONS, 0, 0.5, 0)
    return block_forest(graph, options).coverage
