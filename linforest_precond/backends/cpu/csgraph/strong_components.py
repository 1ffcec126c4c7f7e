"""Strongly connected components by Pearce's variant of Tarjan's algorithm, sequential.

D. Pearce, "A space-efficient algorithm for finding strongly connected components", Inf. Process. Lett. 116
(2016), https://doi.org/10.1016/j.ipl.2015.08.010.
"""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.arrays import number_by_first
from ..runtime.jit import helper, kernel

NOT_VISITED = 0
# The first component; the next ones count down and stay above all visit numbers.
FIRST_COMPONENT = np.iinfo(np.int32).max
ONE = np.uint64(1)


def strong_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices."""
    n = pattern.n
    indptr, indices, _ = wide_pattern(pattern)
    numbers = np.full(n, NOT_VISITED, np.int32)
    path, visits, finished, slots = *np.empty((3, n), np.int32), np.empty(n, np.int64)
    count = find_components(indptr, indices, numbers, path, visits, finished, slots)
    np.subtract(FIRST_COMPONENT, numbers, out=numbers)
    number_by_first(numbers, np.full(count, -1, np.int32))
    return count, numbers


# A depth-first search. `numbers` holds the low link of a vertex, the lowest visit number that it is known to
# reach, and later its component. `path`, `slots` and `visits` are the stack of the search: the vertices, the
# next entries of their rows, and their visit numbers. Returns the number of components.
@kernel
def find_components(indptr, indices, numbers, path, visits, finished, slots):
    component, next_visit, count = FIRST_COMPONENT, 0, 0
    for start in range(numbers.size):
        if numbers[start] != NOT_VISITED:
            continue
        depth, v, slot = 0, np.uint64(start), np.uint64(indptr[start])
        next_visit += 1
        numbers[v] = visit = low = next_visit
        while True:
            end = np.uint64(indptr[v + ONE])
            while slot < end:
                u = np.uint64(indices[slot])
                slot += ONE
                number = np.int64(numbers[u])
                if number == NOT_VISITED:
                    numbers[v] = low
                    path[depth], slots[depth], visits[depth] = v, slot, visit
                    depth += 1
                    v, slot, end = u, np.uint64(indptr[u]), np.uint64(indptr[u + ONE])
                    next_visit += 1
                    numbers[v] = visit = low = next_visit
                elif number < low:
                    low = number
            if low == visit:
                left = pop_component(numbers, finished, count, visit, component)
                next_visit, count = next_visit - (count - left) - 1, left
                low = component
                component -= 1
            else:
                finished[count] = v
                count += 1
            numbers[v] = low
            if depth == 0:
                break
            depth -= 1
            v, slot, visit = np.uint64(path[depth]), np.uint64(slots[depth]), np.int64(visits[depth])
            low = min(low, np.int64(numbers[v]))
    return FIRST_COMPONENT - component


# The vertex of this visit number reaches no earlier one: it and the finished vertices whose low links are not
# below it are a component. Returns how many finished vertices have none yet.
@helper
def pop_component(numbers, finished, count, visit, component):
    while count > 0 and numbers[finished[count - 1]] >= visit:
        count -= 1
        numbers[finished[count]] = component
    return count
