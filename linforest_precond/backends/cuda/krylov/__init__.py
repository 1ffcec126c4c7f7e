"""Krylov solvers: sparse matrix-vector products, fused vector updates, scalar steps."""

from . import spmv as spmv
from . import vector_space as vector_space
