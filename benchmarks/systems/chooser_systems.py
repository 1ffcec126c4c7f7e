"""The systems that `chooser.py` solves: real matrices, and one or more of every generated family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.systems import real_matrices
from benchmarks.systems.cases import QUICK, jumps, laplacian
from linforest_precond import matrices


def systems() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """(set, name, function that makes the matrix): the sets are "odd" and "even" lines of the manifest, and
    "generated"."""
    for number, (name, line) in enumerate(real_matrices.manifest().items(), 1):
        if not real_matrices.is_directed(line):
            yield ("odd", "even")[number % 2 == 0], name, partial(real_matrices.system, line)
    for name, make in GENERATED.items():
        yield "generated", name, make


def shifted(A: Any, shift: float) -> Any:
    """A + shift I."""
    return sp.csr_array(A + shift * sp.eye_array(A.shape[0]))


def circuit(n: int, seed: int = 0) -> Any:
    """Resistors of 1 to 10^6 ohm between random near neighbours, few long wires, and some grounded nodes."""
    random = np.random.default_rng(seed)
    near = np.repeat(np.arange(n), 2)
    far = np.clip(near + random.integers(1, 40, near.size), 0, n - 1)
    hubs = random.integers(0, 10, n // 20), random.integers(0, n, n // 20)
    ends = np.concatenate([near, hubs[0]]), np.concatenate([far, hubs[1]])
    kept = ends[0] != ends[1]
    edges = sp.coo_array(
        (10.0 ** random.uniform(-6, 0, kept.sum()), (ends[0][kept], ends[1][kept])), shape=(n, n)
    )
    return laplacian(sp.csr_array(edges), np.where(random.random(n) < 0.02, 1e-3, 1e-9), "cpu")


def controlled_circuit(n: int) -> Any:
    """The circuit with voltage-controlled current sources: not symmetric."""
    A, random = circuit(n, 1), np.random.default_rng(2)
    rows, columns = random.integers(0, n, (2, n // 4))
    values = A.diagonal()[rows] * random.uniform(-0.5, 0.5, rows.size)
    return sp.csr_array(A + sp.coo_array((values, (rows, columns)), shape=A.shape))


def dominant(n: int, share: float, seed: int = 0) -> Any:
    """Random entries off the diagonal, whose magnitudes sum to `share` of it: not symmetric."""
    A = sp.csr_array(sp.random_array((n, n), density=8 / n, rng=np.random.default_rng(seed), format="csr"))
    A.setdiag(0)
    return sp.csr_array(A + sp.diags_array(A.sum(axis=1) / share + 1e-3))


def graph(edges: Any, shift: float = 0.0) -> Any:
    A = laplacian(sp.triu(edges, 1), np.full(edges.shape[0], shift), "cpu")
    return A


def helmholtz(shape: tuple[int, ...], wavelengths: float) -> Any:
    """Poisson's matrix minus k^2, with a number of wavelengths along a side: a few negative eigenvalues."""
    k = 2 * np.pi * wavelengths / (shape[0] + 1)
    return shifted(matrices.poisson(shape), -(k**2))


def badly_scaled(A: Any, digits: float, seed: int = 0) -> Any:
    """D A D with random D between 1 and 10^digits."""
    D = sp.diags_array(10.0 ** np.random.default_rng(seed).uniform(0, digits, A.shape[0]))
    return sp.csr_array(D @ A @ D)


