"""Matchings of a graph that is made already, as times and averages need them."""

from __future__ import annotations

from typing import Any

from linforest_precond.graph.matching.matching import DEFAULTS, check_matching_options, match_graph
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.graphs import Graph


def match(graph: Graph, method: str, seed: int = 0, **options: Any) -> Any:
    """The mates of a graph's vertices by a method of `linforest_precond.graph.matching`."""
    checked = check_matching_options(method, seed, **(DEFAULTS | options))
    return match_graph(graph, method, **checked)[0]


def host_graph(A: Any) -> Graph:
    """The graph on the host, for sequential algorithms."""
    return checked(A.get() if hasattr(A, "get") else A).graph
