"""Rigid body modes: the near-null space of linear elasticity."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged, xp_of
from linforest_precond.backends.user_warnings import named_arguments


@named_arguments
def rigid_body_modes(coordinates: Array, *, interleaved: bool = True) -> Array:
    """The translations and infinitesimal rotations of a body, as near-null space candidates of elasticity.

    A stiffness matrix maps them to zero except where the body is held. Smoothed aggregation that keeps them
    (``lf.multilevel(A, B=...)``) solves problems of elasticity in few iterations.

    Parameters
    ----------
    coordinates : array
        (N, 2) or (N, 3): the positions of the nodes, of NumPy or CuPy. They are centred, and divided by the
        largest distance from the centre along an axis, so that rotations have entries of the size of one.
    interleaved : bool, optional
        Whether the displacements of a node are unknowns one after the other, as usual; otherwise all
        displacements along the first axis come first, then all along the second.

    Returns
    -------
    array
        (2 N, 3) or (3 N, 6) in double precision, on the device of the coordinates: the translations along
        each axis, then the rotations in the planes of each pair of axes.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.rigid_body_modes([[0, 0], [2, 0], [2, 4], [0, 4]])[:4]
    array([[ 1. ,  0. ,  1. ],
           [ 0. ,  1. , -0.5],
           [ 1. ,  0. ,  1. ],
           [ 0. ,  1. ,  0.5]])

    The stiffness matrix of a beam maps them to zero, except at nodes next to the clamped end:

    >>> A, coordinates = lf.matrices.elasticity((10, 3, 3))
    >>> B = lf.rigid_body_modes(coordinates)
    >>> B.shape, bool(abs(A @ B)[27:].max() < 1e-12)
    ((270, 6), True)
    """
    refuse_masked_or_ragged("coordinates", coordinates)
    xp = xp_of(coordinates)
    positions = _scaled(_checked(xp.asarray(coordinates)))
    nodes, axes = positions.shape
    planes = list(combinations(range(axes), 2))
    modes = xp.zeros((nodes, axes, axes + len(planes)))
    for axis in range(axes):
        modes[:, axis, axis] = 1
    for mode, (first, second) in enumerate(planes, start=axes):
        modes[:, first, mode] = -positions[:, second]
        modes[:, second, mode] = positions[:, first]
    if not interleaved:
        modes = modes.transpose(1, 0, 2)
    return xp.ascontiguousarray(modes.reshape(nodes * axes, -1))


def _checked(coordinates: Array) -> Array:
    if coordinates.ndim != 2 or coordinates.shape[1] not in (2, 3):
        raise ValueError(f"coordinates must have shape (N, 2) or (N, 3), got {coordinates.shape}")
    if coordinates.dtype.kind not in "biuf":
        raise TypeError(f"coordinates must be real numbers, got an array of {coordinates.dtype}")
    return coordinates.astype(np.float64)


def _scaled(coordinates: Array) -> Array:
    """The coordinates around their mean, the largest one of size one."""
    if not coordinates.shape[0]:
        return coordinates
    if not bool(abs(coordinates).max() < np.inf):  # stall: NaN or infinity
        raise ValueError("coordinates must be finite, got NaN or infinity")
    centred = coordinates - coordinates.mean(axis=0)
    size = abs(centred).max()
    return centred / (size + (size == 0))
