"""Krylov solvers with SciPy's signatures, on CPU and GPU: verified residuals, histories, named outcomes."""

from .bicgstab import bicgstab as bicgstab
from .cg import cg as cg
from .fcg import fcg as fcg
from .history import History as History
from .status import Status as Status

__all__ = ["History", "Status", "bicgstab", "cg", "fcg"]
