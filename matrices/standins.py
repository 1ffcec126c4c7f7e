"""Stand-ins for test matrices of Klein & Strzodka (2022): alike in kind, not the originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .arrays import array_modules, from_host, integer, value_type
from .catalogue import PaperMatrix, catalogue
from .diffusion import convection_diffusion
from .disc import disc_conduction
from .grids import assemble, boxes
from .tetrahedra import consolidation, curl_curl, elasticity, mesh_matrix, transport


@dataclass(frozen=True)
class StandIn:
    """
    What stands in for a matrix of the paper.

    Attributes
    ----------
    name : str
        The matrix it stands in for, as in the catalogue.
    description : str
        What it really is.
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
    make: Callable[..., Any]

    @property
    def paper(self) -> PaperMatrix:
        return catalogue()[self.name]

    def __str__(self):
        paper = self.paper
        return "\n".join(
            [
                f"stand-in for {paper.full_name}, not the original: {self.description}",
                f"  rows     {self.rows:,} (original {paper.rows:,})",
                f"  entries  {self.nnz:,} (original {paper.nnz:,})",
            ]
        )


def standin(name, *, shrink=1, device=None, dtype=np.float64):
    """
    A stand-in for a test matrix of Klein & Strzodka (2022), for where the original cannot be had.

    It is not the original: it has as many rows and entries, or nearly, couplings of the same kind, and much
    the same shares of its weight in the heaviest paths; solvers need other numbers of iterations with it.
    `standin_info` tells what it is made of.

    ==============  ==============================================================  =========  ===========
    name            what it is                                                      rows       entries
    ==============  ==============================================================  =========  ===========
    ecology1        grid 1000 x 1000, equal weights, free boundary (singular)       as many    as many
    ecology2        the same without its middle vertex                              as many    as many
    atmosmodd, j    grid 58 x 148 x 148, weak and convective along z                as many    as many
    atmosmodl       grid 38 x 198 x 198, strong and convective along z              as many    as many
    atmosmodm       grid 38 x 198 x 198, very strong and convective along z         as many    as many
    thermal2        heat conduction on a triangulated disc                          as many    as many
    Transport       convection-diffusion on 31 x 161 x 321 boxes of tetrahedra      as many    as many
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
        What each side is divided by, for quick studies.
    device : {None, "cpu", "cuda"}, optional
        Where the matrix is wanted; None means the CPU.
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
    shrink = integer(shrink, "shrink")
    if shrink < 1:
        raise ValueError(f"shrink must be at least 1, got {shrink}")
    dtype = value_type(dtype)
    array_modules(device)  # an unknown device is an error before the work, not after it
    return standin.make(standin.shape, shrink, device=device, dtype=dtype)


def standins() -> list[str]:
    """
    The names of the paper's matrices that have a stand-in.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> len(matrices.standins()), "ecology1" in matrices.standins()
    (16, True)
    """
    return list(STANDINS)


def standin_info(name: str) -> StandIn:
    """
    What stands in for a matrix of the paper; printed, it tells its size beside the original's.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> print(matrices.standin_info("ecology2"))
    stand-in for McRae/ecology2, not the original: grid with equal weights, free boundary, one vertex removed
      rows     999,999 (original 999,999)
      entries  4,995,991 (original 4,995,991)
    """
    for known, standin in STANDINS.items():
        if str(name).lower() in (known.lower(), standin.paper.full_name.lower()):
            return standin
    raise LookupError(f"name {name!r} has no stand-in; these have one: {', '.join(STANDINS)}")


def _shrunk(shape, shrink):
    return tuple(max(2, round(length / shrink)) for length in shape)


def _atmosphere(shape, shrink, *, velocity, diffusion, device, dtype):
    """Convection is along z alone: just the entries along z are unsymmetric in the originals, too."""
    shape = _shrunk(shape, shrink)
    options = {"diffusion": diffusion, "device": device, "dtype": dtype}
    return convection_diffusion(shape, (velocity, 0.0, 0.0), **options)


def _landscape(shape, shrink, *, device, dtype):
    shape = _shrunk(shape, shrink)
    offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]
    weights = dict.fromkeys(offsets, -1.0)
    weights[0, 0] = sum(_inside(shape, offset) for offset in offsets if any(offset))
    couplings = [(*boxes(shape, offset), weights[offset]) for offset in offsets]
    return assemble(shape, couplings, dtype, device, None)


def _inside(shape, offset):
    """One where the neighbour at an offset lies in the grid, else zero."""
    inside = np.zeros(shape)
    inside[boxes(shape, offset)[0]] = 1.0
    return inside


def _landscape_without_its_middle(shape, shrink, *, device, dtype):
    A = _landscape(shape, shrink, device="cpu", dtype=dtype)
    ny, nx = _shrunk(shape, shrink)
    rest = np.delete(np.arange(A.shape[0]), ny // 2 * nx + nx // 2)
    return from_host(A[rest][:, rest], dtype, device, None)


def _heated_disc(shape, shrink, *, device, dtype):
    vertices, rim = shape
    rim = max(8, rim // shrink)
    vertices = max(2 * rim, vertices // shrink**2)
    return from_host(disc_conduction(vertices, rim), dtype, device, None)


def _boxes(shape, shrink, *, blocks, spread=0.0, device, dtype):
    """Elements on boxes; the logarithms of the boxes' factors have this standard deviation."""
    shape = _shrunk(shape, shrink)
    factors = None
    if spread:
        normal = np.random.default_rng(0).standard_normal([length + 1 for length in shape])
        factors = np.exp(spread * normal)
    return mesh_matrix(shape, blocks(), factors=factors, device=device, dtype=dtype)


