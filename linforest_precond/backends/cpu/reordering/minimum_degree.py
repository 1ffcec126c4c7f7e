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
from ..runtime.jit import helper, kernel
from .elimination_tree import postorder

NONE = -1
# Rows with more entries than this times the root of n, and than the second, are ordered last (as in AMD).
DENSE, LEAST_DENSE = 10.0, 16
# Buckets for the hashes of supervariables in a pivot's list, a power of two.
BUCKETS = 2**12
LAST_FLAG = 2**31 - 1


def order(pattern, most_flops=math.inf):
    """The order of a symmetric pattern, or None where a Cholesky factorization takes more flops in it."""
    indptr, indices, _ = wide_pattern(pattern)
    n = pattern.n
    dense = min(n, max(LEAST_DENSE, int(DENSE * math.sqrt(n))))
    parent, weight = np.full(n + 1, n, np.int32), np.ones(n + 1, np.int32)
    if not eliminate(indptr, indices, dense, most_flops, parent, weight):
        return None
    parent[n] = NONE
    return postorder_of(parent, weight)[:n]


# The assembly tree with the vertices of each element: those merged with its pivot come after its children.
@kernel(nogil=True)
def postorder_of(parent, weight):
    return postorder(parent, weight == 0)


# Eliminate all vertices. `parent` gets the assembly tree: an element is a child of the one that absorbs it, a
# vertex of the pivot or the vertex that it is merged with; n is the root. `weight` is 0 for merged vertices.
# Returns False as soon as the flops exceed a bound.
@kernel(nogil=True)
def eliminate(indptr, indices, dense, most_flops, parent, weight):
    n = indptr.size - 1
    # A list has the elements and then the other supervariables that a supervariable is adjacent to, or the
    # supervariables of an element. All lists together never grow; a new one of up to n fits behind them.
    lists = np.empty(indptr[n] + indptr[n] // 5 + n, np.int32)
    begin, length, elements = np.empty(n, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int32)
    # External degrees: exact ones of elements, upper bounds of those of supervariables, which are in doubly
    # linked lists by them.
    degree, head = np.empty(n, np.int32), np.full(n + 1, NONE, np.int32)
    after, before = np.empty(n, np.int32), np.empty(n, np.int32)
    # 0 for elements that are absorbed. A mark grows, so that all flags below it are from earlier pivots.
    flags, mark, largest = np.ones(n, np.int32), 2, 0
    buckets = np.full(BUCKETS, NONE, np.int32)
    flops, free, eliminated, least = 0.0, 0, 0, 0

    for v in range(n):
        begin[v] = free
        for slot in range(indptr[v], indptr[v + 1]):
            if indices[slot] != v:
                lists[free] = indices[slot]
                free += 1
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
            push(head, after, before, degree[v], v)

    while eliminated < n:
        while head[least] == NONE:
            least += 1
        pivot = head[least]
        remove(head, after, before, least, pivot)
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
                source += 1
            for p in range(part, part + count):
                i = lists[p]
                if weight[i] > 0:
                    size += weight[i]
                    weight[i] = -weight[i]
                    lists[last] = i
                    last += 1
                    remove(head, after, before, degree[i], i)
            if e != pivot:
                parent[e] = pivot
                flags[e] = 0
                length[e] = 0
        begin[pivot], length[pivot] = first, last - first

        # flags[e] - mark becomes the weight of an element's supervariables outside of the new one.
        if mark > LAST_FLAG - 2 * n - 2:
            mark = reset(flags)
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
            kept, external, key = start, 0, 0
            for q in range(start, start + elements[i]):
                e = lists[q]
                outside = flags[e] - mark
                if outside > 0:
                    external += outside
                    key += e
                    lists[kept] = e
                    kept += 1
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
                    kept += 1
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
            elements[i] = variables - start + 1
            length[i] = kept - start + 1
            bucket = key & (BUCKETS - 1)
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
                push(head, after, before, degree[i], i)
                least = min(least, degree[i])
                lists[kept] = i
                kept += 1
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


# Put i in front of the list of a degree.
@helper
def push(head, after, before, degree, i):
    other = head[degree]
    if other != NONE:
        before[other] = i
    after[i], before[i] = other, NONE
    head[degree] = i


# Remove i from the list of its degree.
@helper
def remove(head, after, before, degree, i):
    ahead, behind = before[i], after[i]
    if behind != NONE:
        before[behind] = ahead
    if ahead != NONE:
        after[ahead] = behind
    else:
        head[degree] = behind


# Merge with i the supervariables behind it in its bucket that have the same elements and neighbours.
@helper
def merge_equals(i, lists, begin, length, elements, after, weight, parent, flags, mark):
    # The first item, the new element, is common to all.
    for q in range(begin[i] + 1, begin[i] + length[i]):
        flags[lists[q]] = mark
    ahead, j = i, after[i]
    while j != NONE:
        same = length[j] == length[i] and elements[j] == elements[i]
        if same:
            for q in range(begin[j] + 1, begin[j] + length[j]):
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
    # The first item of a list moves to `begin`, and its owner's number comes in its place.
    end = 0
    for v in range(begin.size):
        if length[v] > 0:
            place = begin[v]
            begin[v] = lists[place]
            lists[place] = -v - 1
            end = max(end, place + length[v])
    free, place = 0, 0
    while place < end:
        v = -lists[place] - 1
        if v < 0:
            place += 1
            continue
        lists[free] = begin[v]
        for k in range(1, length[v]):
            lists[free + k] = lists[place + k]
        begin[v] = free
        free += length[v]
        place += length[v]
    return free


# All flags of elements that are not absorbed become 1; returns the next mark.
@helper
def reset(flags):
    for v in range(flags.size):
        if flags[v] != 0:
            flags[v] = 1
    return 2
