"""Test matrices: stencils on grids, the Laplacian and the paper's anisotropic problems."""

from .grids import aniso as aniso
from .grids import poisson as poisson
from .grids import stencil as stencil

__all__ = ["aniso", "poisson", "stencil"]
