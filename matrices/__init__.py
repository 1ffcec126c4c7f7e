"""Test matrices: by name, generated, and the catalogue of the paper's matrices."""

from .catalogue import PaperMatrix as PaperMatrix
from .catalogue import catalogue as catalogue
from .describe import Description as Description
from .describe import describe as describe
from .diffusion import anisotropic_diffusion as anisotropic_diffusion
from .diffusion import convection_diffusion as convection_diffusion
from .elastic import elasticity as elasticity
from .errors import MatrixNotAvailable as MatrixNotAvailable
from .errors import MatrixOffline as MatrixOffline
from .errors import UnknownMatrix as UnknownMatrix
from .grids import aniso as aniso
from .grids import poisson as poisson
from .grids import stencil as stencil
from .load import load as load
from .network_packets import packets as packets
from .random_graphs import delaunay as delaunay
from .random_graphs import random_geometric as random_geometric
from .random_graphs import rmat as rmat
from .standins import StandIn as StandIn
from .standins import standin as standin
from .standins import standin_info as standin_info
from .standins import standins as standins

__all__ = [
    "Description",
    "MatrixNotAvailable",
    "MatrixOffline",
    "PaperMatrix",
    "StandIn",
    "UnknownMatrix",
    "aniso",
    "anisotropic_diffusion",
    "catalogue",
    "convection_diffusion",
    "delaunay",
    "describe",
    "elasticity",
    "load",
    "packets",
    "poisson",
    "random_geometric",
    "rmat",
    "standin",
    "standin_info",
    "standins",
    "stencil",
]


def __dir__() -> list[str]:
    return __all__
