"""Systems of the gallery that scikit-fem assembles.

Every function takes the cells along a side, or the number of refinements, and returns an `Assembled`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import skfem
from skfem.helpers import ddot, dot, grad, sym_grad
from skfem.helpers import div as divergence
from skfem.models.elasticity import lame_parameters, linear_elasticity
from skfem.models.general import divu
from skfem.models.poisson import laplace, mass, unit_load, vector_laplace

from benchmarks.systems.assembled import Assembled, assembled


def square(cells, jitter=0.25):
    """Triangles of the unit square, its inner vertices displaced at random."""
    return displaced(skfem.MeshTri.init_tensor(*(np.linspace(0, 1, cells + 1),) * 2), cells, jitter)


def cube(cells, jitter=0.0):
    return displaced(skfem.MeshTet.init_tensor(*(np.linspace(0, 1, cells + 1),) * 3), cells, jitter)


def displaced(mesh, cells, jitter):
    points = mesh.p.copy()
    inner = mesh.interior_nodes()
    random = np.random.default_rng(0)
    points[:, inner] += random.uniform(-jitter / cells, jitter / cells, (points.shape[0], inner.size))
    return type(mesh)(points, mesh.t)


def inside(basis, A, b, A2=None, D=None, note=""):
    """The system without the unknowns of the boundary, or of `D`, which are 0."""
    fixed = basis.get_dofs() if D is None else D
    I = np.setdiff1d(np.arange(A.shape[0]), getattr(fixed, "all", lambda: fixed)())  # noqa: E741
    return assembled(A[I][:, I], b[I], None if A2 is None else A2[I][:, I], note)


@skfem.BilinearForm
def weighted_laplace(u, v, w):
    return w.weight * dot(grad(u), grad(v))


def blocks_of_coefficients(x, blocks, digits, seed):
    """A coefficient for each of `blocks` squares along an axis: 1 to 10^digits."""
    values = 10.0 ** np.random.default_rng(seed).uniform(0, digits, (blocks,) * x.shape[0])
    return values[tuple(np.minimum((blocks * x).astype(int), blocks - 1))]


def poisson(cells, element, axes=3) -> Assembled:
    basis = skfem.Basis(cube(cells) if axes == 3 else square(cells), element())
    A = laplace.assemble(basis)
    return inside(basis, A, unit_load.assemble(basis), A + mass.assemble(basis), note="A2 with reaction")


def jumping_coefficients(cells) -> Assembled:
    basis = skfem.Basis(square(cells), skfem.ElementTriP1())

    def stiffness(seed):
        weight = blocks_of_coefficients(basis.global_coordinates().value, 10, 6, seed)
        return weighted_laplace.assemble(basis, weight=weight)

    note = "coefficients between 1 and 10⁶ on 10 x 10 squares"
    return inside(basis, stiffness(0), unit_load.assemble(basis), stiffness(1), note=note)


def adaptive_corner(refinements) -> Assembled:
    """The L-shaped domain, refined towards its reentrant corner."""
    mesh = skfem.MeshTri.init_lshaped().refined(3)
    for _ in range(refinements):
        distance = np.linalg.norm(mesh.p[:, mesh.t].mean(axis=1), axis=0)
        mesh = mesh.refined(np.argsort(distance)[: mesh.t.shape[1] // 4])
    basis = skfem.Basis(mesh, skfem.ElementTriP2())
    note = "quadratic elements, L-shaped domain, refined towards the corner"
    return inside(basis, laplace.assemble(basis), unit_load.assemble(basis), note=note)


def heat_step(cells) -> Assembled:
    """An implicit Euler step with quadratic elements."""
    basis = skfem.Basis(square(cells), skfem.ElementTriP2())
    K, M = laplace.assemble(basis), mass.assemble(basis)
    return inside(basis, M + 1e-3 * K, unit_load.assemble(basis), M + 2e-3 * K, note="A2: twice the step")


def elasticity(cells, element, axes, poisson_ratio=0.3) -> Assembled:
    """A block that is clamped at x = 0 and pulled down by its weight."""
    mesh = cube(cells) if axes == 3 else square(cells)
    basis = skfem.Basis(mesh, skfem.ElementVector(element()))

    def stiffness(ratio):
        return linear_elasticity(*lame_parameters(1.0, ratio)).assemble(basis)

    @skfem.LinearForm
    def weight(v, w):
        return -v[axes - 1]

    clamped = basis.get_dofs(mesh.facets_satisfying(lambda x: x[0] == 0))
    A2 = stiffness(poisson_ratio - 0.05)
    return inside(
        basis, stiffness(poisson_ratio), weight.assemble(basis), A2, clamped, f"ratio {poisson_ratio}"
    )


def helmholtz(cells, wavenumber, element=skfem.ElementTriP1) -> Assembled:
    """-Δu - k²u on the unit square; the first resonance is k = π √2."""
    basis = skfem.Basis(square(cells), element())
    K, M = laplace.assemble(basis), mass.assemble(basis)
    b = unit_load.assemble(basis)
    return inside(basis, K - wavenumber**2 * M, b, K - (0.95 * wavenumber) ** 2 * M, note=f"k = {wavenumber}")


def absorbing_helmholtz(cells, wavenumber) -> Assembled:
    """The same with absorption and an impedance boundary: complex symmetric."""
    mesh = square(cells)
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    K, M = laplace.assemble(basis), mass.assemble(basis)
    S = mass.assemble(skfem.FacetBasis(mesh, skfem.ElementTriP1()))

    def operator(k):
        return K - k**2 * (1 + 0.05j) * M - 1j * k * S

    b = basis.point_source(np.array([0.3, 0.4])).astype(complex)
    return assembled(operator(wavenumber), b, operator(0.95 * wavenumber), f"k = {wavenumber}, impedance")


def stokes(cells, element=skfem.ElementTriP2, wind=0.0) -> Assembled:
    """Flow through a channel with Taylor-Hood elements; with `wind`, Oseen's equations, not symmetric."""
    mesh = square(cells)
    velocity = skfem.Basis(mesh, skfem.ElementVector(element()), intorder=5)
    pressure = velocity.with_element(skfem.ElementTriP1())

    @skfem.BilinearForm
    def convection(u, v, w):
        along = 4 * w.x[1] * (1 - w.x[1])
        return along * (v[0] * u.grad[0][0] + v[1] * u.grad[1][0])

    B = -divu.assemble(velocity, pressure)
    K, N = vector_laplace.assemble(velocity), convection.assemble(velocity)

    def operator(viscosity):
        return sp.block_array([[viscosity * K + wind * N, B.T], [B, None]], format="csr")

    walls = velocity.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 1)).all()
    inlet = np.zeros(velocity.N + pressure.N)
    x, y = velocity.doflocs
    along = np.isin(np.arange(velocity.N), velocity.split_indices()[0]) & (x == 0)
    inlet[: velocity.N] = np.where(along, 4 * y * (1 - y), 0)
    A, A2 = operator(1.0), operator(1.2)
    note = "zero block of the pressure" + (f", wind {wind}" if wind else "")
    return inside(None, A, -(A @ inlet), A2, walls, note)


