"""The greedy [0,n]-factor, found in parallel."""

from .factor import propose_factor


def greedy_factor(graph, n, ties="index", seed=0):
    """The factor of Algorithm 1 of Klein & Strzodka (2022), by uncharged proposals until it is maximal.

    An edge that both ends propose is among the first ones, in the sweep's order, that each of them has room
    for; so the sequential sweep takes it, too.
    """
    neighbors, values, slots, _ = propose_factor(
        graph, n, limit=None, automatic=False, m=1, k_m=0, threshold=0, seed=seed, ties=ties
    )
    return neighbors, values, slots
