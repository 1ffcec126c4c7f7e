"""Approximate minimum degree order of a symmetric pattern.

P. R. Amestoy, T. A. Davis, I. S. Duff, "An Approximate Minimum Degree Ordering Algorithm", SIAM J. Matrix
Anal. Appl. 17 (1996), https://doi.org/10.1137/S0895479894278952.

The quotient graph represents the matrix after some pivots. Its nodes are supervariables, sets of
indistinguishable vertices that are not yet eliminated, and elements, the cliques that eliminated ones have
left. An element is named by its pivot, a supervariable by one of its vertices.
"""

import math

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import helper, kernel
from .child_order import ONE, ZERO
from .elimination_tree import postorder

# Rows with more entries than this times the root of n, and than the second, are ordered last (as in AMD).
DENSE, LEAST_DENSE = 10.0, 16
# Buckets for the hashes of supervariables in a pivot's list, a power of two.
BUCKETS = 2**12
MASK = np.uint64(BUCKETS - 1)
# Vertices and lengths are uint32 and places of lists uint64: see `child_order` on unsigned indices.
NONE = np.uint32(2**32 - 1)
OWNER = np.uint32(2**31)  # plus a vertex: the list that begins here is its


def order(pattern, most_flops=math.inf):
    """The order of a symmetric pattern; None where Cholesky takes more flops.

    Flops are counted in the order in which pivots are found. This is an upper bound, on real matrices of at
    most 0.1 %: the postorder eliminates vertices that are merged with a pivot before it.
    """
    indptr, indices, _ = wide_pattern(pattern)
    n, nnz = pattern.n, pattern.nnz
    dense = min(n, max(LEAST_DENSE, int(DENSE * math.sqrt(n))))
    # All lists together never grow. A new one of up to n items fits behind them.
    lists, begin = np.empty(nnz + nnz // 5 + n, np.uint32), np.empty(n, np.uint64)
    length, elements, degree = np.zeros((3, n), np.uint32)
    after, before = np.tile(np.arange(2 * n + 1, dtype=np.uint32), (2, 1))
    buckets, flags = np.full(BUCKETS, NONE), np.ones(n, np.int64)
    parent, weight = np.full(n + 1, n, np.int32), np.ones(n + 1, np.int32)
    graph = lists, begin, length, elements, degree, after, before, buckets, flags, parent, weight
    if not eliminate(indptr, indices, dense, most_flops, *graph):
        return None
    parent[n] = NO_VERTEX
    # The vertices that are merged with a pivot come after the elements that it absorbs.
    return postorder(parent, weight == 0)[:n]


# Eliminate all vertices. Returns False as soon as the flops of the pivots exceed a bound.
#
# `lists`: the elements, and then the other supervariables, that a supervariable is adjacent to; or the
#     supervariables of an element. They begin at `begin`; `length` is the number of items, `elements` that of
#     the elements among them.
# `degree`: external degrees, exact ones of elements and upper bounds of those of supervariables, which are in
#     circular doubly linked lists by them: `after`, `before`; that of degree d has the head n + d.
# `flags`: 0 for elements that are absorbed. The mark grows: smaller flags are from earlier pivots.
# `weight`: the vertices of a supervariable or pivot, negative while it is in the new element, and 0 for a
#     vertex that is merged with another.
# `parent`: the assembly tree. An element is a child of the one that absorbs it, a merged vertex of the vertex
#     that it is merged with; n is the root.
@kernel(nogil=True)
def eliminate(
    indptr, indices, dense, most_flops,
    lists, begin, length, elements, degree, after, before, buckets, flags, parent, weight,
):  # fmt: skip
    n = indptr.size - 1
    heads, mark, largest = np.uint64(n), 2, 0
    flops, free, eliminated, least = 0.0, ZERO, 0, ZERO

    for vertex in range(n):
        v = np.uint32(vertex)
        begin[v] = free
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            if indices[slot] != vertex:
                lists[free] = indices[slot]
                free += ONE
        length[v] = free - begin[v]
        degree[v] = length[v]
        if length[v] == 0:
            flags[v] = 0
            eliminated += 1
            flops += 1.0
        elif length[v] > dense:
            weight[v] = 0
            eliminated += 1
        else:
            push(after, before, heads + degree[v], v)

    while eliminated < n:
        while after[heads + least] == heads + least:
            least += ONE
        pivot = after[heads + least]
        after[before[pivot]], before[after[pivot]] = after[pivot], before[pivot]
        if free + degree[pivot] > lists.size:
            free = compact(lists, begin, length)
        pivots = weight[pivot]
        eliminated += pivots
        weight[pivot] = -pivots

        # The new element: the union of the pivot's elements, which it absorbs, and of its supervariables.
        # Those in it have a negative weight until the end of the step.
        in_place = elements[pivot] == 0
        first = begin[pivot] if in_place else free
        last, size = first, 0
        source, rest = begin[pivot], length[pivot] - elements[pivot]
        for k in range(elements[pivot] + 1):
            e, part, count = pivot, source, rest
            if k < elements[pivot]:
                e = lists[source]
                part, count = begin[e], length[e]
                source += ONE
            for p in range(part, part + count):
                i = lists[p]
                if weight[i] > 0:
                    size += weight[i]
                    weight[i] = -weight[i]
                    lists[last] = i
                    last += ONE
                    after[before[i]], before[after[i]] = after[i], before[i]
            if e != pivot:
                parent[e] = pivot
                flags[e] = 0
                length[e] = 0
        begin[pivot], length[pivot] = first, last - first

        # flags[e] - mark becomes the weight of an element's supervariables outside of the new one.
        for p in range(first, last):
            i = lists[p]
            inside = -weight[i]
            for q in range(begin[i], begin[i] + elements[i]):
                e = lists[q]
                if flags[e] >= mark:
                    flags[e] -= inside
                elif flags[e] != 0:
                    flags[e] = degree[e] + mark - inside

        # Degrees (the sum of those weights is an upper bound), and lists without what is absorbed.
        for p in range(first, last):
            i = lists[p]
            start, end = begin[i], begin[i] + length[i]
            kept, external, key = start, 0, ZERO
            for q in range(start, start + elements[i]):
                e = lists[q]
                outside = flags[e] - mark
                if outside > 0:
                    external += outside
                    key += e
                    lists[kept] = e
                    kept += ONE
                elif flags[e] != 0:  # aggressive absorption: the new element contains this one
                    parent[e] = pivot
                    flags[e] = 0
                    length[e] = 0
            variables = kept
            for q in range(start + elements[i], end):
                j = lists[q]
                if weight[j] > 0:
                    external += weight[j]
                    key += j
                    lists[kept] = j
                    kept += ONE
            if kept == start:  # mass elimination: its neighbours are those of the pivot
                parent[i] = pivot
                length[i] = 0
                pivots -= weight[i]
                size += weight[i]
                eliminated -= weight[i]
                weight[i] = 0
                continue
            degree[i] = min(degree[i], external)
            lists[kept] = lists[variables]
            lists[variables] = lists[start]
            lists[start] = pivot
            elements[i] = variables - start + ONE
            length[i] = kept - start + ONE
            bucket = key & MASK
            before[i], after[i] = bucket, buckets[bucket]
            buckets[bucket] = i
        degree[pivot] = size
        largest = max(largest, size)
        mark += largest + 1

        # Merge supervariables of equal lists.
        for p in range(first, last):
            if weight[lists[p]] < 0:
                bucket = before[lists[p]]
                i = buckets[bucket]
                buckets[bucket] = NONE
                while i != NONE:
                    if after[i] != NONE:
                        merge_equals(i, lists, begin, length, elements, after, weight, parent, flags, mark)
                        mark += 1
                    i = after[i]

        # Back into the lists of degrees, with the new element's part of them.
        kept, left = first, n - eliminated
        for p in range(first, last):
            i = lists[p]
            inside = -weight[i]
            if inside > 0:
                weight[i] = inside
                degree[i] = min(degree[i] + size - inside, left - inside)
                push(after, before, heads + degree[i], i)
                least = min(least, degree[i])
                lists[kept] = i
                kept += ONE
        weight[pivot] = pivots
        length[pivot] = kept - first
        if kept == first:
            flags[pivot] = 0
        if not in_place:
            free = kept

        # The columns of the pivots have size + 1 to size + pivots entries. The new element is a clique:
        # its elimination takes at least as much as that of a dense matrix.
        flops += squares(size + pivots) - squares(size)
        if flops + squares(size) > most_flops:
            return False
    return True


# The sum of the squares of 1 to m.
@helper
def squares(m):
    m = np.float64(m)
    return m * (m + 1.0) * (2.0 * m + 1.0) / 6.0


# Put i behind the head of a list.
@helper
def push(after, before, head, i):
    other = after[head]
    after[head], after[i] = i, other
    before[other], before[i] = i, head


# Merge with i the supervariables behind it in its bucket that have the same elements and neighbours.
@helper
def merge_equals(i, lists, begin, length, elements, after, weight, parent, flags, mark):
    # The first item, the new element, is common to all.
    for q in range(begin[i] + ONE, begin[i] + length[i]):
        flags[lists[q]] = mark
    ahead, j = i, after[i]
    while j != NONE:
        same = length[j] == length[i] and elements[j] == elements[i]
        if same:
            for q in range(begin[j] + ONE, begin[j] + length[j]):
                if flags[lists[q]] != mark:
                    same = False
                    break
        if same:
            parent[j] = i
            weight[i] += weight[j]
            weight[j], length[j] = 0, 0
            after[ahead] = after[j]
        else:
            ahead = j
        j = after[j]


# Move the lists to the front, in the order in which they are stored; returns where free space begins.
@helper
def compact(lists, begin, length):
    # The first item of a list moves to `begin`, and its owner comes in its place.
    end = ZERO
    for vertex in range(begin.size):
        v = np.uint32(vertex)
        if length[v] > 0:
            place = begin[v]
            begin[v] = lists[place]
            lists[place] = v | OWNER
            end = max(end, place + length[v])
    free, place = ZERO, ZERO
    while place < end:
        if lists[place] < OWNER:
            place += ONE
            continue
        v = lists[place] ^ OWNER
        lists[free] = begin[v]
        for k in range(ONE, np.uint64(length[v])):
            lists[free + k] = lists[place + k]
        begin[v] = free
        free += length[v]
        place += length[v]
    return free
