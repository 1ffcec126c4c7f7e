"""The whole flow on one screen: A → graph → factor → forest → ordering → bands."""

from __future__ import annotations

from typing import Any

from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.factor import check_options, propose_factor
from linforest_precond.graph.forest import break_cycles
from linforest_precond.precond.bands import copy_bands
from linforest_precond.records import Bands, Forest


def tridiagonal_bands(
    A: Any, *, iterations: Any = "auto", m: int = 5, k_m: int = 0, p: float = 0.5, seed: int = 0
) -> tuple[Forest, Bands]:
    """A linear forest of A and A's bands along it, with one pass through the gate.

    The options are those of `linforest_precond.linear_forest`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> forest, bands = lf.pipeline.tridiagonal_bands(lf.matrices.poisson((20, 20)))
    >>> bands.diagonal.size, forest.longest_path > 1
    (400, True)
    """
    options = check_options(2, iterations, m, k_m, p, seed)
    csr = as_csr(A)
    graph = as_graph(csr)
    factor = propose_factor(graph, **options)
    forest = break_cycles(factor, in_place=True)
    values = forest.values if graph.values_are_matrix else None
    return forest, copy_bands(csr, forest, values, forest.slots)
