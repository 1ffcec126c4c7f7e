"""The systems of `solve_times.py`: those of the gallery, real matrices, and some of every generated family.

Right-hand sides of real and generated matrices are random. Graphs, whose entries all are 1, stand for their
Laplacians with one grounded vertex in each component; directed edges count as undirected ones. Rectangular
matrices are left out.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from benchmarks.systems import chooser_systems, gallery, real_matrices
from benchmarks.systems.assembled import Assembled, assembled
from benchmarks.systems.cases import QUICK, jumps, laplacian
from linforest_precond import matrices


def systems(device, rows, folder=None):
    """The functions that make the systems, by name: those of the gallery in `folder`, where it is given, real
    ones in LINFOREST_MATRICES, where that is set, and generated ones of about `rows` rows."""
    found = dict(gallery.saved(folder)) if folder else {}
    if "LINFOREST_MATRICES" in os.environ:
        found |= {name: partial(real, line) for name, line in real_matrices.manifest().items()}
    return found | {name: partial(generated, make, rows, device) for name, make in FAMILIES.items()}


def real(line) -> Assembled:
    A = real_matrices.load(line["name"])
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got shape {A.shape}")
    return assembled(grounded(A) if line["all_ones"] == "True" else A, random_side(A))


def grounded(edges):
    """The Laplacian of a graph, with 1 added to the diagonal at the lowest vertex of each component."""
    edges = sp.csr_array(abs(edges) + abs(edges.T))
    edges.data[:] = 1
    _, labels = connected_components(edges, directed=False)
    ground = np.zeros(labels.size)
    ground[np.unique(labels, return_index=True)[1]] = 1
    return laplacian(sp.triu(edges, 1), ground, "cpu")


def generated(make, rows, device) -> Assembled:
    A = make(rows, device)
    if isinstance(A, sp.csr_array):
        return assembled(A, random_side(A))
    return Assembled(A, random_side(A))


def random_side(A):
    return np.random.default_rng(0).standard_normal(A.shape[0])


def square(rows, share=1.0):
    return (max(4, round((share * rows) ** (1 / 2))),) * 2


def cube(rows, share=1.0):
    return (max(3, round((share * rows) ** (1 / 3))),) * 3


def beam(rows, axes, share):
    """Nodes of a beam that is four times as long as wide, for the given number of unknowns."""
    width = max(2, round((share * rows / (4 * axes)) ** (1 / axes)))
    return (4 * width, *(width,) * (axes - 1))


def shifted_grid(shape, shift, device):
    """The 5- or 7-point stencil with a shift on the diagonal."""
    axes = len(shape)
    weights = np.zeros((3,) * axes)
    for axis in range(axes):
        np.moveaxis(weights, axis, 0)[(0, *(1,) * (axes - 1))] = -1
        np.moveaxis(weights, axis, 0)[(2, *(1,) * (axes - 1))] = -1
    weights[(1,) * axes] = 2 * axes + shift
    return matrices.stencil(shape, weights, device=device)


def helmholtz(shape, wavelengths, device):
    return shifted_grid(shape, -((2 * np.pi * wavelengths / (shape[0] + 1)) ** 2), device)


def shuffled_rows(A):
    """The rows of A in random order: zeros on the diagonal, which a matching repairs."""
    return sp.csr_array(A[np.random.default_rng(0).permutation(A.shape[0])])


def jumping(rows):
    return jumps(replace(QUICK, jump_grid=square(rows)[0]), "cpu")[1]


def scale_of(rows, share):
    """The largest R-MAT scale with at most `vertices` vertices."""
    return max(4, int(np.log2(share * rows)))


FAMILIES = {
    "Poisson 2-D": lambda n, on: matrices.poisson(square(n, 4), device=on),
    "convection 3-D, upwind": lambda n, on: matrices.convection_diffusion(
        cube(n), (1.0, 0.5, 0.25), device=on
    ),
    "ANISO2": lambda n, on: matrices.aniso(2, square(n, 2)[0], device=on),
    "elasticity 3-D": lambda n, on: matrices.elasticity(beam(n, 3, 1 / 4), device=on)[0],
    "circuit": lambda n, on: chooser_systems.circuit(n // 4),
    "jumps of 10⁶": lambda n, on: jumping(n / 2),
    "Poisson 3-D": lambda n, on: matrices.poisson(cube(n, 2), device=on),
    "Helmholtz 2-D, 2 wavelengths": lambda n, on: helmholtz(square(n, 1 / 4), 2.0, on),
    "triangulation, Laplacian": lambda n, on: chooser_systems.graph(matrices.delaunay(n // 8)),
    "convection 2-D, central": lambda n, on: matrices.convection_diffusion(
        square(n), (5.0, 2.0), scheme="central", device=on
    ),
    "anisotropic 2-D, 30°": lambda n, on: matrices.anisotropic_diffusion(
        square(n), np.pi / 6, 1e-3, device=on
    ),
    "controlled circuit": lambda n, on: chooser_systems.controlled_circuit(n // 8),
    "time step 3-D": lambda n, on: shifted_grid(cube(n), 1.0, on),
    "R-MAT, grounded": lambda n, on: chooser_systems.graph(matrices.rmat(scale_of(n, 1 / 8), 8), 1.0),
    "elasticity 2-D": lambda n, on: matrices.elasticity(beam(n, 2, 1 / 2), device=on)[0],
    "Poisson 2-D, rows shuffled": lambda n, on: shuffled_rows(matrices.poisson(square(n, 1 / 8))),
    "dominant, random": lambda n, on: chooser_systems.dominant(n // 8, 0.99),
    "Helmholtz 3-D, 1 wavelength": lambda n, on: helmholtz(cube(n, 1 / 4), 1.0, on),
}
