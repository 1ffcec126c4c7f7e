"""Matrices, forests, preconditioners and solvers over MPI ranks, with the results of one rank.

Rooms, from the lowest: partition, forest, matching, tridiagonal, multigrid, approximate_inverse, chooser;
grid2d and petsc beside them.
"""

from linforest_precond.distributed import grid2d
from linforest_precond.distributed.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.distributed.chooser.auto import auto
from linforest_precond.distributed.forest.bands import bands
from linforest_precond.distributed.forest.block_forest import block_forest
from linforest_precond.distributed.forest.factor import factor
from linforest_precond.distributed.forest.linear_forest import linear_forest
from linforest_precond.distributed.forest.ordering import ForestOrder
from linforest_precond.distributed.forest.records import RankBlockForest, RankFactor, RankForest
from linforest_precond.distributed.matching.coarsening import RankCoarsening, coarsen
from linforest_precond.distributed.matching.matching import RankMatching, matching
from linforest_precond.distributed.multigrid.hierarchy import RankHierarchy
from linforest_precond.distributed.multigrid.multilevel import multilevel
from linforest_precond.distributed.partition.communicator import Communicator, Counters
from linforest_precond.distributed.partition.deadlocks import RankError
from linforest_precond.distributed.partition.exact_sums import inner
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.krylov import bicgstab, cg, fcg, fgmres, gmres, minres
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.mpi import communicator_of
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner
from linforest_precond.distributed.partition.redistribution import Redistribution
from linforest_precond.distributed.partition.scatter import scatter
from linforest_precond.distributed.partition.simulated import simulate
from linforest_precond.distributed.tridiagonal.operators import block_tridiagonal, ilu, jacobi, tridiagonal
from linforest_precond.distributed.tridiagonal.solver import RankTridiagonalSolver

__all__ = [
    "approximate_inverse",
    "auto",
    "bands",
    "bicgstab",
    "block_forest",
    "block_tridiagonal",
    "cg",
    "coarsen",
    "Communicator",
    "communicator_of",
    "Counters",
    "factor",
    "fcg",
    "fgmres",
    "ForestOrder",
    "gmres",
    "grid2d",
    "Halo",
    "ilu",
    "inner",
    "jacobi",
    "linear_forest",
    "matching",
    "Matrix",
    "minres",
    "multilevel",
    "RankBlockForest",
    "RankCoarsening",
    "RankError",
    "RankFactor",
    "RankForest",
    "RankHierarchy",
    "RankMatching",
    "RankPreconditioner",
    "RankTridiagonalSolver",
    "Redistribution",
    "scatter",
    "simulate",
    "tridiagonal",
]
