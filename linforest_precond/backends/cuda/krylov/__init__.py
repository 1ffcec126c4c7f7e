"""Krylov solvers: norms, sparse matrix-vector products, fused vector updates, scalar steps."""

from . import arnoldi as arnoldi
from . import exact_digits as exact_digits
from . import idr as idr
from . import norms as norms
from . import ordered_rows as ordered_rows
from . import spmv as spmv
from . import vector_space as vector_space
