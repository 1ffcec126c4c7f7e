"""Textbook multigrid cycles on dense arrays, with the smoothers' own matrices."""

import numpy as np


def smoothing_matrices(backend, part):
    """The matrix that each step of a level's smoother applies to the residual, dense, with its momentum."""
    found = []
    for level in part.levels[:-1]:
        n = level.csr.n
        if hasattr(level.smoother, "part"):
            x = backend.xp.empty((n, n), level.csr.data.dtype)
            level.smoother.part.solve_into(backend.xp.eye(n, dtype=level.csr.data.dtype), x, False)
            found.append([(backend.host(x), 0.0)])
        else:
            weights = np.diag(backend.host(level.smoother.weights))
            found.append([(factor * weights, momentum) for momentum, factor in level.smoother.steps])
    return found


def dense_levels(backend, hierarchy):
    """A, P and R of all levels as dense arrays of double precision."""
    levels = []
    for level in hierarchy.levels:
        arrays = [backend.host(level.A.toarray())]
        if level is not hierarchy.levels[-1]:
            arrays += [backend.host(level.P.toarray()), backend.host(level.R.toarray())]
        levels.append([array.astype(np.promote_types(array.dtype, np.float64)) for array in arrays])
    return levels


def sweep(A, steps, b, x):
    before = x
    for matrix, momentum in steps:
        x, before = x + momentum * (x - before) + matrix @ (b - A @ x), x
    return x


def cycle(levels, smoothers, kind, sweeps, b, i=0, definite=True):
    """One cycle from 0 on level i for the columns of b, one by one for K."""
    if i == len(levels) - 1:
        return np.linalg.pinv(levels[i][0], rcond=1e-12) @ b
    A, P, R = levels[i]
    x = np.zeros_like(b)
    for _ in range(sweeps[0]):
        x = sweep(A, smoothers[i], b, x)
    rest = R @ (b - A @ x)
    x = x + P @ solved(levels, smoothers, kind, sweeps, rest, i + 1, definite)
    for _ in range(sweeps[1]):
        x = sweep(A, smoothers[i], b, x)
    return x


def solved(levels, smoothers, kind, sweeps, b, i, definite):
    """The coarse-grid problem of level i, solved by one or two visits."""

    def visit(kind, b):
        return cycle(levels, smoothers, kind, sweeps, b, i, definite)

    c, last = visit(kind, b), len(levels) - 1
    if kind == "V" or i == last or (kind == "K" and (i % 2 == 0 or (i > 3 and i > last - 4))):
        return c
    A = levels[i][0]
    if kind in "WF":
        return c + visit("W" if kind == "W" else "V", b - A @ c)
    # K: the best combination of two directions.
    first = np.linalg.lstsq(*normal(A, c[:, None], b, definite), rcond=None)[0]
    d = visit(kind, b - A @ (c * first))
    both = np.stack([c, d], axis=1)
    return both @ np.linalg.lstsq(*normal(A, both, b, definite), rcond=1e-13)[0]


def normal(A, directions, b, definite):
    tests = directions if definite else A @ directions
    return tests.conj().T @ A @ directions, tests.conj().T @ b
