"""Matrices for tests over ranks, and what tests gather from the ranks."""

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.distributed import simulate


def random_matrix(n, density, seed, dtype=np.float64):
    """A nonsymmetric matrix with empty rows, zero diagonals and one long row."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=density, rng=rng, format="lil", dtype=np.float64)
    if n > 2:
        A[n // 2] = rng.standard_normal(n)
        A[n // 3] = 0
    A = sp.csr_array(A).astype(dtype)
    if A.dtype.kind == "c":
        A.data = A.data * np.exp(1j * rng.standard_normal(A.nnz)).astype(dtype)
    A.eliminate_zeros()
    return A


def random_offsets(n, size, seed):
    """Any partition: some ranks may have no rows."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, size - 1))
    return np.concatenate([[0], cuts, [n]]).astype(np.int64)


def vector(n, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(n)
    return (found + 1j * rng.standard_normal(n) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def jumps(shape, seed=0):
    """Diffusion with coefficients that jump by six orders of magnitude."""
    A = lf.matrices.poisson(shape)
    D = sp.diags_array(10.0 ** np.random.default_rng(seed).integers(-3, 4, A.shape[0]))
    return sp.csr_array(D @ A @ D)


def gathered_matrix(A):
    """The whole matrix of the ranks' rows, on every rank."""
    rows = A.rows.tocoo()
    parts = A.comm.allgather((rows.coords[0] + A.first, A.columns[rows.coords[1]], rows.data))
    rows, columns, data = (np.concatenate(arrays) for arrays in zip(*parts))
    return sp.csr_array((data, (rows, columns)), shape=A.shape)


def joined(size, function, *arguments):
    """The ranks' arrays one after another."""
    return np.concatenate(simulate(size, function, *arguments))
