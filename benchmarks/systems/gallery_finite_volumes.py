"""Systems of the gallery that FiPy assembles.

Every function takes the cells along a side and returns an `Assembled`.
"""

from __future__ import annotations

import os

import numpy as np

from benchmarks.systems.assembled import Assembled, assembled

os.environ.setdefault("FIPY_SOLVERS", "scipy")
import fipy  # noqa: E402  (reads FIPY_SOLVERS)


def grid(cells, axes=2):
    names = "xyz"[:axes]
    sizes = {f"n{name}": cells for name in names} | {f"d{name}": 1 / cells for name in names}
    return (fipy.Grid2D if axes == 2 else fipy.Grid3D)(**sizes)


def triangles(cells):
    return fipy.Tri2D(nx=cells, ny=cells, dx=1 / cells, dy=1 / cells)


def graded(cells):
    """A grid whose cells become 100 times as thin towards two walls."""
    widths = np.geomspace(1, 100, cells)
    widths /= widths.sum()
    return fipy.Grid2D(dx=widths, dy=widths)


def system(first, second, note="") -> Assembled:
    """A and b of the first equation and A2 of the second, each given with its variable and time step."""
    A, b = matrix_and_side(*first)
    return assembled(A, b, matrix_and_side(*second)[0], note)


def matrix_and_side(equation, variable=None, step=None):
    equation.cacheMatrix()
    equation.cacheRHSvector()
    equation.justResidualVector(var=variable, dt=step)
    return equation.matrix.matrix.copy(), np.array(equation.RHSvector)


def rotation(mesh):
    """A wind around the middle of the square, at the faces."""
    x, y = mesh.faceCenters.value[:2] - 0.5
    return fipy.FaceVariable(mesh=mesh, rank=1, value=np.stack([y, -x, *np.zeros((mesh.dim - 2, x.size))]))


def between_walls(mesh):
    """A variable that is 1 at the left and 0 at the right."""
    variable = fipy.CellVariable(mesh=mesh)
    variable.constrain(1.0, mesh.facesLeft)
    variable.constrain(0.0, mesh.facesRight)
    return variable


def convection(mesh, term, diffusion) -> Assembled:
    wind, variable = rotation(mesh), between_walls(mesh)

    def equation(value):
        return term(coeff=wind) - fipy.DiffusionTerm(coeff=value) == 1.0

    note = f"rotating wind, diffusion {diffusion}; A2: twice as much"
    return system((equation(diffusion), variable), (equation(2 * diffusion), variable), note)


def anisotropic(cells, ratio) -> Assembled:
    """A diffusion tensor that is weak along y in the left half and along x in the right half."""
    mesh = grid(cells)
    variable = between_walls(mesh)
    is_left = mesh.faceCenters.value[0] < 0.5

    def equation(weak):
        along, across, zero = np.where(is_left, 1, weak), np.where(is_left, weak, 1), np.zeros(is_left.size)
        tensor = fipy.FaceVariable(mesh=mesh, rank=2, value=np.array([[along, zero], [zero, across]]))
        return -fipy.DiffusionTerm(coeff=[tensor]) == 1.0

    return system((equation(ratio), variable), (equation(2 * ratio), variable), f"ratio {ratio}")


def layers(cells) -> Assembled:
    """Ten layers in 3-D with random conductivities."""
    mesh = grid(cells, 3)
    variable = between_walls(mesh)
    layer = np.minimum((10 * mesh.cellCenters.value[2]).astype(int), 9)

    def equation(seed):
        values = 10.0 ** np.random.default_rng(seed).integers(-6, 1, 10)
        conductivity = fipy.CellVariable(mesh=mesh, value=values[layer])
        return -fipy.DiffusionTerm(coeff=conductivity.harmonicFaceValue) == 1.0

    return system((equation(0), variable), (equation(1), variable), "conductivities between 10⁻⁶ and 1")


def cahn_hilliard(cells, is_coupled) -> Assembled:
    """One step from a random start: of fourth order, or two equations of second order."""
    mesh = grid(cells)
    random = np.random.default_rng(0)
    phase = fipy.CellVariable(mesh=mesh, value=random.uniform(0.4, 0.6, cells**2), hasOld=True)
    width = 2 / cells
    slope = 2 * (1 - 6 * phase * (1 - phase))
    if not is_coupled:
        wells = fipy.DiffusionTerm(coeff=slope.arithmeticFaceValue)
        equation = fipy.TransientTerm() == wells - fipy.DiffusionTerm(coeff=(1.0, width**2))
        return system((equation, phase, 1e-4), (equation, phase, 2e-4), "fourth order")
    potential = fipy.CellVariable(mesh=mesh)
    flow = fipy.TransientTerm(var=phase) == fipy.DiffusionTerm(coeff=1.0, var=potential)
    wells = fipy.ImplicitSourceTerm(coeff=slope, var=phase) - fipy.DiffusionTerm(coeff=width**2, var=phase)
    equation = flow & (fipy.ImplicitSourceTerm(coeff=1.0, var=potential) == wells)
    return system((equation, None, 1e-4), (equation, None, 2e-4), "phase and potential")


def freezing(cells) -> Assembled:
    """A step of the phase field of a growing crystal, whose interface is sharp."""
    mesh = grid(cells)
    x, y = mesh.cellCenters.value - 0.5
    phase = fipy.CellVariable(mesh=mesh, value=0.5 - 0.5 * np.tanh((np.hypot(x, y) - 0.2) * cells / 4))
    drive = phase * (1 - phase) * cells**2

    def equation(mobility):
        growth = fipy.DiffusionTerm(coeff=mobility) + fipy.ImplicitSourceTerm(coeff=(phase - 0.3) * drive)
        return fipy.TransientTerm() == growth

    return system((equation(1.0), phase, 1e-4), (equation(1.5), phase, 1e-4), "interface of a few cells")


# The function, and the sizes of the small and of the medium system.
SYSTEMS = {
    "convection, upwind": (lambda n: convection(grid(n), fipy.UpwindConvectionTerm, 1e-3), 24, 160),
    "convection, exponential": (
        lambda n: convection(grid(n), fipy.ExponentialConvectionTerm, 1e-2), 24, 160,
    ),
    "convection, power law": (lambda n: convection(graded(n), fipy.PowerLawConvectionTerm, 1e-3), 24, 100),
    "convection, central": (
        lambda n: convection(grid(n), fipy.CentralDifferenceConvectionTerm, 1e-3), 24, 120,
    ),
    "convection, triangles": (lambda n: convection(triangles(n), fipy.HybridConvectionTerm, 1e-3), 12, 60),
    "convection 3-D, power law": (lambda n: convection(grid(n, 3), fipy.PowerLawConvectionTerm, 1e-3), 9, 36),
    "anisotropic tensor": (lambda n: anisotropic(n, 1e-3), 24, 200),
    "layers 3-D": (layers, 10, 60),
    "Cahn-Hilliard, fourth order": (lambda n: cahn_hilliard(n, False), 24, 100),
    "Cahn-Hilliard, coupled": (lambda n: cahn_hilliard(n, True), 20, 80),
    "freezing": (freezing, 24, 500),
}  # fmt: skip