def mixed_poisson(cells, element, constants, mesh) -> Assembled:
    """Fluxes of Raviart and Thomas with piecewise constant pressures: a saddle point."""
    flux = skfem.Basis(mesh(cells), element(), intorder=2)
    pressure = flux.with_element(constants())

    @skfem.BilinearForm
    def product(u, v, w):
        return dot(u, v) * w.weight

    @skfem.BilinearForm
    def source(u, q, w):
        return divergence(u) * q

    B = source.assemble(flux, pressure)

    def operator(seed):
        weight = blocks_of_coefficients(flux.global_coordinates().value, 4, 2, seed)
        return sp.block_array([[product.assemble(flux, weight=weight), B.T], [B, None]], format="csr")

    b = np.concatenate([np.zeros(flux.N), -unit_load.assemble(pressure)])
    return assembled(operator(0), b, operator(1), "coefficients between 1 and 100")


def biharmonic(cells) -> Assembled:
    """A clamped plate with Morley elements."""
    mesh = square(cells)
    basis = skfem.Basis(mesh, skfem.ElementTriMorley())

    @skfem.BilinearForm
    def bending(u, v, w):
        return ddot(u.hess, v.hess)

    A = bending.assemble(basis)
    A2 = A + 10 * laplace.assemble(basis)
    return inside(basis, A, unit_load.assemble(basis), A2, note="Morley elements; A2 with tension")


def curl_curl(cells, reaction) -> Assembled:
    """Edge elements in a cube: a large near null space."""
    basis = skfem.Basis(cube(cells), skfem.ElementTetN0())

    @skfem.BilinearForm
    def form(E, F, w):
        return dot(E.curl, F.curl) + w.reaction * dot(E, F)

    @skfem.LinearForm
    def current(F, w):
        return F[2] * np.sin(np.pi * w.x[0])

    A, A2 = (form.assemble(basis, reaction=value) for value in (reaction, 2 * reaction))
    return inside(basis, A, current.assemble(basis), A2, note=f"edge elements, reaction {reaction}")


