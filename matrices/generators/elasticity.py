"""Linear elasticity on rectangular grids: trilinear finite elements of a body that is clamped at one end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_number
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import CsrArray, Device, array_modules, grid_shape, value_type
from .grids import Coupling, assemble, boxes

# Gauss points of an element of side one, all of weight 1 / 2**d.
GAUSS_POINTS = 0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12)


@named_arguments
def elasticity(
    shape: Sequence[int],
    *,
    poisson_ratio: float = 0.3,
    young_modulus: float = 1.0,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> tuple[CsrArray, Array]:
    """The stiffness matrix of an elastic body of unit squares or cubes, and the coordinates of its nodes.

    Linear elasticity, isotropic and homogeneous, by bilinear (2-D, plane strain) or trilinear (3-D) finite
    elements on a grid of spacing one. The body is clamped at coordinate 0 of the first axis, where no
    unknowns are stored; its other sides are free.

    Parameters
    ----------
    shape : tuple of int
        Free nodes along each of the two or three axes, numbered in C order. A node has an unknown for the
        displacement along each axis, one after the other.
    poisson_ratio : float, optional
        Above -1 and below 1/2; towards 1/2 the material is incompressible, and the elements lock.
    young_modulus : float, optional
        Positive; a factor of the matrix.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    A : csr_array
        Symmetric positive definite, with d rows for each of the N nodes.
    coordinates : array
        (N, d) in double precision, on A's device; `linforest_precond.rigid_body_modes` takes them.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A, coordinates = matrices.elasticity((20, 5, 5))
    >>> A.shape, coordinates.shape
    ((1500, 1500), (500, 3))
    >>> coordinates[0]
    array([1., 0., 0.])
    """
    shape = _body_shape(shape)
    dtype = value_type(dtype)
    xp, _ = array_modules(device)
    stiffness = _element_stiffness(len(shape), *_material(poisson_ratio, young_modulus))
    couplings = list(_couplings(shape, stiffness, xp))
    A = assemble((*shape, len(shape)), couplings, dtype, device, index_dtype)
    axes = [xp.arange(length, dtype=np.float64) for length in shape]
    axes[0] = axes[0] + 1
    coordinates = xp.stack(xp.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    return A, coordinates


def _body_shape(shape: Sequence[int]) -> tuple[int, ...]:
    lengths = grid_shape(shape)
    if len(lengths) not in (2, 3) or min(lengths[1:]) < 2:
        raise ValueError(
            f"shape must have two or three axes with at least 2 nodes along all but the first, got {shape!r}"
        )
    return lengths


def _material(poisson_ratio: float, young_modulus: float) -> tuple[float, float]:
    """The Lamé parameters."""
    if not -1 < (poisson_ratio := as_number("poisson_ratio", poisson_ratio)) < 0.5:
        raise ValueError(f"poisson_ratio must be above -1 and below 1/2, got {poisson_ratio}")
    if not 0 < (young_modulus := as_number("young_modulus", young_modulus)) < np.inf:
        raise ValueError(f"young_modulus must be positive and finite, got {young_modulus}")
    shear = young_modulus / (2 * (1 + poisson_ratio))
    return 2 * shear * poisson_ratio / (1 - 2 * poisson_ratio), shear


def _element_stiffness(axes: int, first: float, shear: float) -> Array:
    """K[a, i, b, j] couples displacement i of corner a with j of corner b; corners are in C order."""
    corners = np.array(list(itertools.product((0, 1), repeat=axes)))
    stiffness = np.zeros((len(corners), axes, len(corners), axes))
    identity = np.eye(axes)
    for point in itertools.product(GAUSS_POINTS, repeat=axes):
        # The gradients of the shape functions, products of x or 1 - x.
        factors = np.where(corners, point, 1 - np.array(point))
        gradients = np.stack(
            [
                np.where(corners[:, i], 1, -1) * np.delete(factors, i, axis=1).prod(axis=1)
                for i in range(axes)
            ],
            axis=1,
        )
        inner = gradients @ gradients.T
        stiffness += first * np.einsum("ai,bj->aibj", gradients, gradients)
        stiffness += shear * np.einsum("aj,bi->aibj", gradients, gradients)
        stiffness += shear * np.einsum("ab,ij->aibj", inner, identity)
    return stiffness / len(GAUSS_POINTS) ** axes


def _couplings(shape: Sequence[int], stiffness: Array, xp: Any) -> Iterator[Coupling]:
    """The couplings of each pair of displacements, the neighbours' in ascending order."""
    axes = len(shape)
    for offset in itertools.product((-1, 0, 1), repeat=axes):
        box, neighbours = boxes(shape, offset)
        for i, j in itertools.product(range(axes), repeat=2):
            weight = _assembled(shape, offset, stiffness[:, i, :, j], xp)
            yield (*box, slice(i, i + 1)), (*neighbours, slice(j, j + 1)), weight


def _assembled(shape: Sequence[int], offset: Sequence[int], stiffness: Array, xp: Any) -> Any:
    """The sum over the elements that have both nodes, for all nodes with a neighbour at an offset."""
    axes = len(shape)
    stiffness = stiffness.reshape((2,) * (2 * axes))
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=axes):
        other = tuple(here + step for here, step in zip(corner, offset, strict=True))
        if min(other) >= 0 and max(other) <= 1:
            term = stiffness[corner + other].item()
            for axis in range(axes):
                exists = _element_exists(axis, shape[axis], corner[axis], offset[axis], xp)
                term = term * exists.reshape((-1,) + (1,) * (axes - axis))
            total = total + term
    return total


def _element_exists(axis: int, length: int, corner: int, step: int, xp: Any) -> Array:
    """1 for each node along an axis that is the given corner of an element, 0 at an end of the body.

    Nodes without a neighbour at the step are left out. Before the first node along the first axis, there is
    an element between it and the clamped end.
    """
    exists = xp.ones(length - abs(step))
    if step == 0 and corner == 0:
        exists[-1] = 0
    if step == 0 and corner == 1 and axis > 0:
        exists[0] = 0
    return exists
