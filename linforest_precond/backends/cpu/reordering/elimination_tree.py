"""The elimination tree of a symmetric pattern, and the column counts of its Cholesky factor."""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

NONE = -1


def column_counts(pattern, order, rank):
    """The entries of each column of L in the order of elimination, diagonal included; the height of the tree.

    J. R. Gilbert, E. G. Ng, B. W. Peyton, "An Efficient Algorithm to Compute Row and Column Counts for Sparse
    Cholesky Factorization", SIAM J. Matrix Anal. Appl. 15 (1994), https://doi.org/10.1137/S0895479892236921.
    """
    indptr, indices, _ = wide_pattern(pattern)
    return count_columns(indptr, indices, readonly(order), readonly(rank))


@kernel(nogil=True)
def count_columns(indptr, indices, order, rank):
    n = order.size
    parent = elimination_tree(indptr, indices, order, rank)
    places = postorder(parent, np.zeros(n, np.bool_))

    # The place in the postorder of the first descendant of each column. `counts` begins as weights whose sums
    # over subtrees are the column counts.
    first, counts = np.full(n, NONE, np.int32), np.zeros(n, np.int32)
    for place in range(n):
        j = places[place]
        if first[j] == NONE:
            counts[j] = 1
        while j != NONE and first[j] == NONE:
            first[j] = place
            j = parent[j]

    # Row i of L is a subtree of the tree. Column j is one of its leaves if no column of the subtree that was
    # found before is a descendant of j; two successive leaves meet at their least common ancestor.
    latest, leaf = np.full(n, NONE, np.int32), np.full(n, NONE, np.int32)
    ancestor = np.arange(n).astype(np.int32)
    for place in range(n):
        j = places[place]
        if parent[j] != NONE:
            counts[parent[j]] -= 1
        v = order[j]
        for slot in range(indptr[v], indptr[v + 1]):
            i = rank[indices[slot]]
            if i > j and first[j] > latest[i]:
                latest[i] = first[j]
                counts[j] += 1
                if leaf[i] != NONE:
                    counts[find(ancestor, leaf[i])] -= 1
                leaf[i] = j
        if parent[j] != NONE:
            ancestor[j] = parent[j]

    depth, height = first, 0
    for j in range(n):
        if parent[j] != NONE:
            counts[parent[j]] += counts[j]
    for j in range(n - 1, -1, -1):
        depth[j] = 1 if parent[j] == NONE else depth[parent[j]] + 1
        height = max(height, depth[j])
    return counts, height


# The parent of each column: the row of the first entry of L below the diagonal. With path compression: J. W.
# H. Liu, "A compact row storage scheme for Cholesky factors using elimination trees", ACM TOMS 12 (1986).
@helper
def elimination_tree(indptr, indices, order, rank):
    parent, ancestor = np.full(order.size, NONE, np.int32), np.full(order.size, NONE, np.int32)
    for i in range(order.size):
        v = order[i]
        for slot in range(indptr[v], indptr[v + 1]):
            j = rank[indices[slot]]
            while j != NONE and j < i:
                above = ancestor[j]
                ancestor[j] = i
                if above == NONE:
                    parent[j] = i
                j = above
    return parent


# The root of j, with path halving.
@helper
def find(ancestor, j):
    while ancestor[j] != j:
        ancestor[j] = ancestor[ancestor[j]]
        j = ancestor[j]
    return j


# The nodes of a forest, children before parents and each subtree in one piece. Children, and roots, come by
# ascending number, those that are `late` after the others.
@helper
def postorder(parent, late):
    n = parent.size
    child, sibling = np.full(n + 1, NONE, np.int32), np.empty(n, np.int32)
    for is_late in (True, False):
        for v in range(n - 1, -1, -1):
            if late[v] == is_late:
                above = parent[v] if parent[v] != NONE else n
                sibling[v], child[above] = child[above], v
    order, path = np.empty(n, np.int32), np.empty(n + 1, np.int32)
    count, depth = 0, 0
    path[0] = n
    while depth >= 0:
        v = path[depth]
        if child[v] != NONE:
            depth += 1
            path[depth] = child[v]
            child[v] = sibling[child[v]]
        else:
            if v != n:
                order[count] = v
                count += 1
            depth -= 1
    return order
