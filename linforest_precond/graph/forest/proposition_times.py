"""Times of one proposition of Algorithm 2 alone: figure 3 of Klein & Strzodka (2022)."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.matrix.graphs import Graph

# Iterations that both backends run in one go.
MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class PropositionTimes:
    """The times of the proposition of one iteration; none where the factor is maximal before it."""

    seconds: tuple[float, ...]
    vertices: int  # that propose, those with a free edge; the rows of others are not read
    counted_bytes: int  # what the paper counts for all rows (table 2)


def proposition_times(graph: Graph, n: int, k: int, repeats: int = 10) -> PropositionTimes:
    """Time the proposition of iteration k without charging (m = 1), after k whole iterations.

    On the GPU by the kernel's own clock, on the CPU by the host's.
    """
    if not 0 <= k < MOST_ITERATIONS:
        raise ValueError(f"k must lie in [0, {MOST_ITERATIONS}), got {k}")
    seconds, vertices = graph.backend.forest.factor.proposition_times(graph, n, k, repeats)
    return PropositionTimes(tuple(seconds), vertices, counted_bytes(graph, n, k))


def counted_bytes(graph: Graph, n: int, k: int) -> int:
    """Bytes of a proposition by table 2: matrix and charges read, proposals and their weights written.

    After iteration 0 also the confirmed edges are read.
    """
    entries, index, weight = graph.indices.size, graph.indices.dtype.itemsize, graph.values.dtype.itemsize
    matrix = entries * (index + weight) + (graph.n + 1) * index
    edges = n * graph.n * (index + weight) + (n * graph.n * index if k > 0 else 0)
    return int(matrix + graph.n + edges)
