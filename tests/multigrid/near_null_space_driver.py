"""Smoothed aggregation with candidates, by the library's building blocks: hierarchy and V-cycle."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.near_null_space import (
    adaptive_candidates,
    chebyshev_steps,
    coarse_matrix,
    improved_candidates,
    prolongator_weights,
    smoothed_tentative,
    tentative,
)

MOST_COARSE = 100
# The interval that Chebyshev smoothers of each degree damp, as a share of the largest eigenvalue.
LOWEST_SHARE = {2: 1 / 4, 3: 1 / 8}


def nodes_of(backend, csr, block_size):
    """The matrix of nodes as a SciPy matrix."""
    node_graph = backend_of(csr.data).multigrid.node_graph
    return scipy_matrix(backend, node_graph.node_matrix(csr.indptr, csr.indices, csr.data, block_size))


def scipy_matrix(backend, arrays, width=None):
    indptr, indices, data = map(backend.host, arrays)
    return sp.csr_array(
        (data, indices, indptr), shape=(indptr.size - 1, indptr.size - 1 if width is None else width)
    )


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


def hierarchy(backend, A, B, block_size, *, thetas=(0.4,), degree=3):
    """Levels until few unknowns are left or coarsening stalls, and the inverse of the last matrix."""
    levels, matrix, B = [], LevelMatrix(as_csr(backend.csr(A))), backend.array(B)
    while matrix.n > MOST_COARSE:
        k, csr = B.shape[1], matrix.csr
        A = scipy_matrix(backend, (csr.indptr, csr.indices, csr.data))
        # Of single unknowns, only couplings of the opposite sign of the diagonal count.
        nodes = A if block_size == 1 else nodes_of(backend, csr, block_size)
        found = (aggregate(nodes, theta) for theta in thetas)
        numbers, count = next((each for each in found if 0 < each[1] * k <= 0.75 * matrix.n), (None, 0))
        if not count:
            break
        P, B = tentative(backend.array(numbers), count, block_size, B)
        P = smoothed_tentative(csr, P, prolongator_weights(matrix))
        steps = chebyshev_steps(matrix.largest_eigenvalue, LOWEST_SHARE[degree], degree)
        host_P = scipy_matrix(backend, P.arrays, P.width)
        levels.append(Level(A, host_P, backend.host(matrix.inverse_diagonal), steps))
        matrix, block_size = coarse_matrix(matrix, P, B), k
    last = scipy_matrix(backend, (matrix.csr.indptr, matrix.csr.indices, matrix.csr.data))
    return levels, np.linalg.pinv(last.toarray(), hermitian=True)


def adaptive_hierarchy(backend, A, k, block_size, **options):
    """A hierarchy of candidates that a first hierarchy has improved."""
    matrix = LevelMatrix(as_csr(backend.csr(A)))
    B = adaptive_candidates(matrix, k, seed=0)
    levels, inverse = hierarchy(backend, A, B, block_size, **options)

    def cycle(r, z):
        columns = [v_cycle(levels, inverse, column) for column in backend.host(r).T]
        z[...] = backend.array(np.stack(columns, axis=1))

    return hierarchy(backend, A, improved_candidates(matrix, B, cycle), block_size, **options)


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
