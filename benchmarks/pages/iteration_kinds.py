"""The preconditioners of `iterations.py` by the columns of its tables, and its limits."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

import linforest_precond as lf

RTOL = 1e-8
MOST_ITERATIONS = 3000
# The largest accepted residual, recomputed as b - A x: the solver's own may have drifted.
LARGEST_RESIDUAL = 100 * RTOL
# Permutations of a system that BiCGStab solves, and of one with more entries than this.
PERMUTATIONS, FEWER_PERMUTATIONS = 5, 3
MANY_ENTRIES = 20_000
# Unknowns of the coarsest levels: with the default of 1,000, one dense inverse would solve small systems.
MAX_COARSE = 100


def cycle(**options):
    return lambda A: lf.multilevel(A, max_coarse=MAX_COARSE, **options).aspreconditioner()


# By the paper's names; `original` is the ordering that undoes the permutation of a permuted matrix.
FORESTS = {
    "Jacobi": lambda A, original: lf.jacobi(A),
    "TriScal": lambda A, original: lf.tridiagonal(A, ordering=original),
    "AlgTriScal": lambda A, original: lf.tridiagonal(A),
    "AlgTriBlock": lambda A, original: lf.block_tridiagonal(A),
    "3 forests": lambda A, original: lf.tridiagonal(A, forests=3),
}
OTHERS = {
    "ILU(0)": lambda A: lf.ilu(A, ordering="natural"),
    "ILU(0), ordered": lf.ilu,
    "inverse 10": lambda A: lf.approximate_inverse(A, 10),
    "inverse 20": lambda A: lf.approximate_inverse(A, 20),
    "multilevel": cycle(),
    "lines": cycle(smoother="tridiagonal", cycle="V"),
}
# For positive definite matrices only.
DEFINITE = {"with inverses": cycle(smoother="approximate_inverse", cycle="V")}
# Where scaling="auto" permutes rows.
MATCHED = {
    "Jacobi, matched": lambda A: lf.jacobi(A, scaling="auto"),
    "AlgTriScal, matched": lambda A: lf.tridiagonal(A, scaling="auto"),
    "AlgTriBlock, matched": lambda A: lf.block_tridiagonal(A, scaling="auto"),
    "3 forests, matched": lambda A: lf.tridiagonal(A, forests=3, scaling="auto"),
    "ILU(0), ordered, matched": lambda A: lf.ilu(A, scaling="auto"),
    "inverse 20, matched": lambda A: lf.approximate_inverse(A, 20, scaling="auto"),
}


def permuted_operator(M, order):
    """P M P^T of a preconditioner in A's own order, for the matrix P A P^T whose row i is row order[i]."""
    back = np.argsort(order)
    return LinearOperator(M.shape, lambda r: (M @ r.ravel()[back])[order], dtype=M.dtype)
