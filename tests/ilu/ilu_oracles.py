"""ILU(0) as the textbooks have it, row by row on dictionaries (Saad 2003, algorithm 10.4)."""

import numpy as np
import scipy.sparse as sp


def rows_of(A):
    """{column: value} of the stored entries of each row, and of the diagonal."""
    A = sp.csr_array(A)
    wide = np.promote_types(A.dtype, np.float64).type
    rows = []
    for i in range(A.shape[0]):
        slots = slice(A.indptr[i], A.indptr[i + 1])
        row = {i: wide(0)}
        for column, value in zip(A.indices[slots].tolist(), A.data[slots]):
            row[column] = row.get(column, wide(0)) + wide(value)
        rows.append(row)
    return rows


def incomplete_lu(A):
    """L with a unit diagonal and U, dense, in A's own order; no pivot may vanish."""
    rows = rows_of(A)
    for i, row in enumerate(rows):
        for k in sorted(column for column in row if column < i):
            row[k] /= rows[k][k]
            for j, value in rows[k].items():
                if j > k and j in row:
                    row[j] -= row[k] * value
    n = len(rows)
    factors = np.zeros((n, n), np.promote_types(A.dtype, np.float64))
    for i, row in enumerate(rows):
        factors[i, list(row)] = list(row.values())
    return np.tril(factors, -1) + np.eye(n), np.triu(factors)


def product_in_order(A, order):
    """The product of the incomplete factors of ``A[order][:, order]``, in A's own order."""
    permuted = A[order][:, order]
    L, U = incomplete_lu(permuted)
    product = np.empty_like(L, shape=A.shape, dtype=U.dtype)
    product[np.ix_(order, order)] = L @ U
    return product


def levels_in_order(A, order):
    """The longest path to each vertex, along edges of A + A^T to later vertices of the order."""
    around = [set() for _ in range(A.shape[0])]
    for i, j in zip(*map(np.ndarray.tolist, sp.coo_array(A).coords)):
        around[i].add(j)
        around[j].add(i)
    levels = {}
    for v in order.tolist():
        levels[v] = 1 + max((levels[u] for u in around[v] if u in levels), default=-1)
    return np.array([levels[v] for v in range(A.shape[0])], int)
