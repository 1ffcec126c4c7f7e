"""Preconditioners for PETSc (extra ``petsc``): a class for ``-pc_type python``, of one rank or of all.

The module imports without petsc4py, which is needed to make a `PC`.
"""

from linforest_precond.distributed.petsc.matrices import distributed_matrix
from linforest_precond.distributed.petsc.preconditioner import PC

__all__ = ["PC", "distributed_matrix"]
