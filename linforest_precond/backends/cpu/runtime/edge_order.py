"""The one total order on edges, by which matchings are made: (-weight, hash, lower end, higher end).

Of two edges that share an end, the one whose other end is lower has the lesser pair of ends. So whoever goes
through a row of ascending columns finds the first of equals first.
"""

from .jit import helper


# Whether an edge comes before another that shares an end with it; the other ends decide last.
@helper
def precedes_at_end(weight, tie, vertex, other_weight, other_tie, other_vertex):
    if weight != other_weight:
        return weight > other_weight
    return tie < other_tie or (tie == other_tie and vertex < other_vertex)


# Whether an edge comes before any other.
@helper
def precedes(weight, tie, low, high, other_weight, other_tie, other_low, other_high):
    if weight != other_weight:
        return weight > other_weight
    if tie != other_tie:
        return tie < other_tie
    return low < other_low or (low == other_low and high < other_high)
