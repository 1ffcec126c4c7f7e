"""The target of each measured row: `goal`, and in places `dream`, a stretch target.

`Row` in results.py says what a target bounds: a ratio to the row's peer by default, where less is better.
"""

from __future__ import annotations

# Setup on the GPU, in SpMVs of the same matrix.
GATE = {"goal": 0.9, "dream": 0.6}
PROPOSITIONS = {1: {}, 2: {"goal": 1.3}, 3: {}, 4: {"goal": 2.0}}
CHAINS = {
    ("aniso2", "float64"): {"goal": 6.0, "dream": 5.0},
    ("cube", "float64"): {"goal": 9.0, "dream": 7.0},
    ("aniso2", "float32"): {"goal": 9.0},
    ("cube", "float32"): {"goal": 13.0},
    ("solid", "float64"): {"goal": 7.0, "dream": 5.0},
    ("solid", "float32"): {"goal": 9.0, "dream": 5.0},
}
# Peak memory beyond the matrix, in units of the matrix, at nine entries per row.
SYMMETRIC_MEMORY = {"goal": 1.5}
NONSYMMETRIC_MEMORY = {"goal": 4.0}
# A matrix with one very long row, in units of a regular one.
SKEW = {"goal": 3.0}

# Tridiagonal solves: speed relative to a copy of the same bytes, and relative to cuSPARSE.
FOREST_SOLVE = {"goal": 0.6, "dream": 0.85}
PATH_SOLVE = {"goal": 0.5, "dream": 0.7}
BLOCK_SOLVE = {"goal": 0.8}
# By whether both pivot.
BESIDE_CUSPARSE = {False: {"goal": 4.0}, True: {"goal": 3.0, "dream": 5.0}}
# Solves with `cases.COLUMNS` right-hand sides, in units of a solve with one.
MANY_COLUMNS = {"goal": 4.0, "dream": 3.0}

# Preconditioners of ANISO2, in SpMVs; of one with 64-bit indices, in milliseconds.
APPLY = {"float64": {"goal": 0.55, "dream": 0.45}}
SETUP = {
    ("tridiagonal", "float64"): {"goal": 7.0, "dream": 5.0},
    ("block_tridiagonal", "float64"): {"goal": 20.0, "dream": 14.0},
}
UPDATE = {
    ("tridiagonal", "float64"): {"goal": 2.2, "dream": 1.7},
    ("block_tridiagonal", "float64"): {"goal": 2.5},
}
WIDE_SETUP = {"goal": 130.0, "judged": "median"}
# Stacks of systems, in units of the time for one system of as many rows.
STACK = {"goal": 3.0, "dream": 1.2}

# Setups of stand-ins by precision and call, in SpMVs. The first four have 40 to 60 entries a row.
_BLOCKS = {"lf.block_tridiagonal(A)": {"goal": 25.0, "dream": 15.0}}
_LONG_ROWS = {
    "float64": {
        "lf.graph.factor(A, 2, iterations=1)": {"goal": 3.0, "dream": 2.0},
        "lf.graph.factor(A, 4, iterations=5)": {"goal": 12.0, "dream": 8.0},
        "lf.tridiagonal(A)": {"goal": 7.0, "dream": 5.0},
        **_BLOCKS,
    },
    "float32": {
        "lf.graph.factor(A, 2, iterations=1)": {"goal": 3.5, "dream": 2.5},
        "lf.graph.factor(A, 4, iterations=5)": {"goal": 12.0, "dream": 8.0},
        "lf.tridiagonal(A)": {"goal": 9.0, "dream": 5.0},
    },
}
_OTHERS = {"Long_Coup_dt0": 10.0, "thermal2": 9.0, "Transport": 12.0, "atmosmodd": 10.0}
STANDIN_SETUPS = {
    **dict.fromkeys(("Bump_2911", "Geo_1438", "Hook_1498", "Cube_Coup_dt0"), _LONG_ROWS),
    **{
        name: {"float64": {"lf.tridiagonal(A)": {"goal": goal, "dream": 7.0}, **_BLOCKS}}
        for name, goal in _OTHERS.items()
    },
}
# Of a small grid, of multigrid with line smoothers, and setup and solve of a 27-point stencil: milliseconds.
SMALL_SETUPS = {
    "lf.tridiagonal(A)": {"goal": 0.5, "dream": 0.3, "judged": "median"},
    "lf.block_tridiagonal(A)": {"goal": 2.0, "dream": 1.0, "judged": "median"},
    "lf.multilevel(A)": {"goal": 2.5, "dream": 1.5, "judged": "median"},
}
SMALL_UPDATE = {"goal": 0.15, "dream": 0.08, "judged": "median"}
LINE_SMOOTHERS = {"goal": 30.0, "dream": 20.0, "judged": "median"}
BOX_CUBE = {"goal": 28.0, "dream": 20.0, "judged": "median"}

# A product inside the solvers: speed relative to cupyx. The stretch target is the bound by bytes on ANISO2.
PRODUCT = {"goal": 1.3, "dream": 1.65, "judged": "speedup"}
# An iteration on the small grid: speed relative to cupyx. On ANISO2: time in units of cupyx's.
SMALL_ITERATION = {"goal": 8.0, "judged": "speedup"}
ITERATION = {"cg": {"goal": 0.75}, "bicgstab": {"goal": 0.62}}
# A preconditioned iteration in units of its products with A and M.
PRECONDITIONED_ITERATION = dict.fromkeys(("cg", "bicgstab"), {"goal": 1.1, "dream": 1.0})

