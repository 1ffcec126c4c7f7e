"""The six algorithms of the chapter, and the variants of its figure 6.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linforest_precond.distributed.grid2d import Graph2D
from linforest_precond.distributed.grid2d.breadth_first import BreadthFirstSearch
from linforest_precond.distributed.grid2d.components import propagate_minima
from linforest_precond.distributed.grid2d.label_propagation import propagate_labels
from linforest_precond.distributed.grid2d.matching import match
from linforest_precond.distributed.grid2d.pagerank import power_iteration
from linforest_precond.distributed.grid2d.pointer_jumping import jump, lowest_neighbours
from linforest_precond.graph.matching.matching import tie_key_of

# A graph and its vertex of the highest degree -> the result.
Algorithm = Callable[[Graph2D, int], Any]
ITERATIONS = 20  # of PageRank and label propagation; the others run to the end


def pagerank(iterations: int) -> Algorithm:
    """Dense rounds of PageRank."""

    def run(graph: Graph2D, _: int) -> None:
        uniform = graph.xp.full(graph.n_states, 1 / max(graph.n, 1))
        power_iteration(graph, 0.85, uniform, uniform, uniform, iterations, 0.0)

    return run


ALGORITHMS: dict[str, Algorithm] = {
    "BFS": lambda graph, hub: BreadthFirstSearch(graph, hub).run("auto"),
    "PR": pagerank(ITERATIONS),
    "CC": lambda graph, _: propagate_minima(graph, "push", "auto", True),
    "LP": lambda graph, _: propagate_labels(graph, ITERATIONS, 0),
    "MWM": lambda graph, _: match(graph, tie_key_of(0)),
    "PJ": lambda graph, _: jump(graph, lowest_neighbours(graph)),
}
NAMES = {
    "BFS": "breadth-first search", "PR": "PageRank", "CC": "connected components", "LP": "label propagation",
    "MWM": "matching", "PJ": "pointer jumping",
}  # fmt: skip
# Those of figures 6.5, 6.9 and 6.10.
BENCHMARKS = "BFS", "PR", "CC"
# (direction, exchange, whether there is a vertex queue) of connected components.
VARIANTS = {
    "pull, dense, no queue (Base)": ("pull", "dense", False),
    "sparse (+SP)": ("pull", "sparse", False),
    "switch (+SP+SW)": ("pull", "auto", False),
    "queue (+SP+SW+VQ)": ("pull", "auto", True),
    "push (+All+Push)": ("push", "auto", True),
}
