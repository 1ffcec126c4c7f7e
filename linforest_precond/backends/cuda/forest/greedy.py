"""The greedy [0,n]-factor."""

from .factor import propose_factor


def greedy_factor(graph, n):
    """What the sequential sweep by decreasing weight gives: uncharged propositions until nothing is left.

    A vertex's heaviest free edge, by the sweep's own order, is taken by the sweep exactly when both
    ends propose it; so the edges are the same, found in parallel.
    """
    neighbors, values, slots, _ = propose_factor(
        graph, n, limit=None, automatic=False, m=1, k_m=0, threshold=0, seed=0
    )
    return neighbors, values, slots