# Cuthill-McKee orderings on the GPU from a given start vertex, in milliseconds: those of the published batch
# code. With the search for a pseudo-peripheral start vertex, in units of the time without.
ORDERINGS = {
    "grid": {"goal": 41.0},
    "shuffled cube": {"goal": 10.3},
    "triangulation": {"goal": 15.0},
}
START_SEARCH = {"goal": 2.5}

# Matchings of a graph on the device, in SpMVs; whole calls: speed relative to greedy matching on the CPU.
MATCHINGS = {"locally_dominant": {"goal": 12.0}, "suitor": {"goal": 8.0}}
BESIDE_GREEDY = {"goal": 20.0}
# Multigrid setup, and setup with solve: speed relative to PyAMG, and relative to other solvers.
SETUP_BESIDE_PYAMG = {"goal": 20.0}
SOLVED_BESIDE_PYAMG = {"goal": 15.0}
BESIDE_OTHER_SOLVERS = {"goal": 1.0}
# Multigrid setup and solve of `cases.SYSTEMS`, in milliseconds; of large and small ones also a setup and an
# iteration, in SpMVs or milliseconds; an update in units of a setup.
SYSTEMS = {
    name: {"goal": goal, "dream": dream, "judged": "median"}
    for name, goal, dream in (
        ("small cube", 12.0, 6.0),
        ("cube", 35.0, 20.0),
        ("large cube", 60.0, 35.0),
        ("small grid", 12.0, 6.0),
        ("large grid", 60.0, 40.0),
        ("aniso2", 100.0, 60.0),
        ("slanted grid", 100.0, 60.0),
        ("jumps", 60.0, None),
        ("mesh", 45.0, None),
        ("upwind cube", 60.0, None),
    )
}
SYSTEM_PARTS = {
    ("large grid", "setup", "products"): {"goal": 60.0, "dream": 40.0},
    ("large cube", "setup", "products"): {"goal": 60.0, "dream": 40.0},
    ("large grid", "iteration", "products"): {"goal": 7.0},
    ("large cube", "iteration", "products"): {"goal": 7.0},
    ("small grid", "setup", "ms"): {"goal": 5.0, "judged": "median"},
    ("small grid", "iteration", "ms"): {"goal": 0.25, "judged": "median"},
}
SYSTEM_UPDATE = {"goal": 0.33, "dream": 0.25}

# Applications of incomplete factors: speed relative to cupyx's. Setup of approximate inverses by entries of a
# row, in SpMVs. Matched rows: speed relative to SciPy's matching on the CPU.
FACTORS = {"auto": {"goal": 5.0}}
INVERSE_SETUP = {20: {"goal": 120.0, "dream": 80.0}}
MATCHED_ROWS = {"goal": 20.0}

# Graph algorithms on the GPU: speed relative to the CPU's library; and in SpMVs of the same matrix.
BESIDE_CPU = {"goal": 20.0, "judged": "speedup"}
# Instead of the first, for some: the speed, or the time in milliseconds.
GRAPHS = {
    ("cube", "maximal_independent_set"): {"goal": 30.0, "judged": "speedup"},
    ("R-MAT", "vertex_coloring"): {"goal": 5.0, "judged": "median"},
}
GRAPH_SPMVS = {
    **dict.fromkeys([(name, "connected_components") for name in ("R-MAT", "cube")], {"goal": 15.0}),
    **dict.fromkeys([(name, "maximal_independent_set") for name in ("R-MAT", "cube")], {"goal": 15.0}),
    **dict.fromkeys(
        [(name, "minimum_spanning_tree") for name in ("R-MAT", "cube", "weighted cube")], {"goal": 40.0}
    ),
    ("R-MAT", "breadth_first_order"): {"goal": 10.0},
}
# One level of a breadth-first search with a small frontier, in microseconds.
BFS_LEVEL = {"goal": 15.0, "judged": "median"}

# On the CPU: the whole chain in seconds; solves on one thread in units of LAPACK's; iterations and orderings
# in units of SciPy's; batch Cuthill-McKee on `cases.BATCH_THREADS` threads: speed relative to the serial one.
CPU_CHAIN = {"goal": 1.0, "judged": "median"}
# Setups for about 2,000 rows, in milliseconds.
CPU_SMALL_SETUPS = {
    "tridiagonal": {"goal": 1.5},
    "block_tridiagonal": {"goal": 4.0},
    "multilevel": {"goal": 6.0},
}
CPU_SOLVE = {"goal": 1.5}
CPU_ITERATION = {"goal": 1.0}
CPU_ORDERING = {"goal": 1.0}
CPU_BATCH = {"goal": 2.0}
# Calls beside busy processes, in units of their time on an idle machine.
BESIDE_BUSY_PROCESSES = {"goal": 3.0}

# The first call with empty caches, and that in the next process, in seconds.
FIRST_CALLS = {
    ("cpu", "first", "lf.tridiagonal"): {"goal": 5.0},
    ("cpu", "first", "lf.multilevel"): {"goal": 10.0},
    ("cpu", "first", "lf.solvers.cg"): {"goal": 3.0},
    ("cuda", "first", "lf.tridiagonal"): {"goal": 5.0},
    **{
        (device, "second", name): {"goal": 0.5}
        for device in ("cpu", "cuda")
        for name in ("lf.tridiagonal", "lf.multilevel", "lf.solvers.cg")
    },
}
