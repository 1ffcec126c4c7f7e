"""The generator of elasticity: symmetry, rigid body modes, and what a clamped body resists."""

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.matrices import elasticity


@pytest.mark.parametrize("shape", [(4, 3), (1, 2), (3, 3, 2), (1, 2, 2)])
def test_is_symmetric_and_definite(shape):
    A, coordinates = elasticity(shape)
    assert A.shape == (len(shape) * np.prod(shape),) * 2 and coordinates.shape == (np.prod(shape), len(shape))
    assert A.has_sorted_indices and A.has_canonical_format
    dense = A.toarray()
    np.testing.assert_allclose(dense, dense.T, atol=1e-15)
    assert np.linalg.eigvalsh(dense)[0] > 0


@pytest.mark.parametrize("shape", [(5, 4), (4, 3, 3)])
def test_rigid_motions_need_forces_next_to_the_clamp_only(shape):
    A, coordinates = elasticity(shape, poisson_ratio=0.2, young_modulus=7.0)
    forces = abs(A @ lf.rigid_body_modes(coordinates))
    first_layer = len(shape) * np.prod(shape[1:])
    assert forces[first_layer:].max() < 1e-13
    assert forces[:first_layer].max() > 0.1


def test_stretching_a_bar_without_lateral_contraction():
    """With a Poisson ratio of 0, a pull at the end stretches a bar by length / (modulus area)."""
    A, coordinates = elasticity((5, 3, 3), poisson_ratio=0.0, young_modulus=2.0)
    displacement = np.zeros_like(coordinates)
    displacement[:, 0] = coordinates[:, 0] / 2
    forces = (A @ displacement.ravel()).reshape(coordinates.shape)
    at_end = coordinates[:, 0] == 5
    np.testing.assert_allclose(forces[at_end, 0].sum(), 4)  # the area
    np.testing.assert_allclose(forces[~at_end], 0, atol=1e-14)


@pytest.mark.parametrize(
    "shape, options, match",
    [
        ((4,), {}, "two or three axes"),
        ((4, 1), {}, "at least 2"),
        ((0, 2), {}, "at least 1"),
        ((4, 3), {"poisson_ratio": 0.5}, "poisson_ratio"),
        ((4, 3), {"young_modulus": 0.0}, "young_modulus"),
    ],
)
def test_bad_arguments(shape, options, match):
    with pytest.raises(ValueError, match=match):
        elasticity(shape, **options)


@pytest.mark.gpu
def test_is_the_same_on_the_gpu(cuda):
    (A, here), (B, there) = elasticity((3, 4, 3)), elasticity((3, 4, 3), device="cuda")
    np.testing.assert_array_equal(A.toarray(), cuda.host(B.toarray()))
    np.testing.assert_array_equal(here, cuda.host(there))
