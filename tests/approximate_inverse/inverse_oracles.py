"""Growing patterns of approximate inverses on dense arrays, with a dense solve for each round."""

import numpy as np

STEP, SHARE, FLOOR = 5, 0.3, 1e-14


def grown_row(N, s, most, constant, entries, tolerance):
    """The columns and values of a row x that minimizes x N x^H + 2 Re(x s^H), and the minimum."""
    chosen, x, left = [], np.zeros(0, N.dtype), constant
    met = {k for k in range(most) if s[k] != 0}
    while len(chosen) < entries and left > FLOOR * constant:
        met |= {k for j in chosen for k in range(most) if N[j, k] != 0}
        gradient = s + x @ N[chosen]
        gains = {k: abs(gradient[k]) ** 2 / N[k, k].real for k in met - set(chosen)}
        promising = sorted((-gain, k) for k, gain in gains.items() if gain > tolerance * left)
        if not promising:
            break
        least = -SHARE * promising[0][0]
        added = [k for gain, k in promising if -gain > least][: min(STEP, entries - len(chosen))]
        chosen += added
        x = np.linalg.solve(N[np.ix_(chosen, chosen)].T, -s[chosen])
        left = constant + (x @ s[chosen].conj()).real
    return chosen, x, left


def fsai(A, entries, tolerance):
    """The factor G, and its pattern."""
    G, pattern = np.zeros_like(A), np.eye(len(A), dtype=bool)
    for i in range(len(A)):
        chosen, x, left = grown_row(A, A[i], i, A[i, i].real, entries - 1, tolerance)
        G[i, chosen], G[i, i], pattern[i, chosen] = x, 1, True
        G[i] /= np.sqrt(left)
    return G, pattern


def spai(A, entries, tolerance):
    """The inverse M, and its pattern."""
    scales = 1 / np.sqrt(np.linalg.norm(A, axis=0))
    B, M, pattern = A * scales, np.zeros_like(A), np.zeros(A.shape, bool)
    N, S = B @ B.conj().T, -B.conj().T
    for i in range(len(A)):
        chosen, x, _ = grown_row(N, S[i], len(A), 1.0, entries, tolerance)
        M[i, chosen], pattern[i, chosen] = x * scales[i], True
    return M, pattern
