"""The matrices that are measured, their sizes, and how many samples are taken."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from linforest_precond import matrices, permute
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrices.generators.grids import ANISO2
from linforest_precond.records.forest import Bands


@dataclass(frozen=True)
class Plan:
    """Sizes, and numbers of samples. Grids and cubes: vertices along a side."""

    aniso: int = 2500
    cube: int = 200
    standin_shrink: int = 1
    hub_grid: int = 1000
    regular_cube: int = 100
    cpu_grid: int = 1259
    copied_bytes: int = 2**30
    short_repeats: int = 100
    chain_repeats: int = 30
    setup_repeats: int = 7
    cpu_repeats: int = 7
    small_grid: int = 100
    solved_cube: int = 128
    cpu_solver_grid: int = 300
    cpu_small_grid: int = 45  # 2,025 rows: calls are a few milliseconds
    small_setup_grid: int = 300
    wide_grid: int = 15_700  # 2.2e9 entries: their numbers need 64 bits
    iterations: int = 192  # of a solver on the small grid; fewer on larger systems
    solver_repeats: int = 10
    ordered_grid: int = 1000
    ordered_cube: int = 100
    ordered_points: int = 2**20
    graph_scale: int = 20
    graph_cube: int = 100
    path: int = 2**17
    largest_scale: int = 24
    multigrid_grid: int = 2048
    slanted_grid: int = 1500
    box_cube: int = 110
    system_cubes: tuple[int, ...] = (64, 128, 160)
    system_grid: int = 300
    jump_grid: int = 1500
    scaled_cubes: tuple[int, ...] = (100, 128, 160, 200, 256, 320, 390)
    scaled_repeats: int = 3
    beam: tuple[int, ...] = (176, 44, 44)  # nodes
    matched_rows: int = 10**6
    scipy_rows: tuple[int, int] = (30_000, 4096)  # SciPy's matching takes seconds for these
    busy_grid: int = 700
    stack: tuple[int, ...] = (1000, 25, 40)  # systems, and the grid of each
    large_grid: int = 1000  # about as many rows as the stack
    first_call_grids: tuple[int, ...] = (50, 300)
    first_calls: tuple[str, ...] = (
        "lf.tridiagonal",
        "lf.block_tridiagonal",
        "lf.multilevel",
        "lf.solvers.cg",
        "lf.solvers.bicgstab",
    )


FULL = Plan()
QUICK = Plan(
    aniso=40,
    cube=12,
    standin_shrink=16,
    hub_grid=30,
    regular_cube=10,
    cpu_grid=60,
    copied_bytes=2**20,
    short_repeats=5,
    chain_repeats=3,
    setup_repeats=2,
    cpu_repeats=2,
    small_grid=40,
    solved_cube=12,
    cpu_solver_grid=20,
    cpu_small_grid=12,
    small_setup_grid=20,
    wide_grid=30,
    iterations=32,
    solver_repeats=5,
    ordered_grid=30,
    ordered_cube=8,
    ordered_points=600,
    graph_scale=8,
    graph_cube=8,
    path=200,
    largest_scale=9,
    multigrid_grid=40,
    slanted_grid=30,
    box_cube=8,
    system_cubes=(6, 8, 10),
    system_grid=20,
    jump_grid=30,
    scaled_cubes=(6, 12),
    scaled_repeats=2,
    beam=(8, 3, 3),
    matched_rows=900,
    scipy_rows=(400, 100),
    busy_grid=30,
    stack=(10, 8, 5),
    large_grid=20,
    first_call_grids=(20,),
    first_calls=("lf.tridiagonal",),
)

# Relative residual of complete solves.
RTOL = 1e-8
# Right-hand sides of a solve with several.
COLUMNS = 8
# Edges drawn per vertex of an R-MAT graph.
EDGES_PER_VERTEX = 16
# Threads that the targets of the CPU rows are for: the whole chain, and batch Cuthill-McKee.
CPU_THREADS = 2
BATCH_THREADS = 16


def aniso2(plan, **options):
    return f"ANISO2 {plan.aniso}²", matrices.aniso(2, plan.aniso, **options)


def cube(plan, **options):
    return f"7-point {plan.cube}³", matrices.poisson((plan.cube,) * 3, **options)


def standin(name, plan, **options):
    """A generated matrix like one of the paper's."""
    return f"{name} (stand-in)", matrices.standin(name, shrink=plan.standin_shrink, **options)


# Long rows: elasticity by finite elements.
solid = functools.partial(standin, "Geo_1438")


SPEED_CASES = {"aniso2": aniso2, "cube": cube, "solid": solid}


