"""The repair of paths with weak pivots in plain Python, entry by entry, from the dense matrix."""

import numpy as np

LEAST_PIVOT, LEAST_COVERAGE, LEAST_DIAGONAL, SHARE = 1 / 4, 2 / 3, 1 / 16, 0.4995


def paths_of(T, b):
    """Lists of consecutive block rows that are coupled in either direction."""
    count = T.shape[0] // b
    paths = [[0]] if count else []
    for i in range(1, count):
        before, own = slice((i - 1) * b, i * b), slice(i * b, (i + 1) * b)
        coupled = T[before, own].any() or T[own, before].any()
        if coupled:
            paths[-1].append(i)
        else:
            paths.append([i])
    return paths


def repaired(A, T, order, b=1):
    """T with clipped couplings, the repaired block rows, and the number of clipped couplings.

    T is the (block) tridiagonal part of A in the order, in which -1 is a ghost row.
    """
    T, rows, clipped = T.copy(), [], 0
    for path in paths_of(T, b):
        if is_weak(A, T, order, path, b) and mean_coverage(A, T, order, path, b) < LEAST_COVERAGE:
            if not has_negligible_diagonal(A, order, path, b):
                rows += path
                clipped += clip(T, path, b)
    return T, rows, clipped


def is_weak(A, T, order, path, b):
    weak, pivot = False, None
    for i in path:
        own = slice(i * b, (i + 1) * b)
        block = T[own, own]
        if pivot is None:
            pivot = block.copy()
        else:
            before = slice((i - 1) * b, i * b)
            pivot = block - T[own, before] @ np.linalg.inv(pivot) @ T[before, own]
        inverse = np.linalg.inv(pivot)
        for r, ratio in enumerate(np.diag(inverse @ block)):
            v, row = order[i * b + r], i * b + r
            neglected = abs(A[v]).sum() - abs(T[row]).sum() if v >= 0 else 0
            below = 1 / abs(inverse[r, r]) < neglected
            weak |= below and (abs(ratio.real) + abs(ratio.imag) > 1 / LEAST_PIVOT or ratio.real < 0)
    return weak


def mean_coverage(A, T, order, path, b):
    shares = []
    for row in [i * b + r for i in path for r in range(b)]:
        v = order[row]
        if v < 0:
            continue
        total = abs(A[v]).sum() - abs(A[v, v])
        kept = abs(T[row]).sum() - abs(T[row, row])
        shares.append(kept / total if total else 1.0)
    return np.mean(shares)


def has_negligible_diagonal(A, order, path, b):
    vertices = [order[i * b + r] for i in path for r in range(b) if order[i * b + r] >= 0]
    return any(abs(A[v, v]) < LEAST_DIAGONAL * (abs(A[v]).sum() - abs(A[v, v])) for v in vertices)


def clip(T, path, b):
    clipped = 0
    for i, j in zip(path, path[1:]):
        here, there = slice(i * b, (i + 1) * b), slice(j * b, (j + 1) * b)
        after = np.linalg.norm(np.linalg.inv(T[here, here]) @ T[here, there])
        before = np.linalg.norm(np.linalg.inv(T[there, there]) @ T[there, here])
        if after * before > SHARE**2:
            factor = SHARE / np.sqrt(after * before)
            T[here, there] *= factor
            T[there, here] *= factor
            clipped += 1
    return clipped
