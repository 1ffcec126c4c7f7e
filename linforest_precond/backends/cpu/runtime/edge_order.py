"""The total order of edges that all matchings use: (-weight, hash, lower end, higher end).

Of two edges that share an end, the one whose other end is lower has the lexicographically smaller pair of
ends. So a search of a row with ascending columns meets the first of equal edges first.
"""

from .jit import helper


# Whether an edge precedes another that shares an end with it; `vertex` and `other_vertex` are the other ends.
@helper
def precedes_at_end(weight, tie, vertex, other_weight, other_tie, other_vertex):
    if weight != other_weight:
        return weight > other_weight
    return tie < other_tie or (tie == other_tie and vertex < other_vertex)


# Whether an edge precedes another one.
@helper
def precedes(weight, tie, low, high, other_weight, other_tie, other_low, other_high):
    if weight != other_weight:
        return weight > other_weight
    if tie != other_tie:
        return tie < other_tie
    return low < other_low or (low == other_low and high < other_high)
