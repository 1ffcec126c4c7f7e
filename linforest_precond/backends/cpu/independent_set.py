"""Maximal independent sets: vertices in a fixed order, each one taken that is far enough from all before."""

import numpy as np

from .entries import wide_pattern
from .jit import kernel
from .vertex_order import bit_lengths, vertices_in_order


def independent_set(pattern, k, seed):
    """1 for the vertices of the set, 0 for the others."""
    indptr, indices, degrees = wide_pattern(pattern)
    order = vertices_in_order(bit_lengths(degrees), seed)
    distances = np.full(pattern.n, k + 1, np.int32)
    take_vertices(indptr, indices, order, k, distances, np.empty(pattern.n, np.int32))
    return (distances == 0).astype(np.int32)


# Each vertex in turn that is more than k steps from all taken ones is taken. From there the distances to the
# nearest taken vertex are lowered, breadth first, as far as they fall.
@kernel
def take_vertices(indptr, indices, order, k, distances, queue):
    for v in order:
        if distances[v] <= k:
            continue
        distances[v] = 0
        queue[0] = v
        head, tail = 0, 1
        while head < tail:
            near = queue[head]
            head += 1
            distance = distances[near] + 1
            for slot in range(indptr[near], indptr[near + 1]):
                far = indices[slot]
                if distance < distances[far]:
                    distances[far] = distance
                    if distance < k:
                        queue[tail] = far
                        tail += 1
