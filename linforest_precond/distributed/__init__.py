"""Matrices, forests, preconditioners and solvers over MPI ranks, with the results of one rank.

Rooms, from the lowest: partition, forest, matching, tridiagonal, multigrid, approximate_inverse, chooser;
grid2d and petsc beside them.
"""

from types import ModuleType as _ModuleType

from linforest_precond.distributed import grid2d as grid2d
from linforest_precond.distributed.approximate_inverse.approximate_inverse import (
    approximate_inverse as approximate_inverse,
)
from linforest_precond.distributed.chooser.auto import auto as auto
from linforest_precond.distributed.forest.bands import bands as bands
from linforest_precond.distributed.forest.block_forest import block_forest as block_forest
from linforest_precond.distributed.forest.factor import factor as factor
from linforest_precond.distributed.forest.linear_forest import linear_forest as linear_forest
from linforest_precond.distributed.forest.ordering import ForestOrder as ForestOrder
from linforest_precond.distributed.forest.records import RankBlockForest as RankBlockForest
from linforest_precond.distributed.forest.records import RankFactor as RankFactor
from linforest_precond.distributed.forest.records import RankForest as RankForest
from linforest_precond.distributed.matching.coarsening import RankCoarsening as RankCoarsening
from linforest_precond.distributed.matching.coarsening import coarsen as coarsen
from linforest_precond.distributed.matching.matching import RankMatching as RankMatching
from linforest_precond.distributed.matching.matching import matching as matching
from linforest_precond.distributed.multigrid.hierarchy import RankHierarchy as RankHierarchy
from linforest_precond.distributed.multigrid.multilevel import multilevel as multilevel
from linforest_precond.distributed.partition.communicator import Communicator as Communicator
from linforest_precond.distributed.partition.communicator import Counters as Counters
from linforest_precond.distributed.partition.deadlocks import RankError as RankError
from linforest_precond.distributed.partition.exact_sums import inner as inner
from linforest_precond.distributed.partition.halo import Halo as Halo
from linforest_precond.distributed.partition.krylov import bicgstab as bicgstab
from linforest_precond.distributed.partition.krylov import cg as cg
from linforest_precond.distributed.partition.krylov import fcg as fcg
from linforest_precond.distributed.partition.krylov import fgmres as fgmres
from linforest_precond.distributed.partition.krylov import gmres as gmres
from linforest_precond.distributed.partition.krylov import minres as minres
from linforest_precond.distributed.partition.matrix import Matrix as Matrix
from linforest_precond.distributed.partition.mpi import communicator_of as communicator_of
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner as RankPreconditioner
from linforest_precond.distributed.partition.redistribution import Redistribution as Redistribution
from linforest_precond.distributed.partition.scatter import scatter as scatter
from linforest_precond.distributed.partition.simulated import simulate as simulate
from linforest_precond.distributed.tridiagonal.operators import block_tridiagonal as block_tridiagonal
from linforest_precond.distributed.tridiagonal.operators import ilu as ilu
from linforest_precond.distributed.tridiagonal.operators import jacobi as jacobi
from linforest_precond.distributed.tridiagonal.operators import tridiagonal as tridiagonal
from linforest_precond.distributed.tridiagonal.solver import RankTridiagonalSolver as RankTridiagonalSolver

# The functions and classes, without the rooms that they are defined in.
__all__ = [name for name, value in sorted(globals().items()) if not isinstance(value, _ModuleType)]
__all__ = ["grid2d", *(name for name in __all__ if not name.startswith("_"))]
