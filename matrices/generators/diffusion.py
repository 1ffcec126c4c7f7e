"""Convection-diffusion and rotated anisotropic diffusion on grids, as constant stencils."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_number
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import CsrArray, Device, grid_shape
from .grids import stencil

SECOND_DIFFERENCE = np.array([-1.0, 2.0, -1.0])
CENTRAL_DIFFERENCE = np.array([-0.5, 0.0, 0.5])
BACKWARD_DIFFERENCE = np.array([-1.0, 1.0, 0.0])
FORWARD_DIFFERENCE = np.array([0.0, -1.0, 1.0])
IDENTITY = np.array([0.0, 1.0, 0.0])
MASS = np.array([1.0, 4.0, 1.0]) / 6


@named_arguments
def convection_diffusion(
    shape: int | Sequence[int],
    velocity: float | Sequence[float] = 1.0,
    *,
    diffusion: float | Sequence[float] = 1.0,
    scheme: str = "upwind",
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """Finite differences of -div(diffusion grad u) + velocity . grad u on a grid of spacing one.

    Nonsymmetric for nonzero velocity; homogeneous Dirichlet conditions: u = 0 just outside the grid.

    Parameters
    ----------
    shape : int or tuple of int
        Vertices along each axis, numbered in C order: (ny, nx) or (nz, ny, nx), x fastest.
    velocity : float or sequence of float
        Along each axis, in the order of `shape`; one number applies to all axes. With spacing and diffusion
        one this is the cell Péclet number.
    diffusion : float or sequence of float
        Along each axis, positive or zero.
    scheme : {"upwind", "central"}
        Upwind differences, which give an M-matrix for any velocity, or second-order central differences.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> matrices.convection_diffusion(4, velocity=0.5).toarray()
    array([[ 2.5, -1. ,  0. ,  0. ],
           [-1.5,  2.5, -1. ,  0. ],
           [ 0. , -1.5,  2.5, -1. ],
           [ 0. ,  0. , -1.5,  2.5]])
    >>> matrices.convection_diffusion((30, 20), velocity=(0, 3), scheme="central").nnz
    2900
    """
    shape = grid_shape(shape)
    velocities = _per_axis(velocity, len(shape), "velocity")
    diffusions = _per_axis(diffusion, len(shape), "diffusion")
    if diffusions.min() < 0:
        raise ValueError(f"diffusion must not be negative, got {diffusion!r}")
    if scheme not in ("upwind", "central"):
        raise ValueError(f'scheme must be "upwind" or "central", got {scheme!r}')
    terms = zip(diffusions, velocities, strict=True)
    along = [k * SECOND_DIFFERENCE + v * _first_difference(v, scheme) for k, v in terms]
    weights = sum(_on_axis(line, axis, len(shape)) for axis, line in enumerate(along))
    return stencil(shape, weights, dtype=dtype, device=device, index_dtype=index_dtype)


@named_arguments
def anisotropic_diffusion(
    shape: int | Sequence[int],
    theta: float = math.pi / 6,
    epsilon: float = 1e-3,
    *,
    scheme: str = "elements",
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """Rotated anisotropic diffusion in the plane: -div Q diag(1, epsilon) Qᵀ grad u.

    Q rotates by theta; u = 0 just outside the grid. The stencil is that of PyAMG's
    ``diffusion_stencil_2d`` transposed, since x is the last axis here.

    Parameters
    ----------
    shape : tuple of int
        Vertices (ny, nx) along y and x, numbered in C order. One number means a square.
    theta : float
        Angle between the strong direction and the x axis, in radians.
    epsilon : float
        Diffusion across the strong direction, relative to that along it.
    scheme : {"elements", "differences"}
        Bilinear finite elements on squares, or second-order finite differences.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond import matrices
    >>> A = matrices.anisotropic_diffusion((3, 3), theta=0, epsilon=0.01, scheme="differences")
    >>> A.toarray()[4].reshape(3, 3)
    array([[ 0.  , -0.01,  0.  ],
           [-1.  ,  2.02, -1.  ],
           [ 0.  , -0.01,  0.  ]])
    >>> matrices.anisotropic_diffusion(100, theta=np.pi / 3, epsilon=1e-3).nnz
    88804
    """
    shape = grid_shape(shape)
    shape = shape * 2 if len(shape) == 1 else shape
    if len(shape) != 2:
        raise ValueError(f"shape must have two axes, got {shape}")
    theta, epsilon = _finite(theta, "theta"), _finite(epsilon, "epsilon")
    if scheme not in ("elements", "differences"):
        raise ValueError(f'scheme must be "elements" or "differences", got {scheme!r}')
    across = MASS if scheme == "elements" else IDENTITY
    c, s = math.cos(theta), math.sin(theta)
    weights = (
        (c * c + epsilon * s * s) * np.outer(across, SECOND_DIFFERENCE)
        + (s * s + epsilon * c * c) * np.outer(SECOND_DIFFERENCE, across)
        - 2 * (1 - epsilon) * c * s * np.outer(CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE)
    )
    return stencil(shape, weights, dtype=dtype, device=device, index_dtype=index_dtype)


def _first_difference(velocity: float, scheme: str) -> Array:
    if scheme == "central":
        return CENTRAL_DIFFERENCE
    return BACKWARD_DIFFERENCE if velocity > 0 else FORWARD_DIFFERENCE


def _on_axis(line: Array, axis: int, axes: int) -> Any:
    """A stencil of three weights along one axis, as a stencil of all axes."""
    return functools.reduce(np.multiply.outer, [line if a == axis else IDENTITY for a in range(axes)])


def _per_axis(value: Any, axes: int, name: str) -> Array:
    try:
        values = np.broadcast_to(np.asarray(value, dtype=np.float64), (axes,))
    except (TypeError, ValueError):
        message = f"{name} must be one number or one for each of {axes} axes, got {value!r}"
        raise ValueError(message) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return values


def _finite(value: Any, name: str) -> float:
    number = as_number(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number!r}")
    return number
