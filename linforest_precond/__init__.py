"""Preconditioners for sparse iterative solvers from linear forests of the matrix's graph, on GPU and CPU."""

from typing import TYPE_CHECKING

import linforest_precond.app.interrupts  # noqa: F401 - first: it handles Ctrl-C during later imports
from linforest_precond.package_imports import find_unlinked, lazy_names

# Imported when they are first used.
if TYPE_CHECKING:
    from linforest_precond import graph as graph
    from linforest_precond import matrices as matrices
    from linforest_precond import plots as plots
    from linforest_precond import similarity as similarity
    from linforest_precond import solvers as solvers
    from linforest_precond.app.configuration import show_config as show_config
    from linforest_precond.app.warm_up import warmup as warmup
    from linforest_precond.chooser.report import SolveReport as SolveReport
    from linforest_precond.chooser.solver import Solver as Solver
    from linforest_precond.chooser.solver import auto as auto
    from linforest_precond.chooser.solver import solve as solve
    from linforest_precond.graph.forest import pipeline as pipeline
    from linforest_precond.graph.forest.bands import extract_bands as extract_bands
    from linforest_precond.graph.forest.linear_forest import linear_forest as linear_forest
    from linforest_precond.graph.reordering.permute import permute as permute
    from linforest_precond.precond.approximate_inverse.approximate_inverse import (
        approximate_inverse as approximate_inverse,
    )
    from linforest_precond.precond.direct.direct import direct as direct
    from linforest_precond.precond.ilu.incomplete_lu import ilu as ilu
    from linforest_precond.precond.memory import MemoryEstimate as MemoryEstimate
    from linforest_precond.precond.memory import memory_estimate as memory_estimate
    from linforest_precond.precond.multigrid.hierarchy import Hierarchy as Hierarchy
    from linforest_precond.precond.multigrid.multilevel import multilevel as multilevel
    from linforest_precond.precond.multigrid.rigid_body_modes import rigid_body_modes as rigid_body_modes
    from linforest_precond.precond.preconditioner import Preconditioner as Preconditioner
    from linforest_precond.precond.relaxation.gauss_seidel import gauss_seidel as gauss_seidel
    from linforest_precond.precond.relaxation.jacobi import block_jacobi as block_jacobi
    from linforest_precond.precond.relaxation.jacobi import jacobi as jacobi
    from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling as MatrixScaling
    from linforest_precond.precond.scaling.scaling import scaling as scaling
    from linforest_precond.precond.storage.files import load_preconditioner as load_preconditioner
    from linforest_precond.precond.storage.files import save_preconditioner as save_preconditioner
    from linforest_precond.precond.storage.schema import PreconditionerFileError as PreconditionerFileError
    from linforest_precond.precond.tridiagonal.solver import BlockTridiagonalSolver as BlockTridiagonalSolver
    from linforest_precond.precond.tridiagonal.solver import TridiagonalSolver as TridiagonalSolver
    from linforest_precond.precond.tridiagonal.tridiagonal import block_tridiagonal as block_tridiagonal
    from linforest_precond.precond.tridiagonal.tridiagonal import tridiagonal as tridiagonal
    from linforest_precond.records.forest import Bands as Bands
    from linforest_precond.records.forest import BlockForest as BlockForest
    from linforest_precond.records.forest import Factor as Factor
    from linforest_precond.records.forest import Forest as Forest
    from linforest_precond.records.forest import Ordering as Ordering
    from linforest_precond.records.matching import Coarsening as Coarsening
    from linforest_precond.records.matching import CoarseningHierarchy as CoarseningHierarchy
    from linforest_precond.records.matching import HypergraphCoarsening as HypergraphCoarsening
    from linforest_precond.records.matching import Matching as Matching

__version__ = "0.2.0"
# Of SciPy, PyAMG and MATLAB.
OTHER_NAMES = {
    "mldivide": "solve", "lu": "direct", "ichol": "ilu", "pcg": "solvers.cg", "amg": "multilevel",
    "save": "save_preconditioner", "diag": "jacobi",
    "sor": "gauss_seidel", "ssor": "gauss_seidel", "fsai": "approximate_inverse",
    "spai": "approximate_inverse",
    "spsolve": "solve", "splu": "direct", "factorized": "direct", "spilu": "ilu", "multigrid": "multilevel",
    "smoothed_aggregation_solver": "multilevel", "ruge_stuben_solver": "multilevel", "gallery": "matrices",
    "rcm": "graph.reverse_cuthill_mckee",
}  # fmt: skip
find_unlinked()
__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, {"scale": "scaling"}, OTHER_NAMES)
