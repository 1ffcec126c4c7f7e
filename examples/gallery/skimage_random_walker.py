"""scikit-image: the random walker's systems.

`random_walker` has no argument for a solver: its function that solves is replaced while it runs. It solves
one system for each label but the last, with one matrix.
"""

from unittest.mock import patch

import numpy as np
from comparison import compare
from skimage.segmentation import random_walker
from skimage.segmentation import random_walker_segmentation as module

import linforest_precond as lf

pixels = 300
y, x = np.mgrid[:pixels, :pixels] / pixels
regions = (np.sin(9 * x) + np.cos(7 * y) > 0).astype(int) + 2 * (x + y > 1.2)
image = regions + 0.4 * np.random.default_rng(0).standard_normal(regions.shape)
labels = np.zeros_like(regions)
labels[10::40, 10::40] = 1 + regions[10::40, 10::40]
print(f"{(labels == 0).sum():,} unknown pixels, {labels.max()} labels")


def with_linforest(A, B, tol, mode):
    solver = lf.Solver(A, rtol=tol)
    return np.stack([solver.solve(b)[0] for b in B.toarray().T])


def segmented(mode):
    return random_walker(image, labels, beta=30, mode=mode, tol=1e-5)


def with_replaced_solver():
    with patch.object(module, "_solve_linear_system", with_linforest):
        return segmented("cg")


def error(found):
    return (found != 1 + regions).mean()


compare(
    {
        "mode='bf', which factors A": lambda: segmented("bf"),
        "mode='cg_j', Jacobi": lambda: segmented("cg_j"),
        "mode='cg_mg', PyAMG": lambda: segmented("cg_mg"),
        "lf.Solver": with_replaced_solver,
    },
    error,
    "wrong pixels",
)
