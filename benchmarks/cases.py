"""What is measured: the matrices, how large, how often, and what should come out."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from linforest_precond import matrices, permute
from linforest_precond.matrices.grids import ANISO2
from linforest_precond.records import Bands


@dataclass(frozen=True)
class Plan:
    """Sizes and numbers of samples."""

    aniso: int = 2500  # vertices along a side
    cube: int = 200
    hub_grid: int = 1000
    regular_cube: int = 100
    cpu_grid: int = 1259
    copied_bytes: int = 2**30
    short_repeats: int = 100
    chain_repeats: int = 30
    cpu_repeats: int = 7
    small_grid: int = 100
    solved_cube: int = 128
    cpu_solver_grid: int = 300
    iterations: int = 192  # of a solver on the small grid, fewer where they take longer
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


FULL = Plan()
QUICK = Plan(40, 12, 30, 10, 60, 2**20, 5, 3, 2, 40, 12, 20, 32, 5, 30, 8, 600, 8, 8, 200, 9, 40, 30)

# How far systems are solved to the end.
RTOL = 1e-8

# The most that each should take, and what is dreamt of, in SpMVs of the same matrix.
GATE = {"goal": 1.0}
PROPOSITIONS = {1: {}, 2: {"goal": 1.3}, 3: {}, 4: {"goal": 2.0}}
CHAINS = {
    ("aniso2", "float64"): {"goal": 8.0, "dream": 5.0},
    ("cube", "float64"): {"goal": 14.0, "dream": 10.0},
}
# Extra memory, in units of the matrix itself; at nine entries a row.
SYMMETRIC_MEMORY = {"goal": 1.5}
NONSYMMETRIC_MEMORY = {"goal": 4.0}
# One long row against a regular graph.
SKEW = {"goal": 3.0}
# Tridiagonal solves, as a share of the speed of a copy of their words, and as a multiple of cuSPARSE's speed.
FOREST_SOLVE = {"goal": 0.6, "dream": 0.85}
PATH_SOLVE = {"goal": 0.45}
BLOCK_SOLVE = {"goal": 0.5}
BESIDE_CUSPARSE = {"goal": 4.0}
# So many right-hand sides in times of one.
COLUMNS = 8
MANY_COLUMNS = {"goal": 5.0}
# Preconditioners of ANISO2 in SpMVs.
PRODUCT = {"float64": {"goal": 0.6}}
SETUP = {("tridiagonal", "float64"): {"goal": 9.0}, ("block_tridiagonal", "float64"): {"goal": 25.0}}
UPDATE = {("tridiagonal", "float64"): {"goal": 2.0}}
# A solve on one thread in times of LAPACK's.
CPU_SOLVE = {"goal": 1.5}
# An iteration on the small grid, as a multiple of the speed of cupyx's; on ANISO2, in times of cupyx's.
SMALL_ITERATION = {"goal": 8.0, "judged": "speedup"}
ITERATION = {"cg": {"goal": 0.75}, "bicgstab": {"goal": 0.62}}
# An iteration with a preconditioner in times of its products with A and M alone.
PRECONDITIONED_ITERATION = {"cg": {}, "bicgstab": {"goal": 1.35}}
# An iteration on the CPU in times of SciPy's.
CPU_ITERATION = {"goal": 1.0}
# An order in times of SciPy's; batches on so many threads as a multiple of the speed of one.
CPU_ORDER = {"goal": 1.0}
BATCH_THREADS = 16
CPU_BATCHES = {"goal": 2.0}
# Milliseconds of an order on the GPU from a given vertex, those of the published batch code, and with the
# search for that vertex in times of it.
ORDERS = {
    "grid": {"goal": 41.0},
    "shuffled cube": {"goal": 10.3},
    "triangulation": {"goal": 15.0},
}
SEARCHED = {"goal": 2.5}
# Matchings of a graph in SpMVs; whole calls as a multiple of the speed of the greedy one on the CPU.
MATCHINGS = {"locally_dominant": {"goal": 12.0}, "suitor": {"goal": 8.0}}
BESIDE_GREEDY = {"goal": 20.0}
# A hierarchy's setup, and that with the solve, as multiples of the speed of PyAMG's and of other solvers.
SETUP_BESIDE_PYAMG = {"goal": 20.0}
SOLVED_BESIDE_PYAMG = {"goal": 15.0}
AHEAD = {"goal": 1.0}
# Graph kernels on the GPU as a multiple of the speed of the CPU's library, and in SpMVs of the same matrix.
BESIDE_CPU = {"goal": 20.0, "judged": "speedup"}
GRAPH_PRODUCTS = {
    **dict.fromkeys([(name, "connected_components") for name in ("R-MAT", "cube")], {"goal": 15.0}),
    **dict.fromkeys([(name, "maximal_independent_set") for name in ("R-MAT", "cube")], {"goal": 15.0}),
    **dict.fromkeys(
        [(name, "minimum_spanning_tree") for name in ("R-MAT", "cube", "weighted cube")], {"goal": 40.0}
    ),
    ("R-MAT", "breadth_first_order"): {"goal": 10.0},
}
# Microseconds of a level with a small front.
LEVEL = {"goal": 15.0, "judged": "median"}
EDGES_PER_VERTEX = 16
# Seconds on so many threads.
CPU_THREADS = 2
CPU_CHAIN = {"goal": 1.0, "judged": "median"}


def aniso2(plan, **options):
    return f"ANISO2 {plan.aniso}²", matrices.aniso(2, plan.aniso, **options)


def cube(plan, **options):
    return f"7-point {plan.cube}³", matrices.poisson((plan.cube,) * 3, **options)


SPEED_CASES = {"aniso2": aniso2, "cube": cube}


def convection(plan, **options):
    """ANISO2 with a flow along x: the magnitudes of the values are not symmetric, the pattern is."""
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
    """The same cube with a flow across all axes, in central differences."""
    weights = np.zeros((3, 3, 3))
    weights[1, 1, 1] = 6
    for axis, speed in enumerate((0.2, 0.4, 0.8)):
        beside = np.moveaxis(weights, axis, 0)
        beside[0, 1, 1], beside[2, 1, 1] = -1 - speed / 2, -1 + speed / 2
    title = f"7-point {plan.solved_cube}³ with convection"
    return title, matrices.stencil((plan.solved_cube,) * 3, weights, **options)


# What is solved to the end, and by which solver.
SOLVED_CASES = {aniso2: "cg", solved_cube: "cg", flow: "bicgstab"}


def hub(plan, **options):
    """A 5-point grid and one more vertex that is joined to all others, on the host."""
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


@functools.cache  # it takes longer than all that is measured on it
def triangulation(plan):
    """Random points in a square, each joined to its neighbours."""
    return f"triangulation of {plan.ordered_points:,} points", matrices.delaunay(plan.ordered_points)


# On the host, as float64.
ORDERED_CASES = {"grid": ordered_grid, "shuffled cube": shuffled_cube, "triangulation": triangulation}


@functools.cache
def skewed(plan, symmetric=True):
    """On the host, like all graphs that follow."""
    title = f"R-MAT 2^{plan.graph_scale}{'' if symmetric else ', directed'}"
    return title, matrices.rmat(plan.graph_scale, EDGES_PER_VERTEX, symmetric=symmetric)


def graph_cube(plan):
    return f"7-point {plan.graph_cube}³", matrices.poisson((plan.graph_cube,) * 3)


def directed_cube(plan):
    """The cube without three in ten of its entries, each direction by itself."""
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


# What runs on which graph.
ON_ALL = "connected_components", "minimum_spanning_tree", "breadth_first_order", "maximal_independent_set"
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
    """Strong couplings at 30 degrees to the grid, where no line of the grid follows them."""
    shape = (plan.slanted_grid,) * 2
    A = matrices.anisotropic_diffusion(shape, theta=np.radians(30), epsilon=1e-3, **options)
    return f"anisotropic {plan.slanted_grid}², 30°", A


def one_path(rows, dtype, xp=np):
    """The bands of a single path: (-1, 2, -1)."""
    lower, diagonal, upper = (xp.full(rows, value, dtype) for value in (-1, 2, -1))
    lower[0] = upper[-1] = 0
    return "one path (-1, 2, -1)", Bands(lower, diagonal, upper)


def needs_pivoting(rows, dtype, xp=np):
    """Random bands, not dominant at all."""
    random = np.random.default_rng(0)
    lower, diagonal, upper = (xp.asarray(random.uniform(-1, 1, rows).astype(dtype)) for _ in range(3))
    lower[0] = upper[-1] = 0
    return "random bands", Bands(lower, diagonal, upper)


def right_sides(rows, columns, dtype):
    """Random right-hand sides, on the host."""
    return np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype)


def smooth_solution(rows):
    """A solution of eight waves, on the host."""
    return np.sin(16 * np.pi * np.arange(rows) / rows)


def backward_error(bands, b, x, xp=np) -> float:
    """max |b - T x| beside |T| max |x| + max |b|, in double precision; b and x are single columns."""
    block = bands.diagonal.shape[-1] if bands.diagonal.ndim == 3 else 1
    lower, diagonal, upper = (
        band.astype("float64").reshape(-1, block, block)
        for band in (bands.lower, bands.diagonal, bands.upper)
    )
    b, x = (array.astype("float64").reshape(-1, block) for array in (b, x))
    residual = b - (diagonal * x[:, None, :]).sum(axis=2)
    residual[1:] -= (lower[1:] * x[:-1, None, :]).sum(axis=2)
    residual[:-1] -= (upper[:-1] * x[1:, None, :]).sum(axis=2)
    size = sum(abs(band).sum(axis=2) for band in (lower, diagonal, upper)).max()
    return float(abs(residual).max() / (size * abs(x).max() + abs(b).max()))


def cpu_grid(plan):
    return f"5-point {plan.cpu_grid}²", matrices.poisson((plan.cpu_grid,) * 2)


def cpu_solver_grid(plan):
    return f"5-point {plan.cpu_solver_grid}²", matrices.poisson((plan.cpu_solver_grid,) * 2)


def thousand_rows(plan):
    return "5-point 25 × 40", matrices.poisson((25, 40))


CPU_SOLVER_CASES = (cpu_solver_grid, thousand_rows)
