"""Krylov solvers with SciPy's signatures, on CPU and GPU: verified residuals, histories, named outcomes."""

from .bicgstab import bicgstab as bicgstab
from .cg import cg as cg
from .fcg import fcg as fcg
from .gmres import fgmres as fgmres
from .gmres import gmres as gmres
from .history import History as History
from .idrs import idrs as idrs
from .minres import minres as minres
from .status import Interrupted as Interrupted
from .status import Status as Status

__all__ = ["History", "Interrupted", "Status", "bicgstab", "cg", "fcg", "fgmres", "gmres", "idrs", "minres"]


def __dir__() -> list[str]:
    return __all__
