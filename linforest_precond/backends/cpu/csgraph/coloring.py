"""Vertex colouring: vertices in a fixed order, each one given the lowest colour that no neighbour has."""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.jit import kernel
from .vertex_order import bit_lengths, vertices_in_order

NO_COLOR = -1
# The class of a vertex without neighbours where large degrees come first; a bit length has five bits.
LAST_CLASS = 31


def color_vertices(pattern, largest_first, seed):
    """The colour of each vertex."""
    indptr, indices, degrees = wide_pattern(pattern)
    classes = LAST_CLASS - bit_lengths(degrees) if largest_first else np.zeros(pattern.n, np.uint8)
    order = vertices_in_order(classes, seed)
    colors = np.full(pattern.n, NO_COLOR, np.int32)
    taken_by = np.full(pattern.longest_row + 1, -1, np.int32)
    color_in_order(indptr, indices, order, colors, taken_by)
    return colors


# `taken_by` names, for each colour, the last vertex that found it at a neighbour.
@kernel
def color_in_order(indptr, indices, order, colors, taken_by):
    for v in order:
        for slot in range(indptr[v], indptr[v + 1]):
            color = colors[indices[slot]]
            if color != NO_COLOR:
                taken_by[color] = v
        color = 0
        while taken_by[color] == v:
            color += 1
        colors[v] = color