def convection(plan, **options):
    """ANISO2 with convection along x: the pattern is symmetric, the magnitudes of the values are not."""
    weights = np.array(ANISO2)
    weights[1] += -0.1, 0.0, 0.1
    return f"ANISO2 {plan.aniso}² with convection (values not symmetric)", matrices.stencil(
        (plan.aniso,) * 2, weights, **options
    )


def upwind(plan, **options):
    """ANISO2 without its couplings to the right: the pattern is not symmetric."""
    weights = np.array(ANISO2)
    weights[1] += -0.2, 0.0, 0.2
    return f"ANISO2 {plan.aniso}² upwind (pattern not symmetric)", matrices.stencil(
        (plan.aniso,) * 2, weights, **options
    )


NONSYMMETRIC_CASES = (convection, upwind)


def small_grid(plan, **options):
    return f"5-point {plan.small_grid}²", matrices.poisson((plan.small_grid,) * 2, **options)


def solved_cube(plan, **options):
    return f"7-point {plan.solved_cube}³", matrices.poisson((plan.solved_cube,) * 3, **options)


def flow(plan, **options):
    """The same cube with convection along all axes, by central differences."""
    weights = np.zeros((3, 3, 3))
    weights[1, 1, 1] = 6
    for axis, speed in enumerate((0.2, 0.4, 0.8)):
        along_axis = np.moveaxis(weights, axis, 0)
        along_axis[0, 1, 1], along_axis[2, 1, 1] = -1 - speed / 2, -1 + speed / 2
    title = f"7-point {plan.solved_cube}³ with convection"
    return title, matrices.stencil((plan.solved_cube,) * 3, weights, **options)


def small_systems(plan):
    """Titles and matrices of few rows: two grids, a triangulation, and a pattern that is not symmetric."""
    side = plan.cpu_small_grid
    small = replace(plan, aniso=side, small_grid=side, ordered_points=side**2)
    yield from (case(small) for case in (aniso2, small_grid, mesh, upwind))


# The systems that are solved to RTOL, and their solver.
SOLVED_CASES = {aniso2: "cg", solved_cube: "cg", flow: "bicgstab"}


def hub(plan, **options):
    """A 5-point grid and one more vertex that is adjacent to all others, on the host."""
    grid = matrices.poisson((plan.hub_grid,) * 2, **options)
    spokes = sp.csr_array(np.full((grid.shape[0], 1), -1, grid.dtype))
    A = sp.csr_array(sp.block_array([[grid, spokes], [spokes.T, sp.csr_array([[grid.dtype.type(4)]])]]))
    A.sort_indices()
    return f"5-point {plan.hub_grid}² and one row of {grid.shape[0]:,}", A


def regular(plan, **options):
    """About as many rows and entries as `hub`."""
    return f"7-point {plan.regular_cube}³", matrices.poisson((plan.regular_cube,) * 3, **options)


def ordered_grid(plan):
    return f"5-point {plan.ordered_grid}²", matrices.poisson((plan.ordered_grid,) * 2)


def shuffled_cube(plan):
    A = matrices.poisson((plan.ordered_cube,) * 3)
    order = np.random.default_rng(0).permutation(A.shape[0])
    return f"7-point {plan.ordered_cube}³, shuffled", permute(A, order)


@functools.cache  # making it takes longer than the measurements
def triangulation(plan):
    """Delaunay triangulation of random points in a square."""
    return f"triangulation of {plan.ordered_points:,} points", matrices.delaunay(plan.ordered_points)


# On the host, as float64.
ORDERED_CASES = {"grid": ordered_grid, "shuffled cube": shuffled_cube, "triangulation": triangulation}


@functools.cache
def skewed(plan, symmetric=True):
    """An R-MAT graph: skewed degrees. On the host, like all graphs below."""
    title = f"R-MAT 2^{plan.graph_scale}{'' if symmetric else ', directed'}"
    return title, matrices.rmat(plan.graph_scale, EDGES_PER_VERTEX, symmetric=symmetric)


def graph_cube(plan):
    return f"7-point {plan.graph_cube}³", matrices.poisson((plan.graph_cube,) * 3)


def directed_cube(plan):
    """The cube with 30 % of its entries removed, independently for the two directions of an edge."""
    title, A = graph_cube(plan)
    A.data[np.random.default_rng(0).random(A.nnz) < 0.3] = 0
    A.eliminate_zeros()
    return f"{title}, directed", A


def weighted_cube(plan):
    """The cube's edges with random weights."""
    title, A = graph_cube(plan)
    upper = sp.triu(A, 1, format="csr")
    upper.data = np.random.default_rng(0).random(upper.nnz)
    return f"{title}, random weights", sp.csr_array(upper + upper.T)


