"""Gap metrics by their definitions, and refinement by whole metrics, in plain Python."""

import math

from linforest_precond.backends.cpu.reordering.gap_metrics import fixed_logarithm


def ranks(order):
    rank = [0] * len(order)
    for position, vertex in enumerate(order):
        rank[vertex] = position
    return rank


def gaps(around, rank):
    """The gaps between consecutive neighbours of all vertices."""
    rows = (sorted(rank[u] for u in row) for row in around)
    return [high - low for row in rows for low, high in zip(row, row[1:])]


def lengths(around, rank):
    """The distance between the ends of each edge."""
    return [abs(rank[u] - rank[v]) for v, row in enumerate(around) for u in row if u < v]


def linear(numbers):
    return sum(numbers)


def logarithmic(numbers):
    return math.fsum(map(math.log, numbers))


def fixed(numbers):
    """The sum of logarithms in the library's fixed point, whose accuracy is tested apart."""
    logarithm = getattr(fixed_logarithm, "py_func", fixed_logarithm)
    return sum(int(logarithm(number)) for number in numbers)


def desired_swaps(around, order, candidates, measure, max_degree):
    """(vertex, neighbour) of the swap that lowers the metric most, for all candidates that have one."""
    rank, swaps = ranks(order), []
    before = measure(gaps(around, rank))
    for u in candidates:
        partners = sorted(v for v in around[u] if len(around[v]) <= max_degree)
        afters = [(measure(gaps(around, swapped(rank, u, v))), v) for v in partners]
        if afters and min(afters)[0] < before:
            swaps.append((u, min(afters)[1]))
    return swaps


def swapped(rank, u, v):
    rank = list(rank)
    rank[u], rank[v] = rank[v], rank[u]
    return rank


def refine_one_by_one(around, order, candidates, measure, max_degree):
    """Algorithm 2.1: desired swaps, completed in the order of the candidates where the metric still falls."""
    rank = ranks(order)
    for u, v in desired_swaps(around, order, candidates, measure, max_degree):
        after = swapped(rank, u, v)
        if measure(gaps(around, after)) < measure(gaps(around, rank)):
            rank = after
    return ranks(rank)


def refine_in_rounds(around, order, candidates, measure, max_degree, max_rounds):
    """The same in rounds: swaps that come first in all rows they change are evaluated together."""
    rank = ranks(order)
    pending = desired_swaps(around, order, candidates, measure, max_degree)
    for _ in range(max_rounds):
        owner = {}
        for i, (u, v) in enumerate(pending):
            for row in around[u] | around[v]:
                owner.setdefault(row, i)
        first = [all(owner[row] == i for row in around[u] | around[v]) for i, (u, v) in enumerate(pending)]
        before = measure(gaps(around, rank))
        ready = [swap for swap, is_first in zip(pending, first) if is_first]
        falling = [swap for swap in ready if measure(gaps(around, swapped(rank, *swap))) < before]
        for swap in falling:
            rank = swapped(rank, *swap)
        pending = [swap for swap, is_first in zip(pending, first) if not is_first]
    return ranks(rank)