def discontinuous(cells) -> Assembled:
    """Discontinuous Galerkin with a symmetric interior penalty."""
    mesh = square(cells, 0.15)
    basis = skfem.Basis(mesh, skfem.ElementTriDG(skfem.ElementTriP1()))
    sides = [skfem.InteriorFacetBasis(mesh, basis.elem, side=side) for side in (0, 1)]
    boundary = skfem.FacetBasis(mesh, basis.elem)

    @skfem.BilinearForm
    def penalty(u, v, w):
        first, second = w.idx
        mean_u, mean_v = dot(w.n, grad(u)) / 2, dot(w.n, grad(v)) / 2
        jump_u, jump_v = (-1.0) ** first * u, (-1.0) ** second * v
        return w.penalty * jump_u * jump_v / w.h - mean_u * jump_v - mean_v * jump_u

    @skfem.BilinearForm
    def nitsche(u, v, w):
        return w.penalty * u * v / w.h - dot(w.n, grad(u)) * v - dot(w.n, grad(v)) * u

    def operator(weight):
        faces = skfem.asm(penalty, sides, sides, penalty=weight)
        return laplace.assemble(basis) + faces + nitsche.assemble(boundary, penalty=weight)

    return assembled(operator(10.0), unit_load.assemble(basis), operator(20.0), "linear elements, penalty 10")


def convection(cells, diffusion) -> Assembled:
    """A rotating wind with linear elements and streamline diffusion."""
    basis = skfem.Basis(square(cells), skfem.ElementTriP1())

    @skfem.BilinearForm
    def form(u, v, w):
        x, y = w.x
        wind = np.array([y - 0.5, 0.5 - x])
        along_u, along_v = dot(wind, grad(u)), dot(wind, grad(v))
        return w.diffusion * dot(grad(u), grad(v)) + along_u * v + w.h * along_u * along_v

    A, A2 = (form.assemble(basis, diffusion=value) for value in (diffusion, 2 * diffusion))
    return inside(basis, A, unit_load.assemble(basis), A2, note=f"diffusion {diffusion}")


def soft_band(cells) -> Assembled:
    """Elasticity in 2-D whose stiffness falls by 10⁴ in a shear band."""
    mesh = square(cells)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP1()))

    @skfem.BilinearForm
    def form(u, v, w):
        in_band = np.abs(w.x[0] - w.x[1]) < 0.05
        return np.where(in_band, w.soft, 1.0) * ddot(sym_grad(u), sym_grad(v))

    @skfem.LinearForm
    def weight(v, w):
        return -v[1]

    clamped = basis.get_dofs(mesh.facets_satisfying(lambda x: x[1] == 0))
    A, A2 = (form.assemble(basis, soft=value) for value in (1e-4, 1e-3))
    return inside(basis, A, weight.assemble(basis), A2, clamped, "a soft band")


# The function, and the sizes of the small and of the medium system.
SYSTEMS = {
    "Poisson, P1 tetrahedra": (lambda n: poisson(n, skfem.ElementTetP1), 10, 42),
    "Poisson, P2 tetrahedra": (lambda n: poisson(n, skfem.ElementTetP2), 5, 14),
    "Poisson, P3 triangles": (lambda n: poisson(n, skfem.ElementTriP3, axes=2), 8, 36),
    "jumping coefficients": (jumping_coefficients, 30, 150),
    "Poisson, L-shape": (adaptive_corner, 0, 7),
    "heat step, P2": (heat_step, 15, 64),
    "elasticity 2-D, P1": (lambda n: elasticity(n, skfem.ElementTriP1, 2), 16, 90),
    "elasticity 2-D, P2, 0.49": (lambda n: elasticity(n, skfem.ElementTriP2, 2, 0.49), 8, 36),
    "elasticity 3-D, P1": (lambda n: elasticity(n, skfem.ElementTetP1, 3), 5, 17),
    "elasticity 3-D, P2": (lambda n: elasticity(n, skfem.ElementTetP2, 3), 3, 6),
    "shear band": (soft_band, 16, 80),
    "Stokes 2-D": (stokes, 8, 32),
    "Oseen 2-D": (lambda n: stokes(n, wind=100.0), 8, 28),
    "Helmholtz below resonance": (lambda n: helmholtz(n, 4.0), 24, 140),
    "Helmholtz above resonance": (lambda n: helmholtz(n, 15.0), 24, 120),
    "Helmholtz, P2": (lambda n: helmholtz(n, 40.0, skfem.ElementTriP2), 14, 50),
    "Helmholtz, absorbing": (lambda n: absorbing_helmholtz(n, 30.0), 24, 100),
    "mixed Poisson 2-D": (
        lambda n: mixed_poisson(n, skfem.ElementTriRT0, skfem.ElementTriP0, square), 12, 60,
    ),
    "mixed Poisson 3-D": (
        lambda n: mixed_poisson(n, skfem.ElementTetRT0, skfem.ElementTetP0, cube), 4, 12,
    ),
    "biharmonic": (biharmonic, 14, 50),
    "curl-curl": (lambda n: curl_curl(n, 0.01), 6, 20),
    "discontinuous Galerkin": (discontinuous, 12, 48),
    "convection, streamline diffusion": (lambda n: convection(n, 1e-4), 24, 130),
}  # fmt: skip
