"""Finite element matrices whose entries are summed in a random order: symmetric only to rounding."""

import itertools

import numpy as np
import scipy.sparse as sp
from strategies import with_types

# Quadrature on triangles, in barycentric coordinates; exact for degree 2.
MIDPOINTS = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])


def mesh(cells, dimension, rng):
    """A grid of points, moved at random, its simplices (Kuhn's), and which points are on the boundary."""
    shape = (cells + 1,) * dimension
    grid = np.stack(np.meshgrid(*[np.arange(cells + 1)] * dimension, indexing="ij"), -1).reshape(
        -1, dimension
    )
    boundary = ((grid == 0) | (grid == cells)).any(axis=1)
    points = (grid + np.where(boundary[:, None], 0, rng.uniform(-0.15, 0.15, grid.shape))) / cells
    corners = grid[(grid < cells).all(axis=1)]
    simplices = []
    for order in itertools.permutations(range(dimension)):
        path = np.cumsum([np.zeros(dimension, int), *np.eye(dimension, dtype=int)[list(order)]], axis=0)
        simplices.append(np.ravel_multi_index((corners[:, None] + path).reshape(-1, dimension).T, shape))
    return points, np.concatenate(simplices).reshape(-1, dimension + 1), boundary


def gradients(points, simplices):
    """Of the barycentric coordinates, (elements, corners, dimension), and the volumes."""
    edges = points[simplices[:, 1:]] - points[simplices[:, :1]]
    inverse = np.linalg.inv(edges).swapaxes(1, 2)
    volumes = abs(np.linalg.det(edges)) / np.prod(np.arange(1, points.shape[1] + 1))
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1), volumes


def assembled(blocks, free, rng):
    """The sum of element matrices, as (rows, columns, matrices), in a random order; of free unknowns."""
    triplets = [np.broadcast_arrays(rows[:, :, None], cols[:, None], values) for rows, cols, values in blocks]
    rows, columns, values = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*triplets))
    order, n = rng.permutation(rows.size), free.size
    A = sp.coo_array((values[order], (rows[order], columns[order])), shape=(n, n)).tocsr()
    return with_types(sp.csr_array(A[free][:, free]), index_dtype=np.int32)


def diffusion(cells, dimension=2, seed=0, dtype=np.float64):
    """P1 elements with a full tensor of random coefficients."""
    rng = np.random.default_rng(seed)
    points, simplices, boundary = mesh(cells, dimension, rng)
    G, volumes = gradients(points, simplices)
    root = np.eye(dimension) + rng.uniform(-0.3, 0.3, (len(simplices), dimension, dimension))
    tensors = root @ root.swapaxes(1, 2)
    matrices = ((G @ tensors) @ G.swapaxes(1, 2) * volumes[:, None, None]).astype(dtype)
    return assembled([(simplices, simplices, matrices)], ~boundary, rng)


def quadratic(points, simplices):
    """P2 on triangles: unknowns of the elements, edges, gradients at the points of the quadrature, areas."""
    edges = np.sort(simplices[:, [[0, 1], [1, 2], [0, 2]]], axis=2)
    unique, numbers = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
    unknowns = np.hstack([simplices, len(points) + numbers.reshape(-1, 3)])
    G, volumes = gradients(points, simplices)
    values = []
    for at in MIDPOINTS:
        corners = (4 * at[:, None] - 1) * G
        between = [4 * (at[i] * G[:, j] + at[j] * G[:, i]) for i, j in ((0, 1), (1, 2), (0, 2))]
        values.append(np.concatenate([corners, np.stack(between, axis=1)], axis=1))
    return unknowns, unique, np.stack(values), volumes


def free_quadratic(points, edges):
    """Which unknowns of P2 are not on the boundary of the unit square."""
    places = np.concatenate([points, points[edges].mean(axis=1)])
    return ~((places == 0) | (places == 1)).any(axis=1)


def quadratic_diffusion(cells, seed=0):
    """P2 elements on triangles."""
    rng = np.random.default_rng(seed)
    points, simplices, _ = mesh(cells, 2, rng)
    unknowns, unique, at_points, volumes = quadratic(points, simplices)
    weights = volumes[:, None, None] / 3
    blocks = [(unknowns, unknowns, (F * rng.uniform(1, 2)) @ F.swapaxes(1, 2) * weights) for F in at_points]
    return assembled(blocks, free_quadratic(points, unique), rng)


def elasticity(cells, seed=0):
    """Linear elasticity with P1 elements on tetrahedra, three unknowns to a point."""
    rng = np.random.default_rng(seed)
    points, simplices, boundary = mesh(cells, 3, rng)
    G, volumes = gradients(points, simplices)
    strains = np.zeros((len(simplices), 6, 12))
    for k, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)]):
        strains[:, k, i::3] += G[:, :, j] * (0.5 if i == j else 1)
        strains[:, k, j::3] += G[:, :, i] * (0.5 if i == j else 1)
    law = np.diag([2.0, 2, 2, 1, 1, 1]) * 0.77
    law[:3, :3] += 1.15
    matrices = strains.swapaxes(1, 2) @ (law @ strains) * volumes[:, None, None]
    unknowns = (3 * simplices[:, :, None] + np.arange(3)).reshape(-1, 12)
    return assembled([(unknowns, unknowns, matrices)], np.repeat(~boundary, 3), rng)


def stokes(cells, seed=0):
    """Taylor-Hood elements: a saddle point matrix. B and its transpose are summed in different orders."""
    rng = np.random.default_rng(seed)
    points, simplices, _ = mesh(cells, 2, rng)
    unknowns, unique, at_points, volumes = quadratic(points, simplices)
    free = free_quadratic(points, unique)
    n, weights = free.size, volumes[:, None, None] / 3
    blocks = []
    for at, F in zip(MIDPOINTS, at_points):
        stiffness = (F * 1.3) @ F.swapaxes(1, 2) * weights
        for component in range(2):
            velocity, pressure = component * n + unknowns, 2 * n + simplices
            coupling = -at[:, None] * F[:, None, :, component] * weights
            blocks.append((velocity, velocity, stiffness))
            blocks.append((pressure, velocity, coupling))
            blocks.append((velocity, pressure, coupling.swapaxes(1, 2)))
    return assembled(blocks, np.concatenate([free, free, np.arange(len(points)) > 0]), rng)


MATRICES = {
    "diffusion on triangles": lambda: diffusion(24),
    "diffusion on tetrahedra": lambda: diffusion(8, dimension=3),
    "quadratic triangles": lambda: quadratic_diffusion(12),
    "elasticity": lambda: elasticity(6),
    "stokes": lambda: stokes(8),
}
