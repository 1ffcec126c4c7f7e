"""PyMatting: closed-form matting with a preconditioner of this library.

`estimate_alpha_cf` takes a function that makes a preconditioner, and calls the operator: `M.matvec`.
"""

import numpy as np
import pymatting
from comparison import compare

import linforest_precond as lf

pixels = 250
y, x = np.mgrid[:pixels, :pixels] / pixels - 0.5
radius = np.hypot(x, y) + 0.03 * np.sin(9 * np.arctan2(y, x))
matte = np.clip((0.33 - radius) / 0.1, 0, 1)[..., None]  # a soft disc with stripes
front = np.stack([0.8 + 0.2 * np.sin(40 * x), 0.4 + 0.2 * np.sin(30 * y), 0.2 + 0 * x], axis=-1)
back = np.stack([0.2 + 0.3 * x, 0.5 + 0.3 * y, 0.7 + 0 * x], axis=-1)
noise = 0.02 * np.random.default_rng(0).standard_normal((pixels, pixels, 3))
image = np.clip(matte * front + (1 - matte) * back + noise, 0, 1)
trimap = np.where(radius < 0.2, 1.0, np.where(radius > 0.4, 0.0, 0.5))
print(f"{(trimap == 0.5).sum():,} unknown pixels")


def estimated(make):
    return pymatting.estimate_alpha_cf(image, trimap, preconditioner=make, cg_kwargs={"rtol": 1e-7})


def error(alpha):
    return abs(alpha - matte[..., 0]).mean()


compare(
    {
        "PyMatting's incomplete Cholesky factors": lambda: estimated(pymatting.ichol),
        "PyMatting's Jacobi": lambda: estimated(pymatting.jacobi),
        "lf.tridiagonal": lambda: estimated(lambda A: lf.tridiagonal(A).matvec),
        "lf.multilevel": lambda: estimated(lambda A: lf.multilevel(A).aspreconditioner().matvec),
    },
    error,
    "error of alpha",
)
