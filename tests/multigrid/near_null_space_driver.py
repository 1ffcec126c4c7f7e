"""Smoothed aggregation with candidates, by the library's building blocks: hierarchy and V-cycle."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import linforest_precond as lf
from linforest_precond.gate import as_csr
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.near_null_space import (
    chebyshev_steps,
    smoothed_tentative,
    tentative,
)

MOST_COARSE = 100


def nodes_of(backend, A, block_size):
    """The matrix of nodes as a SciPy matrix."""
    csr = as_csr(A)
    arrays = LevelMatrix(csr).backend.multigrid.node_graph.node_matrix(
        csr.indptr, csr.indices, csr.data, block_size
    )
    indptr, indices, data = map(backend.host, arrays)
    return sp.csr_array((data, indices, indptr), shape=(indptr.size - 1,) * 2)


def strong_graph(nodes, theta):
    """Couplings of the opposite sign of the diagonal, at least theta times the strongest of both ends."""
    entries, diagonal, n = nodes.tocoo(), nodes.diagonal(), nodes.shape[0]
    off = (entries.row != entries.col) & (entries.data < 0)
    rows, columns, couplings = entries.row[off], entries.col[off], entries.data[off]
    strength = couplings**2 / (diagonal[rows] * diagonal[columns])
    strongest = np.zeros(n)
    np.maximum.at(strongest, rows, strength)
    strong = strength >= theta**2 * np.maximum(strongest[rows], strongest[columns])
    graph = sp.csr_array((np.ones(strong.sum()), (rows[strong], columns[strong])), shape=(n, n))
    return sp.csr_array(graph + graph.T)


def aggregate(nodes, theta):
    """Roots are a distance-2 independent set of the strong graph; -1 for isolated nodes."""
    graph = strong_graph(nodes, theta)
    degrees = np.diff(graph.indptr)
    independent = np.asarray(lf.graph.maximal_independent_set(graph, k=2, seed=0)).astype(bool)
    roots = np.flatnonzero(independent & (degrees > 0))
    numbers = np.full(nodes.shape[0], -1, np.int32)
    near = graph[roots].tocoo()
    numbers[near.col], numbers[roots] = near.row, np.arange(roots.size)
    joined = numbers.copy()
    for v in np.flatnonzero((numbers < 0) & (degrees > 0)):
        neighbors = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        joined[v] = numbers[neighbors[numbers[neighbors] >= 0].min()]
    return joined, roots.size


@dataclass
class Level:
    A: sp.csr_array
    P: sp.csr_array
    weights: np.ndarray
    steps: list


def hierarchy(backend, A, B, block_size, *, theta=0.25, degree=2, most_coarse=MOST_COARSE):
    """Levels until few unknowns are left or coarsening stalls, and the inverse of the last matrix."""
    levels = []
    while A.shape[0] > most_coarse:
        numbers, count = aggregate(nodes_of(backend, backend.csr(A), block_size), theta)
        if count == 0 or count * B.shape[1] > 0.8 * A.shape[0]:
            break
        matrix = LevelMatrix(as_csr(backend.csr(A)))
        tentative_P, B_coarse = tentative(backend.array(numbers), count, block_size, backend.array(B))
        P = on_host(backend, smoothed_tentative(matrix.csr, tentative_P, matrix.damped_jacobi))
        steps = chebyshev_steps(matrix.largest_eigenvalue, 1 / 4, degree)
        levels.append(Level(A, P, backend.host(matrix.inverse_diagonal), steps))
        A, B, block_size = coarse_matrix(A, P), backend.host(B_coarse), B.shape[1]
    return levels, np.linalg.pinv(A.toarray(), hermitian=True)


def on_host(backend, P):
    indptr, indices, data = map(backend.host, P.arrays)
    return sp.csr_array((data, indices, indptr), shape=(P.n, P.width))


def coarse_matrix(A, P):
    """R A P, with a unit diagonal in the rows of dropped candidates, and Hermitian."""
    coarse = P.T.conj() @ A @ P
    coarse = sp.csr_array((coarse + coarse.T.conj()) / 2)
    coarse = sp.csr_array(coarse + sp.diags_array((coarse.diagonal() == 0).astype(A.dtype)))
    coarse.sort_indices()
    return coarse


def smooth(level, b, x):
    previous = np.zeros_like(x)
    for momentum, factor in level.steps:
        previous, x = x, x + momentum * (x - previous) + factor * level.weights * (b - level.A @ x)
    return x


def v_cycle(levels, inverse, b, depth=0):
    if depth == len(levels):
        return inverse @ b
    level = levels[depth]
    x = smooth(level, b, np.zeros_like(b))
    x = x + level.P @ v_cycle(levels, inverse, level.P.T.conj() @ (b - level.A @ x), depth + 1)
    return smooth(level, b, x)


def iterations(A, levels, inverse, maxiter=500):
    """Iterations of cg to 1e-8, by the library's solver."""
    b = np.random.default_rng(1).standard_normal(A.shape[0]).astype(A.dtype)
    M = sla.LinearOperator(A.shape, matvec=lambda r: v_cycle(levels, inverse, r.ravel()), dtype=A.dtype)
    history = lf.solvers.History()
    _, info = lf.solvers.cg(A, b, rtol=1e-8, M=M, maxiter=maxiter, history=history)
    assert info == 0
    return len(history) - 1