def path(plan):
    return f"path of {plan.path:,}", matrices.poisson((plan.path,))


# The graphs, and the functions of lf.graph that run on each.
ON_ALL = (
    "connected_components",
    "minimum_spanning_tree",
    "breadth_first_order",
    "maximal_independent_set",
    "vertex_coloring",
)
GRAPH_CASES = {
    "R-MAT": (skewed, ON_ALL),
    "directed R-MAT": (functools.partial(skewed, symmetric=False), ("strongly_connected_components",)),
    "cube": (graph_cube, ON_ALL),
    "directed cube": (directed_cube, ("strongly_connected_components",)),
    "weighted cube": (weighted_cube, ("minimum_spanning_tree",)),
}
LEVELED_CASES = {"grid": ordered_grid, "cube": graph_cube, "path": path}
MATCHED_CASES = (aniso2, cube, skewed)


def multigrid_grid(plan, **options):
    return f"5-point {plan.multigrid_grid}²", matrices.poisson((plan.multigrid_grid,) * 2, **options)


def slanted_grid(plan, **options):
    """Anisotropic diffusion with the strong direction at 30 degrees to the grid lines."""
    shape = (plan.slanted_grid,) * 2
    A = matrices.anisotropic_diffusion(shape, theta=np.radians(30), epsilon=1e-3, **options)
    return f"anisotropic {plan.slanted_grid}², 30°", A


def box_cube(plan, **options):
    """A cube whose vertices are coupled to all 26 around them, with equal weights."""
    weights = np.full((3, 3, 3), -1.0)
    weights[1, 1, 1] = 26
    return f"27-point {plan.box_cube}³", matrices.stencil((plan.box_cube,) * 3, weights, **options)


def system_cube(number, plan, **options):
    return scaled_cube(plan.system_cubes[number], **options)


def scaled_cube(side, **options):
    return f"7-point {side}³", matrices.poisson((side,) * 3, **options)


def system_grid(plan, **options):
    return f"5-point {plan.system_grid}²", matrices.poisson((plan.system_grid,) * 2, **options)


def beam(plan, **options):
    """A beam of linear elasticity, clamped at one end."""
    A = matrices.elasticity(plan.beam, **options)[0]
    return f"elasticity {' x '.join(map(str, plan.beam))}", A


def lognormal(rows):
    """Six random entries a row, and those of a permutation, with lognormal magnitudes; on the host."""
    random = np.random.default_rng(0)
    i = np.concatenate([np.repeat(np.arange(rows), 6), np.arange(rows)])
    j = np.concatenate([random.integers(0, rows, 6 * rows), random.permutation(rows)])
    return sp.csr_array(sp.coo_array((random.lognormal(0.0, 2.0, i.size), (i, j)), shape=(rows, rows)))


def shuffled_grid(rows):
    """The 5-point grid with random weights and its rows in random order; on the host."""
    random = np.random.default_rng(0)
    A = matrices.poisson((round(rows**0.5),) * 2)
    A.data *= random.uniform(0.5, 1.0, A.nnz)
    return sp.csr_array(A[random.permutation(A.shape[0])])


# Matrices whose rows have to be matched to columns.
MATCHED_ROWS = {"lognormal": lognormal, "5-point grid, rows shuffled": shuffled_grid}


