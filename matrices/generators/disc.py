"""Linear finite elements for heat conduction on a disc, triangulated by Delaunay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array

from .random_graphs import triangles

# Spacing of the lattice's rows and random displacement, relative to the spacing of points within a row.
ROW_SPACING = 0.65
JITTER = 0.22
# Width of the strips in which vertices are numbered, relative to the mean distance of points.
STRIP = 4.6


def disc_conduction(vertices: int, rim: int) -> Any:
    """The Laplacian of a disc with heat transfer at its rim (Robin), numbered strip by strip along x."""
    rng = np.random.default_rng(0)
    points = np.concatenate([_inner_points(vertices - rim, rng), _rim_points(rim)])
    on_rim = np.arange(vertices) >= vertices - rim
    strip = np.floor(points[:, 1] / (STRIP * math.sqrt(math.pi / vertices)))
    order = np.lexsort((points[:, 0], strip))
    return _conduction(points[order], on_rim[order])


def _inner_points(count: int, rng: np.random.Generator) -> Any:
    """The points of a staggered lattice nearest to the centre, slightly displaced at random."""
    spacing = math.sqrt(math.pi / count / ROW_SPACING)
    across = math.ceil(1.1 / spacing)
    rows = math.ceil(across / ROW_SPACING)
    y, x = np.mgrid[-rows : rows + 1, -across : across + 1]
    lattice = spacing * np.column_stack([(x + 0.5 * (y % 2)).ravel(), ROW_SPACING * y.ravel()])
    nearest = np.argsort(np.hypot(*lattice.T), kind="stable")[:count]
    points = lattice[nearest] * (1 - 0.6 * spacing) / np.hypot(*lattice[nearest[-1]])
    points += JITTER * spacing * (rng.random(points.shape) - 0.5)
    return points * np.minimum(1, (1 - 0.2 * spacing) / np.hypot(*points.T))[:, None]


def _rim_points(count: int) -> Array:
    angle = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _conduction(points: Array, on_rim: Array) -> Any:
    """The stiffness matrix by the cotangent formula, with heat transfer at the rim."""
    import scipy.sparse as sp

    corners = triangles(points)
    size = len(points)
    half = sp.csr_array((size, size))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        weights = 0.5 * _cotangents(*(points[corners[:, i]] for i in (a, b, c)))
        half += sp.coo_array((weights, (corners[:, a], corners[:, b])), shape=(size, size)).tocsr()
    # One addition per edge makes the sum symmetric to the last bit.
    weights = half + half.T
    transfer = np.where(on_rim, 2 * np.pi / on_rim.sum(), 0.0)
    return sp.csr_array(sp.diags_array(weights.sum(axis=1) + transfer) - weights)


def _cotangents(first: Array, second: Array, apex: Array) -> Any:
    """The cotangent of the angle at the apex of every triangle."""
    u, v = first - apex, second - apex
    return (u * v).sum(axis=1) / np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