def _leaning_box(height, lean):
    """Edges of a box with square base that leans over by a share of its height and sides."""
    return np.array([[height, 0, 0], [lean * height, 1, 0], [lean * height, lean, 1]])


ATMOSPHERE = "7-point grid, convection along z"
SOLID = "elasticity by linear tetrahedra on a box grid"
POROUS = "consolidation (displacements and a pressure) by linear tetrahedra on a box grid"
CURL = "curl-curl by lowest-order edge elements, tetrahedra on a box grid"

_atmosphere_d = partial(_atmosphere, velocity=0.02, diffusion=(0.065, 0.465, 0.465))
_atmosphere_l = partial(_atmosphere, velocity=0.04, diffusion=(0.465, 0.2575, 0.2575))
_atmosphere_m = partial(_atmosphere, velocity=0.1, diffusion=(0.95, 0.027, 0.027))

# The parameters are chosen for coverages near those of the paper's table 5.
_ALL = [
    StandIn("atmosmodd", f"{ATMOSPHERE}, which is weak", (58, 148, 148), 1_270_432, 8_814_880, _atmosphere_d),
    StandIn("atmosmodj", f"{ATMOSPHERE}, which is weak", (58, 148, 148), 1_270_432, 8_814_880, _atmosphere_d),
    StandIn(
        "atmosmodl", f"{ATMOSPHERE}, which is strong", (38, 198, 198), 1_489_752, 10_319_760, _atmosphere_l
    ),
    StandIn(
        "atmosmodm",
        f"{ATMOSPHERE}, which is very strong",
        (38, 198, 198),
        1_489_752,
        10_319_760,
        _atmosphere_m,
    ),
    StandIn(
        "Bump_2911",
        f"{SOLID}, flat boxes of random stiffness",
        (28, 137, 253),
        2_911_524,
        127_751_778,
        partial(_boxes, blocks=partial(elasticity, _leaning_box(0.1, -0.3), 0.2), spread=1.0),
    ),
    StandIn(
        "Cube_Coup_dt0",
        POROUS,
        (75, 82, 88),
        2_164_800,
        124_100_800,
        partial(_boxes, blocks=partial(consolidation, _leaning_box(0.6, -0.15), 0.2, 0.1, 0.1)),
    ),
    StandIn(
        "CurlCurl_3",
        CURL,
        (22, 60, 132),
        1_219_680,
        13_546_368,
        partial(_boxes, blocks=partial(curl_curl, (5, 2, 1))),
    ),
    StandIn(
        "CurlCurl_4",
        CURL,
        (27, 67, 188),
        2_380_644,
        26_516_610,
        partial(_boxes, blocks=partial(curl_curl, (4, 1.7, 1))),
    ),
    StandIn(
        "ecology1", "grid with equal weights, free boundary", (1000, 1000), 1_000_000, 4_996_000, _landscape
    ),
    StandIn(
        "ecology2",
        "grid with equal weights, free boundary, one vertex removed",
        (1000, 1000),
        999_999,
        4_995_991,
        _landscape_without_its_middle,
    ),
    StandIn(
        "Geo_1438",
        SOLID,
        (37, 102, 127),
        1_437_894,
        63_172_044,
        partial(_boxes, blocks=partial(elasticity, _leaning_box(0.6, -0.3), 0.2)),
    ),
    StandIn(
        "Hook_1498",
        SOLID,
        (6, 66, 1261),
        1_498_068,
        60_895_494,
        partial(_boxes, blocks=partial(elasticity, _leaning_box(1.0, -0.3), 0.2)),
    ),
    StandIn(
        "Long_Coup_dt0",
        f"{POROUS}, flat boxes of random stiffness",
        (62, 76, 78),
        1_470_144,
        86_241_504,
        partial(_boxes, blocks=partial(consolidation, _leaning_box(0.15, -0.2), 0.2, 0.1, 0.1), spread=2.0),
    ),
    StandIn(
        "StocF-1465",
        "diffusion by linear tetrahedra on a box grid, flat boxes of random permeability",
        (13, 245, 460),
        1_465_100,
        21_004_450,
        partial(_boxes, blocks=partial(transport, _leaning_box(0.03, -0.3), (0, 0, 0)), spread=3.0),
    ),
    StandIn(
        "thermal2",
        "heat conduction by linear triangles on a disc",
        (1_228_045, 7_998),
        1_228_045,
        8_580_313,
        _heated_disc,
    ),
    StandIn(
        "Transport",
        "convection and diffusion by linear tetrahedra on a box grid",
        (31, 161, 321),
        1_602_111,
        23_500_731,
        partial(_boxes, blocks=partial(transport, (5.5, 1, 1), (0.05, 0.05, 0.05))),
    ),
]
STANDINS = {standin.name: standin for standin in _ALL}