def jumps(plan, device=None):
    """Diffusion with coefficients 1 or 10^6, random in cells of 10 x 10 grid points; Dirichlet boundary.

    Finite volumes: harmonic means of the coefficients between two grid points.
    """
    n = plan.jump_grid
    cells = np.random.default_rng(0).choice([1.0, 1e6], (-(-n // 10),) * 2)
    values = np.kron(cells, np.ones((10, 10)))[:n, :n]
    numbers = np.arange(n * n, dtype=np.int32).reshape(n, n)
    pairs = [(np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])]
    first, second = (np.concatenate([numbers[pair[end]].ravel() for pair in pairs]) for end in (0, 1))
    left, right = values.ravel()[first], values.ravel()[second]
    edges = sp.coo_array((2 * left * right / (left + right), (first, second)), shape=(n * n,) * 2)
    border = np.zeros((n, n))
    for side in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        border[side] += 2 * values[side]
    return f"jumps of 10⁶, {n}²", laplacian(edges, border.ravel(), device)


def mesh(plan, device=None):
    """The Laplacian of a Delaunay triangulation, 1 added to one diagonal entry."""
    edges = sp.triu(matrices.delaunay(plan.ordered_points, weights="ones"), format="coo")
    grounded = np.zeros(plan.ordered_points)
    grounded[0] = 1
    return f"Laplacian of a triangulation, {plan.ordered_points:,} points", laplacian(edges, grounded, device)


def laplacian(edges, added, device):
    """The graph Laplacian of weighted edges, given once each, with `added` on the diagonal."""
    weights = sp.csr_array(edges + edges.T)
    A = sp.csr_array(sp.diags_array(weights.sum(axis=1) + added) - weights)
    A.sort_indices()
    return on_device(A, device)


def upwind_cube(plan, **options):
    """The solved cube with convection along all axes, by upwind differences."""
    weights = np.zeros((3, 3, 3))
    for axis, speed in enumerate((1.0, 0.5, 0.25)):
        along_axis = np.moveaxis(weights, axis, 0)
        along_axis[:, 1, 1] += -1 - speed, 2 + speed, -1
    title = f"7-point {plan.solved_cube}³ with convection, upwind"
    return title, matrices.stencil((plan.solved_cube,) * 3, weights, **options)


# The systems that are solved by multigrid, and their solver; the names are those of `targets.SYSTEMS`.
SYSTEMS = {
    "small cube": (functools.partial(system_cube, 0), "cg"),
    "cube": (functools.partial(system_cube, 1), "cg"),
    "large cube": (functools.partial(system_cube, 2), "cg"),
    "small grid": (system_grid, "cg"),
    "large grid": (multigrid_grid, "cg"),
    "aniso2": (aniso2, "cg"),
    "slanted grid": (slanted_grid, "cg"),
    "jumps": (jumps, "cg"),
    "mesh": (mesh, "cg"),
    "upwind cube": (upwind_cube, "bicgstab"),
}


def one_path(rows, dtype, xp=np):
    """The bands of a single path: (-1, 2, -1)."""
    lower, diagonal, upper = (xp.full(rows, value, dtype) for value in (-1, 2, -1))
    lower[0] = upper[-1] = 0
    return "one path (-1, 2, -1)", Bands(lower, diagonal, upper)


def needs_pivoting(rows, dtype, xp=np):
    """Random bands without diagonal dominance."""
    random = np.random.default_rng(0)
    lower, diagonal, upper = (xp.asarray(random.uniform(-1, 1, rows).astype(dtype)) for _ in range(3))
    lower[0] = upper[-1] = 0
    return "random bands", Bands(lower, diagonal, upper)


def right_sides(rows, columns, dtype):
    """Random right-hand sides, on the host."""
    return np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype)


def smooth_solution(rows):
    """The solution sin(16 π i / N) of the paper's systems, on the host."""
    return np.sin(16 * np.pi * np.arange(rows) / rows)


def backward_error(bands, b, x, xp=np) -> float:
    """max |b - T x| / (‖T‖∞ max |x| + max |b|), in double precision; b and x are single columns."""
    block = bands.diagonal.shape[-1] if bands.diagonal.ndim == 3 else 1
    lower, diagonal, upper = (
        band.astype("float64").reshape(-1, block, block)
        for band in (bands.lower, bands.diagonal, bands.upper)
    )
    b, x = (array.astype("float64").reshape(-1, block) for array in (b, x))
    residual = b - (diagonal * x[:, None, :]).sum(axis=2)
    residual[1:] -= (lower[1:] * x[:-1, None, :]).sum(axis=2)
    residual[:-1] -= (upper[:-1] * x[1:, None, :]).sum(axis=2)
    norm = sum(abs(band).sum(axis=2) for band in (lower, diagonal, upper)).max()
    return float(abs(residual).max() / (norm * abs(x).max() + abs(b).max()))


def cpu_grid(plan):
    return f"5-point {plan.cpu_grid}²", matrices.poisson((plan.cpu_grid,) * 2)


def stack(plan):
    """The pattern of the systems in a stack, and a factor for the values of each; on the host."""
    count, *shape = plan.stack
    A = matrices.poisson(tuple(shape))
    return f"{count:,} x 5-point {shape[0]} × {shape[1]}", A, np.linspace(1, 2, count)


def large_grid(plan):
    return f"5-point {plan.large_grid}²", matrices.poisson((plan.large_grid,) * 2)


def busy_grid(plan):
    return f"5-point {plan.busy_grid}²", matrices.poisson((plan.busy_grid,) * 2)


def cpu_solver_grid(plan):
    return f"5-point {plan.cpu_solver_grid}²", matrices.poisson((plan.cpu_solver_grid,) * 2)


def thousand_rows(plan):
    return "5-point 25 × 40", matrices.poisson((25, 40))


CPU_SOLVER_CASES = (cpu_solver_grid, thousand_rows)
