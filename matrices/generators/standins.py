"""Stand-ins for test matrices of Klein & Strzodka (2022): generated matrices of the same kind."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import CsrArray, Device, array_modules, from_host, value_type
from ..catalogue import PaperMatrix, catalogue
from .diffusion import convection_diffusion
from .disc import disc_conduction
from .grids import assemble, boxes
from .tetrahedra import (
    consolidation_elements,
    curl_curl_elements,
    elasticity_elements,
    mesh_matrix,
    transport_elements,
)


@dataclass(frozen=True)
class StandIn:
    """A generated stand-in for a matrix of the paper.

    Attributes
    ----------
    name : str
        The name of the original in the catalogue.
    description : str
        The problem and its discretization.
    shape : tuple of int
        Vertices along each side of the grid, z before y before x; or vertices of the disc and of its rim.
    rows, nnz : int
        At full size.
    paper : PaperMatrix
        The original, with its rows and nnz and the published values.
    """

    name: str
    description: str
    shape: tuple[int, ...]
    rows: int
    nnz: int
    make: Callable[..., CsrArray]

    @property
    def paper(self) -> PaperMatrix:
        return catalogue()[self.name]

    def __str__(self) -> str:
        paper = self.paper
        return "\n".join(
            [
                f"stand-in for {paper.full_name}, not the original: {self.description}",
                f"  rows     {self.rows:,} (original {paper.rows:,})",
                f"  entries  {self.nnz:,} (original {paper.nnz:,})",
            ]
        )


@named_arguments
def standin(
    name: str, *, shrink: int = 1, device: Device = None, dtype: npt.DTypeLike = np.float64
) -> CsrArray:
    """A stand-in for a test matrix of Klein & Strzodka (2022), for use where the original is not available.

    It is not the original: it has (nearly) the same number of rows and entries, couplings of the same kind,
    and similar coverages; iteration counts differ. `standin_info` describes its construction. In the table
    "same" means equal to the original's.

    ==============  ==============================================================  =========  ===========
    name            problem                                                         rows       entries
    ==============  ==============================================================  =========  ===========
    ecology1        grid 1000 x 1000, equal weights, free boundary (singular)       same       same
    ecology2        the same without its middle vertex                              same       same
    atmosmodd, j    grid 58 x 148 x 148, weak and convective along z                same       same
    atmosmodl       grid 38 x 198 x 198, strong and convective along z              same       same
    atmosmodm       grid 38 x 198 x 198, very strong and convective along z         same       same
    thermal2        heat conduction on a triangulated disc                          same       same
    Transport       convection-diffusion on 31 x 161 x 321 boxes of tetrahedra      same       same
    StocF-1465      diffusion through flat boxes of random permeability             1,465,100  21,004,450
    CurlCurl_3      curl-curl by edge elements on boxes of tetrahedra               1,219,680  13,546,368
    CurlCurl_4      curl-curl by edge elements on boxes of tetrahedra               2,380,644  26,516,610
    Geo_1438        elasticity on boxes of tetrahedra                               1,437,894  63,172,044
    Hook_1498       elasticity on boxes of tetrahedra                               1,498,068  60,895,494
    Bump_2911       elasticity on flat boxes of random stiffness                    2,911,524  127,751,778
    Cube_Coup_dt0   consolidation (displacements and pressure) on boxes             2,164,800  124,100,800
    Long_Coup_dt0   consolidation on flat boxes of random stiffness                 1,470,144  86,241,504
    ==============  ==============================================================  =========  ===========

    Parameters
    ----------
    name : str
        One of `standins()`, in any case.
    shrink : int
        Divisor of each side of the grid, for quick studies.
    device : {None, "cpu", "cuda"}, optional
        Where to create the matrix; None means the CPU.
    dtype : dtype, optional
        float32, float64 (default), complex64 or complex128.

    Returns
    -------
    csr_array

    Raises
    ------
    LookupError
        There is no stand-in of that name.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.standin("atmosmodm", shrink=4)
    >>> A.shape, A.nnz
    ((25000, 25000), 168000)
    """
    standin = standin_info(name)
    shrink = as_integer("shrink", shrink, 1)
    dtype = value_type(dtype)
    array_modules(device)  # raises for an unusable device before any work
    return standin.make(standin.shape, shrink, device=device, dtype=dtype)


@named_arguments
def standins() -> list[str]:
    """The names of the paper's matrices that have a stand-in.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> len(matrices.standins()), "ecology1" in matrices.standins()
    (16, True)
    """
    return list(_table())


@named_arguments
def standin_info(name: str) -> StandIn:
    """The stand-in for a matrix of the paper; prints its size and the original's.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> print(matrices.standin_info("ecology2"))
    stand-in for McRae/ecology2, not the original: grid with equal weights, free boundary, one vertex removed
      rows     999,999 (original 999,999)
      entries  4,995,991 (original 4,995,991)
    """
    for known, standin in _table().items():
        if str(name).lower() in (known.lower(), standin.paper.full_name.lower()):
            return standin
    raise LookupError(f"name {name!r} has no stand-in; stand-ins exist for {', '.join(_table())}")


@functools.cache
def _table() -> dict[str, StandIn]:
    text = resources.files(__package__).joinpath("standins.toml").read_text(encoding="utf-8")
    return {name: _entry(name, **entry) for name, entry in tomllib.loads(text).items()}


def _entry(
    name: str, *, description: str, shape: list[int], rows: int, nnz: int, problem: str, **parameters: Any
) -> StandIn:
    return StandIn(name, description, tuple(shape), rows, nnz, partial(PROBLEMS[problem], **parameters))


def _shrunk(shape: tuple[int, ...], shrink: int) -> tuple[int, ...]:
    return tuple(max(2, round(length / shrink)) for length in shape)


def _convection(
    shape: tuple[int, ...],
    shrink: int,
    *,
    velocity: float,
    diffusion: Sequence[float],
    device: Device,
    dtype: DType,
) -> CsrArray:
    """Convection along z only, as in the originals, which are nonsymmetric along z only."""
    shape = _shrunk(shape, shrink)
    return convection_diffusion(shape, (velocity, 0.0, 0.0), diffusion=diffusion, device=device, dtype=dtype)


def _laplacian(shape: tuple[int, ...], shrink: int, *, device: Device, dtype: DType) -> CsrArray:
    """The 5-point graph Laplacian with free (Neumann) boundary."""
    shape = _shrunk(shape, shrink)
    offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]
    weights: dict[tuple[int, int], Any] = dict.fromkeys(offsets, -1.0)
    weights[0, 0] = sum(_inside(shape, offset) for offset in offsets if any(offset))
    couplings = [(*boxes(shape, offset), weights[offset]) for offset in offsets]
    return assemble(shape, couplings, dtype, device, None)


def _inside(shape: tuple[int, ...], offset: tuple[int, int]) -> Array:
    """1 where the neighbour at an offset is in the grid, else 0."""
    inside = np.zeros(shape)
    inside[boxes(shape, offset)[0]] = 1.0
    return inside


def _laplacian_without_its_middle(
    shape: tuple[int, ...], shrink: int, *, device: Device, dtype: DType
) -> CsrArray:
    A = _laplacian(shape, shrink, device="cpu", dtype=dtype)
    ny, nx = _shrunk(shape, shrink)
    rest = np.delete(np.arange(A.shape[0]), ny // 2 * nx + nx // 2)
    return from_host(A[rest][:, rest], dtype, device, None)


def _disc(shape: tuple[int, ...], shrink: int, *, device: Device, dtype: DType) -> CsrArray:
    vertices, rim = shape
    rim = max(8, rim // shrink)
    vertices = max(2 * rim, vertices // shrink**2)
    return from_host(disc_conduction(vertices, rim), dtype, device, None)


def _tetrahedra(
    elements: Callable[..., Array],
    shape: tuple[int, ...],
    shrink: int,
    *,
    cell: Sequence[float] | None = None,
    height: float = 1.0,
    lean: float = 0.0,
    spread: float = 0.0,
    device: Device,
    dtype: DType,
) -> CsrArray:
    """Finite elements on boxes with the sides `cell`, or on sheared ones.

    `spread` is the standard deviation of the logarithm of the boxes' random coefficients.
    """
    shape = _shrunk(shape, shrink)
    factors = None
    if spread:
        normal = np.random.default_rng(0).standard_normal([length + 1 for length in shape])
        factors = np.exp(spread * normal)
    blocks = elements(_leaning_box(height, lean) if cell is None else cell)
    return mesh_matrix(shape, blocks, factors=factors, device=device, dtype=dtype)


def _leaning_box(height: float, lean: float) -> Array:
    """The edges of a sheared box with a square base; `lean` is the shear relative to height and sides."""
    return np.array([[height, 0, 0], [lean * height, 1, 0], [lean * height, lean, 1]])


ELEMENTS: dict[str, Callable[..., Array]] = {
    "consolidation": partial(consolidation_elements, poisson_ratio=0.2, coupling=0.1, storage=0.1),
    "curl-curl": curl_curl_elements,
    "diffusion": partial(transport_elements, velocity=(0, 0, 0)),
    "elasticity": partial(elasticity_elements, poisson_ratio=0.2),
    "transport": partial(transport_elements, velocity=(0.05, 0.05, 0.05)),
}
# Called with the shape, the divisor of its sides, and the parameters of the table.
PROBLEMS: dict[str, Callable[..., CsrArray]] = {
    "convection": _convection,
    "disc": _disc,
    "Laplacian": _laplacian,
    "Laplacian without its middle": _laplacian_without_its_middle,
    **{problem: partial(_tetrahedra, elements) for problem, elements in ELEMENTS.items()},
}
