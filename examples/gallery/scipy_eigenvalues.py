"""SciPy: the smallest eigenvalues by lobpcg, and eigenvalues near a shift by eigsh.

A hierarchy is `lobpcg`'s preconditioner. `lf.direct`, in an order of little fill-in, is `eigsh`'s inverse.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from comparison import compare
from scipy.sparse.linalg import eigsh, lobpcg

import linforest_precond as lf

A = lf.matrices.poisson((200, 200))
X = np.random.default_rng(0).standard_normal((A.shape[0], 6))
identity = sp.eye_array(A.shape[0])
print(f"{A.shape[0]:,} rows, the six smallest eigenvalues")


def smallest(M):
    with warnings.catch_warnings(action="ignore"):  # what has not converged is told by its residual
        return lobpcg(A, X, M=M, largest=False, tol=1e-6, maxiter=100)


def near(shift, inverse=None):
    return eigsh(A, k=6, sigma=shift, OPinv=inverse, tol=1e-10)


def residual(pair):
    values, vectors = pair
    return np.linalg.norm(A @ vectors - vectors * values, axis=0).max()


compare(
    {
        "lobpcg": lambda: smallest(None),
        "lobpcg with lf.multilevel": lambda: smallest(lf.multilevel(A).aspreconditioner()),
        "eigsh, sigma=0": lambda: near(0),
        "eigsh, sigma=0, lf.direct": lambda: near(0, lf.direct(A)),
    },
    residual,
)
print("six eigenvalues near 1")
compare(
    {
        "eigsh, sigma=1": lambda: near(1),
        "eigsh, sigma=1, lf.direct": lambda: near(1, lf.direct(A - identity)),
    },
    residual,
)
