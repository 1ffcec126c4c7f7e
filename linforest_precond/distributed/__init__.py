"""Several ranks: one matrix, one forest, one solve over MPI, with the answers of one rank."""

from linforest_precond.distributed.communicator import Communicator, Counters, RankError
from linforest_precond.distributed.halo import Halo
from linforest_precond.distributed.matrix import Matrix
from linforest_precond.distributed.mpi import communicator_of
from linforest_precond.distributed.scatter import scatter
from linforest_precond.distributed.simulated import simulate

__all__ = [
    "Communicator",
    "Counters",
    "Halo",
    "Matrix",
    "RankError",
    "communicator_of",
    "scatter",
    "simulate",
]