GENERATED: dict[str, Callable[[], Any]] = {
    "Poisson 20²": lambda: matrices.poisson((20, 20)),
    "Poisson 100²": lambda: matrices.poisson((100, 100)),
    "Poisson 250²": lambda: matrices.poisson((250, 250)),
    "Poisson 10³": lambda: matrices.poisson((10,) * 3),
    "Poisson 32³": lambda: matrices.poisson((32,) * 3),
    "time step 100²": lambda: shifted(matrices.poisson((100, 100)), 1.0),
    "small time step 100²": lambda: shifted(matrices.poisson((100, 100)), 20.0),
    "long time step 150²": lambda: shifted(matrices.poisson((150, 150)), 0.01),
    "ANISO1 150²": lambda: matrices.aniso(1, 150),
    "ANISO2 150²": lambda: matrices.aniso(2, 150),
    "ANISO3 80²": lambda: matrices.aniso(3, 80),
    "anisotropic 120², 0°": lambda: matrices.anisotropic_diffusion(120, 0.0, 1e-3),
    "anisotropic 120², 30°": lambda: matrices.anisotropic_diffusion(120, np.pi / 6, 1e-3),
    "anisotropic 120², 45°": lambda: matrices.anisotropic_diffusion(120, np.pi / 4, 1e-3),
    "anisotropic 60², 70°, 10⁻²": lambda: matrices.anisotropic_diffusion(60, np.radians(70), 1e-2),
    "jumps 100²": lambda: jumps(replace(QUICK, jump_grid=100), "cpu")[1],
    "jumps 200²": lambda: jumps(replace(QUICK, jump_grid=200), "cpu")[1],
    "convection 100², 0.5, upwind": lambda: matrices.convection_diffusion((100, 100), (0.5, 0.25)),
    "convection 100², 10, upwind": lambda: matrices.convection_diffusion((100, 100), (10.0, 3.0)),
    "convection 100², 1, central": lambda: matrices.convection_diffusion(
        (100, 100), (1.0, 0.5), scheme="central"
    ),
    "convection 100², 5, central": lambda: matrices.convection_diffusion(
        (100, 100), (5.0, 2.0), scheme="central"
    ),
    "convection 24³, 1, upwind": lambda: matrices.convection_diffusion((24,) * 3, (1.0, 0.5, 0.25)),
    "elasticity 60 x 15": lambda: matrices.elasticity((60, 15))[0],
    "elasticity 100 x 100": lambda: matrices.elasticity((100, 100))[0],
    "elasticity 20 x 8 x 8": lambda: matrices.elasticity((20, 8, 8))[0],
    "Helmholtz 60², 1 wavelength": lambda: helmholtz((60, 60), 1.0),
    "Helmholtz 100², 2 wavelengths": lambda: helmholtz((100, 100), 2.0),
    "Helmholtz 100², 4 wavelengths": lambda: helmholtz((100, 100), 4.0),
    "circuit 4000": lambda: circuit(4000),
    "circuit 40000": lambda: circuit(40000, 3),
    "controlled circuit 4000": lambda: controlled_circuit(4000),
    "dominant 5000, 0.5": lambda: dominant(5000, 0.5),
    "dominant 5000, 0.99": lambda: dominant(5000, 0.99),
    "triangulation 5000": lambda: graph(matrices.delaunay(5000)),
    "triangulation 30000, grounded": lambda: graph(matrices.delaunay(30000, weights="ones"), 1e-4),
    "geometric graph 5000": lambda: graph(matrices.random_geometric(5000)),
    "R-MAT 2^12": lambda: graph(matrices.rmat(12, 8), 1e-2),
    "R-MAT 2^14, grounded": lambda: graph(matrices.rmat(14, 8), 1.0),
    "badly scaled Poisson 80²": lambda: badly_scaled(matrices.poisson((80, 80)), 4.0),
    "badly scaled ANISO2 80²": lambda: badly_scaled(matrices.aniso(2, 80), 3.0),
    **{
        f"stand-in {name}/{shrink}": partial(matrices.standin, name, shrink=shrink)
        for name, shrink in (
            ("ecology1", 8),
            ("ecology2", 8),
            ("atmosmodd", 5),
            ("atmosmodj", 6),
            ("atmosmodl", 6),
            ("atmosmodm", 6),
            ("thermal2", 8),
            ("Transport", 8),
            ("StocF-1465", 6),
            ("CurlCurl_3", 8),
            ("CurlCurl_4", 10),
            ("Geo_1438", 6),
            ("Hook_1498", 6),
            ("Bump_2911", 8),
            ("Cube_Coup_dt0", 8),
            ("Long_Coup_dt0", 7),
        )
    },
}


def right_side(A: Any, kind: str = "sine") -> Any:
    """A times a smooth vector, so that singular systems are consistent; or times a random one."""
    n = A.shape[0]
    if kind == "random":
        return A @ np.random.default_rng(1).standard_normal(n)
    return A @ np.sin(16 * np.pi * np.arange(n) / n)
