"""Krylov solvers with SciPy's signatures, on CPU and GPU: verified residuals, histories, named outcomes."""

from linforest_precond.package_imports import suggest_names

from .bicgstab import bicgstab as bicgstab
from .cg import cg as cg
from .cg import fcg as fcg
from .gmres import fgmres as fgmres
from .gmres import gmres as gmres
from .history import History as History
from .idrs import idrs as idrs
from .minres import minres as minres
from .status import Interrupted as Interrupted
from .status import Status as Status

__all__ = ["History", "Interrupted", "Status", "bicgstab", "cg", "fcg", "fgmres", "gmres", "idrs", "minres"]
# Of SciPy, PyAMG and MATLAB.
OTHER_NAMES = {
    "bicg": "bicgstab", "cgs": "bicgstab", "qmr": "bicgstab", "tfqmr": "bicgstab", "bicgstabl": "bicgstab",
    "lgmres": "gmres", "gcrotmk": "fgmres", "pcg": "cg", "symmlq": "minres", "steepest_descent": "cg",
}  # fmt: skip
suggest_names(__name__, __all__, OTHER_NAMES)


def __dir__() -> list[str]:
    return __all__
