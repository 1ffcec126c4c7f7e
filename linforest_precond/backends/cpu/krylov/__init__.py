"""Krylov solvers: norms, sparse matrix-vector products, fused vector updates, scalar steps."""

from . import norms as norms
from . import spmv as spmv
from . import updates as updates
from . import vector_space as vector_space
