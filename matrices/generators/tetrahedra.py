"""Linear finite elements on a grid of boxes, each divided into six tetrahedra (Kuhn's subdivision).

Vertices are numbered in C order on a grid of shape (nz, ny, nx); the unknowns of a vertex are consecutive.
The mesh is translation invariant and every vertex has 14 neighbours, so that a matrix is a block stencil of
3 x 3 x 3, of which 15 blocks are nonzero. Vertices on the boundary are eliminated (Dirichlet). Zero entries
are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array

from ..arrays import CsrArray, Device, value_type
from .grids import Box, Coupling, assemble, boxes

# Corners of the six tetrahedra of the unit cube: paths from (0, 0, 0) to (1, 1, 1), one axis at a time.
PATHS = list(permutations(range(3)))
STEPS = np.array([np.eye(3, dtype=int)[list(path)] for path in PATHS])
CORNERS = np.pad(np.cumsum(STEPS, axis=1), ((0, 0), (1, 0), (0, 0)))
DIRECTIONS = [step for step in product((0, 1), repeat=3) if any(step)]
NEGLIGIBLE = 1e-13  # relative size of entries that are zero up to rounding


def transport_elements(cell: npt.ArrayLike, velocity: Sequence[float]) -> Any:
    """Element matrices of convection and diffusion with coefficient one; one unknown per vertex."""
    gradients, volume = _gradients(cell)
    convection = np.einsum("tbi,i->tb", gradients, np.asarray(velocity, dtype=float))[:, None, :] / 4
    return volume * (_products(gradients) + convection)[..., None, None]


def elasticity_elements(cell: npt.ArrayLike, poisson_ratio: float) -> Any:
    """Element matrices of linear elasticity with Young's modulus one; three displacements per vertex."""
    gradients, volume = _gradients(cell)
    shear = 0.5 / (1 + poisson_ratio)
    dilatation = 2 * shear * poisson_ratio / (1 - 2 * poisson_ratio)
    outer = np.einsum("tai,tbj->tabij", gradients, gradients)
    isotropic = _products(gradients)[..., None, None] * np.eye(3)
    return volume * (dilatation * outer + shear * np.swapaxes(outer, -1, -2) + shear * isotropic)


def consolidation_elements(
    cell: npt.ArrayLike, poisson_ratio: float, coupling: float, storage: float
) -> Array:
    """Element matrices of Biot consolidation, symmetric indefinite: three displacements and a pressure."""
    gradients, volume = _gradients(cell)
    # The divergence of a test displacement at corner a, times the pressure at corner b: equal for all b.
    divergence = np.broadcast_to(-coupling * volume / 4 * gradients[:, :, None, :], (6, 4, 4, 3))
    blocks = np.empty((6, 4, 4, 4, 4))
    blocks[..., :3, :3] = elasticity_elements(cell, poisson_ratio)
    blocks[..., :3, 3] = divergence
    blocks[..., 3, :3] = np.swapaxes(divergence, 1, 2)
    blocks[..., 3, 3] = -storage * volume / 20 * (1 + np.eye(4))
    return blocks


def curl_curl_elements(cell: npt.ArrayLike) -> Array:
    """Elements of curl-curl, lowest-order Nédélec: a vertex has its seven edges to higher vertices."""
    gradients, volume = _gradients(cell)
    blocks = np.zeros((6, 4, 4, 7, 7))
    for t, first, second in product(range(6), combinations(range(4), 2), combinations(range(4), 2)):
        (a, b), (c, d) = first, second
        curls = (np.cross(gradients[t, i], gradients[t, j]) for i, j in (first, second))
        blocks[t, a, c, _edge(t, a, b), _edge(t, c, d)] += 4 * volume * np.dot(*curls)
    return blocks


def mesh_matrix(
    shape: tuple[int, ...],
    blocks: Array,
    *,
    factors: Array | None = None,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
) -> CsrArray:
    """Assemble the element matrices of six tetrahedra over all boxes of a grid with `shape` inner vertices.

    ``blocks[t, a, b]`` is the block of tetrahedron t that couples its corners a and b; `factors`, of shape
    (nz + 1, ny + 1, nx + 1), those of the element matrices of each box.
    """
    couplings = [
        coupling for offset in _mesh_offsets() for coupling in _couplings(shape, offset, blocks, factors)
    ]
    return assemble((*shape, blocks.shape[-1]), couplings, value_type(dtype), device, None)


def _gradients(cell: npt.ArrayLike) -> tuple[Any, float]:
    """Gradients of the hat functions on each tetrahedron, and its volume; `cell` has a box's edges."""
    edges = np.asarray(cell, dtype=float)
    edges = np.diag(edges) if edges.ndim == 1 else edges
    # On the path along axes p, q, r the hat functions are 1 - x_p, x_p - x_q, x_q - x_r and x_r.
    reference = -np.diff(np.pad(STEPS, ((0, 0), (1, 1), (0, 0))), axis=1)
    return reference @ np.linalg.inv(edges).T, abs(np.linalg.det(edges)) / 6


def _products(gradients: Array) -> Any:
    return np.einsum("tai,tbi->tab", gradients, gradients)


def _mesh_offsets() -> list[tuple[int, ...]]:
    """The vertex itself and its 14 neighbours, in C order."""
    steps = product((-1, 0, 1), repeat=3)
    return [step for step in steps if min(step) >= 0 or max(step) <= 0]


def _corner_blocks(blocks: Array, offset: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """For each corner of a box: the sum of the blocks that couple it to the corner at an offset."""
    sums: dict[tuple[int, ...], Any] = {}
    for tetrahedron, a, b in product(range(6), range(4), range(4)):
        corner = tuple(CORNERS[tetrahedron, a])
        if tuple(CORNERS[tetrahedron, b] - corner) == offset:
            sums[corner] = sums.get(corner, 0) + blocks[tetrahedron, a, b]
    return sums


def _couplings(
    shape: tuple[int, ...], offset: tuple[int, ...], blocks: Array, factors: Array | None
) -> Iterator[Coupling]:
    """One coupling for each nonzero entry of a block, with the columns of a row in ascending order."""
    box, neighbours = boxes(shape, offset)
    sums = _corner_blocks(blocks, offset)
    terms: list[tuple[Any, Any]]
    if factors is None:
        terms = [(1.0, sum(sums.values()))]
    else:
        terms = [(factors[_cells(box, corner)][..., None], block) for corner, block in sums.items()]
    negligible = NEGLIGIBLE * np.abs(blocks).max()
    present = np.any([np.abs(block) > negligible for _, block in terms], axis=0)
    for i, j in sorted(np.argwhere(present).tolist(), key=lambda entry: entry[1] - entry[0]):
        weight = sum(factor * block[i, j] for factor, block in terms)
        yield (*box, slice(i, i + 1)), (*neighbours, slice(j, j + 1)), weight


def _cells(box: Box, corner: tuple[int, ...]) -> Box:
    """The cells that have the vertices of a box as this corner."""
    # Corner c of cell p is the vertex p + c - 1, because cells also touch the eliminated boundary.
    return tuple(slice(side.start + 1 - c, side.stop + 1 - c) for side, c in zip(box, corner, strict=True))


def _edge(tetrahedron: int, a: int, b: int) -> int:
    """The number (0 to 6) of the edge between two corners among the edges of the lower one."""
    return DIRECTIONS.index(tuple(CORNERS[tetrahedron, b] - CORNERS[tetrahedron, a]))
