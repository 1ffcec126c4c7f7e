"""The elimination tree of a symmetric pattern, and the column counts of its Cholesky factor.

J. R. Gilbert, E. G. Ng, B. W. Peyton, "An Efficient Algorithm to Compute Row and Column Counts for Sparse
Cholesky Factorization", SIAM J. Matrix Anal. Appl. 15 (1994), https://doi.org/10.1137/S0895479892236921.
"""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.jit import kernel
from .child_order import index  # unsigned: no check for wraparound

NONE = -1


def column_counts(pattern, order, rank):
    """The entries of each column of L, diagonal included, in the order of elimination; the tree's height."""
    indptr, indices, _ = wide_pattern(pattern)
    graph = indptr, indices, readonly(order), readonly(rank)
    n = pattern.n
    parent, ancestor, first, latest, leaf = np.full((5, n), NONE, np.int32)
    link_columns(*graph, ancestor, parent)
    places = postorder(parent, np.zeros(n, np.bool_))
    ancestor, counts = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    height = count_columns(*graph, parent, places, ancestor, first, latest, leaf, counts)
    return counts, height


def postorder(parent, late):
    """The nodes of a forest, children before parents and each subtree in one piece.

    Children, and roots, come by ascending number, those that are `late` after the others.
    """
    n = parent.size
    order, sibling, path = np.empty((3, n + 1), np.int32)
    visit_subtrees(parent, late, np.full(n + 1, NONE, np.int32), sibling, path, order)
    return order[:n]


# The parent of each column: the row of the first entry of L below the diagonal. With path compression: J. W.
# H. Liu, "A compact row storage scheme for Cholesky factors using elimination trees", ACM TOMS 12 (1986).
@kernel(nogil=True)
def link_columns(indptr, indices, order, rank, ancestor, parent):
    for i in range(order.size):
        v = order[i]
        for slot in range(index(indptr[v]), index(indptr[v + 1])):
            j = rank[index(indices[slot])]
            while j != NONE and j < i:
                above = ancestor[index(j)]
                ancestor[index(j)] = i
                if above == NONE:
                    parent[index(j)] = i
                j = above


# `order` gets all nodes and then n, the parent of the roots.
@kernel(nogil=True)
def visit_subtrees(parent, late, child, sibling, path, order):
    n = parent.size
    for is_late in (True, False):
        for v in range(n - 1, -1, -1):
            if late[v] == is_late:
                above = parent[v] if parent[v] != NONE else n
                sibling[v], child[above] = child[above], v
    count, depth = 0, 0
    path[0] = n
    while depth >= 0:
        v = path[depth]
        if child[v] != NONE:
            depth += 1
            path[depth] = child[v]
            child[v] = sibling[child[v]]
        else:
            order[count] = v
            count += 1
            depth -= 1


# Returns the height of the tree. `first`, `latest` and `leaf` are NONE everywhere.
@kernel(nogil=True)
def count_columns(indptr, indices, order, rank, parent, places, ancestor, first, latest, leaf, counts):
    # `first`: the place in the postorder of the first descendant of each column. `counts` begins as weights
    # whose sums over subtrees are the column counts.
    n = order.size
    for place in range(n):
        j = places[place]
        if first[j] == NONE:
            counts[j] = 1
        while j != NONE and first[j] == NONE:
            first[j] = place
            j = parent[j]

    # Row i of L is a subtree of the tree. Column j is one of its leaves if no column of the subtree that was
    # found before is a descendant of j; two successive leaves meet at their least common ancestor.
    for place in range(n):
        j = index(places[place])
        if parent[j] != NONE:
            counts[parent[j]] -= 1
        v = order[j]
        for slot in range(index(indptr[v]), index(indptr[v + 1])):
            i = index(rank[index(indices[slot])])
            if i > j and first[j] > latest[i]:
                latest[i] = first[j]
                counts[j] += 1
                common, leaf[i] = leaf[i], j
                if common != NONE:
                    while ancestor[common] != common:  # path halving
                        ancestor[common] = ancestor[ancestor[common]]
                        common = ancestor[common]
                    counts[common] -= 1
        if parent[j] != NONE:
            ancestor[j] = parent[j]

    for j in range(n):
        if parent[j] != NONE:
            counts[parent[j]] += counts[j]
    depth, height = first, 0
    for j in range(n - 1, -1, -1):
        depth[j] = 1 if parent[j] == NONE else depth[parent[j]] + 1
        height = max(height, depth[j])
    return height
