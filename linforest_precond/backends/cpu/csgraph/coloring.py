"""Greedy (first-fit) vertex colouring in a fixed order.

Sequential; the colours are those of the Jones-Plassmann rounds of the CUDA backend.
"""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.hashing import bit_lengths, vertices_in_order
from ..runtime.jit import kernel

NO_COLOR = -1
# The degree class of an isolated vertex where large degrees come first; classes have five bits.
LAST_CLASS = 31


def color_vertices(pattern, largest_first, seed):
    """The colour of each vertex."""
    indptr, indices, degrees = wide_pattern(pattern)
    classes = LAST_CLASS - bit_lengths(degrees) if largest_first else np.zeros(pattern.n, np.uint8)
    order = vertices_in_order(classes, seed)
    colors = np.full(pattern.n, NO_COLOR, np.int32)
    forbidden_for = np.full(pattern.longest_row + 1, -1, np.int32)
    color_in_order(indptr, indices, order, colors, forbidden_for)
    return colors


# `forbidden_for[color]` is the last vertex with a neighbour of that colour, so it needs no reset.
@kernel
def color_in_order(indptr, indices, order, colors, forbidden_for):
    for v in order:
        for slot in range(indptr[v], indptr[v + 1]):
            color = colors[indices[slot]]
            if color != NO_COLOR:
                forbidden_for[color] = v
        color = 0
        while forbidden_for[color] == v:
            color += 1
        colors[v] = color
