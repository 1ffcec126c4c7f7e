"""Linear finite elements on a grid of boxes, each cut into six tetrahedra (Kuhn's subdivision).

Vertices are numbered in C order on a grid of shape (nz, ny, nx), and the unknowns of a vertex stand together.
Every vertex meets 14 others and the mesh looks the same from all of them, so that a matrix is a stencil of
3 x 3 x 3 blocks, of which 15 are used. What lies on the boundary is fixed and left out. Entries that vanish
are not stored.
"""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np

from .arrays import value_type
from .grids import assemble, boxes

# Corners of the six tetrahedra of the unit cube: each walks from (0, 0, 0) to (1, 1, 1), one axis at a time.
PATHS = list(permutations(range(3)))
STEPS = np.array([np.eye(3, dtype=int)[list(path)] for path in PATHS])
CORNERS = np.pad(np.cumsum(STEPS, axis=1), ((0, 0), (1, 0), (0, 0)))
DIRECTIONS = [step for step in product((0, 1), repeat=3) if any(step)]
NEGLIGIBLE = 1e-13  # relative size of entries that are zero but for rounding


def transport(cell, velocity):
    """Diffusion with coefficient one and convection, one unknown a vertex."""
    gradients, volume = _gradients(cell)
    convection = np.einsum("tbi,i->tb", gradients, np.asarray(velocity, dtype=float))[:, None, :] / 4
    return volume * (_products(gradients) + convection)[..., None, None]


def elasticity(cell, poisson_ratio):
    """Displacements of an isotropic solid with Young's modulus one, three unknowns a vertex."""
    gradients, volume = _gradients(cell)
    shear = 0.5 / (1 + poisson_ratio)
    dilatation = 2 * shear * poisson_ratio / (1 - 2 * poisson_ratio)
    outer = np.einsum("tai,tbj->tabij", gradients, gradients)
    isotropic = _products(gradients)[..., None, None] * np.eye(3)
    return volume * (dilatation * outer + shear * np.swapaxes(outer, -1, -2) + shear * isotropic)


def consolidation(cell, poisson_ratio, coupling, storage):
    """A saturated porous solid: three displacements and a pressure a vertex, symmetric and indefinite."""
    gradients, volume = _gradients(cell)
    # The divergence of a test displacement at corner a, times the pressure of corner b: the same for every b.
    divergence = np.broadcast_to(-coupling * volume / 4 * gradients[:, :, None, :], (6, 4, 4, 3))
    blocks = np.empty((6, 4, 4, 4, 4))
    blocks[..., :3, :3] = elasticity(cell, poisson_ratio)
    blocks[..., :3, 3] = divergence
    blocks[..., 3, :3] = np.swapaxes(divergence, 1, 2)
    blocks[..., 3, 3] = -storage * volume / 20 * (1 + np.eye(4))
    return blocks


def curl_curl(cell):
    """The curl of the curl by lowest-order edge elements; a vertex owns its seven edges to higher ones."""
    gradients, volume = _gradients(cell)
    blocks = np.zeros((6, 4, 4, 7, 7))
    for t, first, second in product(range(6), combinations(range(4), 2), combinations(range(4), 2)):
        (a, b), (c, d) = first, second
        curls = (np.cross(gradients[t, i], gradients[t, j]) for i, j in (first, second))
        blocks[t, a, c, _edge(t, a, b), _edge(t, c, d)] += 4 * volume * np.dot(*curls)
    return blocks


def mesh_matrix(shape, blocks, *, factors=None, dtype=np.float64, device=None, index_dtype=None):
    """
    Assemble the element matrices of six tetrahedra over all boxes of a grid.

    Parameters
    ----------
    shape : tuple of int
        Vertices (nz, ny, nx) inside the boundary.
    blocks : array
        ``blocks[t, a, b]`` is the block of tetrahedron t that couples its corner a to its corner b.
    factors : array, optional
        What the matrices of each box are multiplied by, of shape (nz + 1, ny + 1, nx + 1); None means one.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
    """
    couplings = [
        coupling for offset in _mesh_offsets() for coupling in _couplings(shape, offset, blocks, factors)
    ]
    return assemble((*shape, blocks.shape[-1]), couplings, value_type(dtype), device, index_dtype)


def _gradients(cell):
    """Gradients of the four hat functions on each tetrahedron, and the volume, of boxes with these edges."""
    cell = np.asarray(cell, dtype=float)
    cell = np.diag(cell) if cell.ndim == 1 else cell
    # On the path along axes p, q, r the hat functions are 1 - x_p, x_p - x_q, x_q - x_r and x_r.
    reference = -np.diff(np.pad(STEPS, ((0, 0), (1, 1), (0, 0))), axis=1)
    return reference @ np.linalg.inv(cell).T, abs(np.linalg.det(cell)) / 6


def _products(gradients):
    return np.einsum("tai,tbi->tab", gradients, gradients)


def _mesh_offsets():
    """The vertex itself and its 14 neighbours, in C order."""
    steps = product((-1, 0, 1), repeat=3)
    return [step for step in steps if min(step) >= 0 or max(step) <= 0]


def _shares(blocks, offset):
    """Of each corner of a box: the sum of the blocks that couple it to the corner at an offset."""
    shares = {}
    for tetrahedron, a, b in product(range(6), range(4), range(4)):
        corner = tuple(CORNERS[tetrahedron, a])
        if tuple(CORNERS[tetrahedron, b] - corner) == offset:
            shares[corner] = shares.get(corner, 0) + blocks[tetrahedron, a, b]
    return shares


def _couplings(shape, offset, blocks, factors):
    """One coupling for each entry of a block that is not zero, a row's columns in ascending order."""
    here, there = boxes(shape, offset)
    shares = _shares(blocks, offset)
    if factors is None:
        terms = [(1.0, sum(shares.values()))]
    else:
        terms = [(factors[_cells(here, corner)][..., None], share) for corner, share in shares.items()]
    negligible = NEGLIGIBLE * np.abs(blocks).max()
    present = np.any([np.abs(share) > negligible for _, share in terms], axis=0)
    for i, j in sorted(np.argwhere(present).tolist(), key=lambda entry: entry[1] - entry[0]):
        weight = sum(factor * share[i, j] for factor, share in terms)
        yield (*here, slice(i, i + 1)), (*there, slice(j, j + 1)), weight


def _cells(here, corner):
    """The cells of which the vertices of a box are this corner."""
    # Cells start one place before the vertices: corner c of the cell at place p is the vertex p + c - 1.
    return tuple(slice(side.start + 1 - c, side.stop + 1 - c) for side, c in zip(here, corner, strict=True))


def _edge(tetrahedron, a, b):
    """Which of the seven edges of its lower vertex joins two corners."""
    return DIRECTIONS.index(tuple(CORNERS[tetrahedron, b] - CORNERS[tetrahedron, a]))
