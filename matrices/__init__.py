"""Test matrices: by name, generated, and the catalogue of the paper's matrices."""

from linforest_precond.matrix.block_diagonal import block_diagonal as block_diagonal
from linforest_precond.package_imports import suggest_names

from .catalogue import PaperMatrix as PaperMatrix
from .catalogue import catalogue as catalogue
from .describe import Description as Description
from .describe import describe as describe
from .download.places import MatrixNotAvailable as MatrixNotAvailable
from .download.places import MatrixOffline as MatrixOffline
from .download.places import UnknownMatrix as UnknownMatrix
from .generators.diffusion import anisotropic_diffusion as anisotropic_diffusion
from .generators.diffusion import convection_diffusion as convection_diffusion
from .generators.elasticity import elasticity as elasticity
from .generators.grids import aniso as aniso
from .generators.grids import poisson as poisson
from .generators.grids import stencil as stencil
from .generators.mycielskian import mycielskian as mycielskian
from .generators.network_packets import packets as packets
from .generators.random_graphs import delaunay as delaunay
from .generators.random_graphs import dense_rows as dense_rows
from .generators.random_graphs import random_geometric as random_geometric
from .generators.random_graphs import rmat as rmat
from .generators.standins import StandIn as StandIn
from .generators.standins import standin as standin
from .generators.standins import standin_info as standin_info
from .generators.standins import standins as standins
from .load import load as load

__all__ = [
    "Description",
    "MatrixNotAvailable",
    "MatrixOffline",
    "PaperMatrix",
    "StandIn",
    "UnknownMatrix",
    "aniso",
    "anisotropic_diffusion",
    "block_diagonal",
    "catalogue",
    "convection_diffusion",
    "delaunay",
    "dense_rows",
    "describe",
    "elasticity",
    "load",
    "mycielskian",
    "packets",
    "poisson",
    "random_geometric",
    "rmat",
    "standin",
    "standin_info",
    "standins",
    "stencil",
]
# Of SciPy, PyAMG and ssgetpy.
OTHER_NAMES = {
    "mmread": "load", "hb_read": "load", "loadmat": "load", "load_npz": "load", "read": "load",
    "fetch": "load", "laplacian": "poisson", "diffusion_stencil_2d": "anisotropic_diffusion",
}  # fmt: skip
suggest_names(__name__, __all__, OTHER_NAMES)


def __dir__() -> list[str]:
    return __all__
