"""Blue vertices propose to red ones: Algorithm 3 of Fagginger Auer & Bisseling (2012)."""

import numpy as np
from numba import prange

from ..runtime.arrays import BLOCK, NO_VERTEX, compact, readonly
from ..runtime.hashing import is_positive, iteration_keys, order_hash
from ..runtime.jit import kernel
from ..runtime.md5 import SHIFT_32, quarter_md5_of

# The choice of a dead vertex: all of its neighbours are OUT.
DEAD = -2
# The public state of a vertex; matched and dead vertices are OUT.
RED, BLUE, OUT = np.uint8(0), np.uint8(1), np.uint8(2)


def match(graph, weighted, threshold, seed, limit, md5):
    """The mate of each vertex, -1 where it is single, and an array: rounds, whether it is proven maximal.

    In a round every active vertex draws its colour. A blue vertex proposes to a red neighbour: along its
    heaviest edge, or to the first in a random order of the vertices, which also breaks ties between equal
    weights. A red vertex accepts one of the proposals that it got by the same rule. Matched vertices become
    inactive, and blue vertices without an active neighbour: they are dead. With the colours of `md5` red ones
    are dead, too, as in the paper: vertex 0 then has the same colour in all rounds.
    """
    vertices, index = graph.n, graph.indices.dtype
    mate, choices = np.full(vertices, NO_VERTEX, index), np.full(vertices, NO_VERTEX, index)
    active, colours = np.arange(vertices, dtype=index), np.empty(vertices, np.uint8)
    arrays = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
    _, tie_key = iteration_keys(seed, 0)
    rounds = 0
    while active.size and (limit is None or rounds < limit):
        colour_key, _ = iteration_keys(seed, rounds)
        if md5:
            draw_md5(active, colours, np.uint32(colour_key >> SHIFT_32), np.uint64(threshold))
        else:
            draw(active, colours, colour_key, np.uint64(threshold))
        for chooser in (BLUE, RED):
            choose(*arrays, weighted, tie_key, active, colours, chooser, md5 or chooser == BLUE, choices)
        left = np.empty(-(-active.size // BLOCK), np.int64)
        match_mutual(choices, mate, active, colours, left)
        active = active[: compact(active, left)]
        rounds += 1
    return mate, np.array([rounds, active.size == 0])


# Each active vertex draws its colour.
@kernel(parallel=True)
def draw(active, colours, colour_key, threshold):
    for i in prange(active.size):
        v = active[i]
        colours[v] = BLUE if is_positive(v, colour_key, threshold) else RED


# The same by Algorithm 4 of the paper: the random number `factor` is that of the round.
@kernel(parallel=True)
def draw_md5(active, colours, factor, threshold):
    for i in prange(active.size):
        v = active[i]
        colours[v] = BLUE if np.uint64(quarter_md5_of(v, factor)) < threshold else RED


# Each vertex of the colour `chooser` chooses a neighbour of the other colour; a red one among those that
# chose it. `dies`: a vertex without an active neighbour is dead.
@kernel(parallel=True)
def choose(indptr, indices, values, weighted, tie_key, active, colours, chooser, dies, choices):
    for i in prange(active.size):
        v = np.int64(active[i])
        if colours[v] == chooser:
            choice, alive = np.int64(NO_VERTEX), False
            best, best_tie = values.dtype.type(0), np.uint32(0)
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w, weight = np.int64(indices[slot]), abs(values[slot])
                if colours[w] == OUT or w == v or weight == 0:
                    continue
                alive = True
                if colours[w] == chooser or (chooser == RED and choices[w] != v):
                    continue
                if not weighted:
                    weight = values.dtype.type(1)
                if weight < best:
                    continue
                tie = order_hash(v, w, tie_key)
                if weight > best or tie < best_tie:
                    choice, best, best_tie = w, weight, tie
            choices[v] = choice if alive or not dies else DEAD


# Matches mutual choices; each block is compacted to its vertices that stay active.
@kernel(parallel=True)
def match_mutual(choices, mate, active, colours, left):
    for block in prange(left.size):
        start = block * BLOCK
        stay = start
        for i in range(start, min(start + BLOCK, active.size)):
            v = active[i]
            choice = choices[v]
            if choice >= 0 and choices[choice] == v:
                mate[v] = choice
                colours[v] = OUT
            elif choice == DEAD:
                colours[v] = OUT
            else:
                active[stay] = v
                stay += 1
        left[block] = stay - start
