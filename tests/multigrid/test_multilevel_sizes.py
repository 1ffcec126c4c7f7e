"""Multigrid on large grids: iterations hardly grow with the size, and complexities stay small."""

import math

import numpy as np
import pytest

import linforest_precond as lf

pytestmark = pytest.mark.slow


def iterations(A, M, solver="fcg"):
    history = lf.solvers.History()
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    if not isinstance(A.data, np.ndarray):
        import cupy

        b = cupy.asarray(b)
    _, info = getattr(lf.solvers, solver)(A, b, rtol=1e-8, M=M, history=history)
    assert info == 0
    return len(history) - 1


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param([(64, 64), (512, 512), (2048, 2048)], id="2-D"),
        pytest.param([(32, 32, 32), (80, 80, 80), (160, 160, 160)], id="3-D"),
    ],
)
def test_iterations_grow_by_half_at_most(backend, shapes):
    counts = []
    for shape in shapes:
        A = lf.matrices.poisson(shape, device=backend.name)
        ml = lf.multilevel(A)
        assert ml.operator_complexity() <= 2.2
        counts.append(iterations(A, ml.aspreconditioner("K")))
    assert max(counts) <= 1.5 * counts[0]


@pytest.mark.parametrize("degrees", [0, 30, 45])
def test_lines_halve_the_iterations_on_anisotropic_grids(backend, degrees):
    A = lf.matrices.anisotropic_diffusion((256, 256), math.radians(degrees), 1e-3, device=backend.name)
    jacobi, lines = (
        iterations(A, lf.multilevel(A, smoother=smoother).aspreconditioner())
        for smoother in ("jacobi", "tridiagonal")
    )
    assert 2 * lines <= jacobi


def test_lines_where_strong_couplings_lie_along_a_diagonal(backend):
    """-0.5 along the diagonals, -0.001 along the axes: 45 degrees by linear elements on triangles."""
    weights = np.array([[-0.5, -1e-3, 0], [-1e-3, 1.004, -1e-3], [0, -1e-3, -0.5]])
    A = lf.matrices.stencil((128, 128), weights, device=backend.name)
    jacobi, lines = (
        iterations(A, lf.multilevel(A, smoother=smoother).aspreconditioner())
        for smoother in ("jacobi", "tridiagonal")
    )
    assert 2 * lines <= jacobi
