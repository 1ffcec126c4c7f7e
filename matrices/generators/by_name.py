"""Generated matrices by name: "aniso2:300", "poisson:100x200", "rmat:18", "standin:atmosmodm/4"."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_named

from ..arrays import CsrArray, Device, array_modules, from_host
from .diffusion import anisotropic_diffusion, convection_diffusion
from .grids import aniso, poisson
from .mycielskian import mycielskian
from .random_graphs import delaunay, dense_rows, random_geometric, rmat
from .standins import standin

PAPER_SIDE = "2500"
LONGEST_NUMBER = 18  # digits
SHOWN = 40  # characters of a name in an error
# Of a generated matrix: a row of a grid in two dimensions, with 32-bit indices.
BYTES_PER_ROW = 64


@dataclass(frozen=True)
class Generator:
    """A kind of generated matrix: the part of a name before the colon."""

    example: str
    description: str
    make: Callable[..., CsrArray]  # make(text after the colon, device=, dtype=)
    default: str | None = None  # the text after the colon if the name has none


def is_generator(name: str) -> bool:
    """Whether a name is that of a generated matrix; the text after its colon is not checked."""
    kind, colon, _ = str(name).partition(":")
    generator = GENERATORS.get(kind.lower())
    return generator is not None and (bool(colon) or generator.default is not None)


def generate(name: str, *, device: Device = None, dtype: npt.DTypeLike | None = None) -> CsrArray:
    """Generate the matrix with the name ``kind:size``, see `names`; LookupError where there is none.

    The size is a side ("poisson3d:50"), sides ("poisson:100x200x3"), a count of vertices ("delaunay:10000")
    or its logarithm ("rmat:18"), the name of a stand-in with the number its sides are divided by
    ("standin:atmosmodm/4"), or of an example of PyAMG's gallery ("pyamg:bar"), which keeps its own type.
    """
    kind, colon, argument = str(name).partition(":")
    generator = GENERATORS.get(kind.lower())
    if generator is None:
        raise LookupError(f"name {name!r} is not a known generator; the generators are:\n{help_text()}")
    if not colon and generator.default is None:
        raise ValueError(f"name {name!r} needs a size or name after a colon, such as {generator.example!r}")
    argument = argument if colon else str(generator.default)
    try:
        return generator.make(argument, device=device, dtype=dtype)
    except _MisreadError as error:
        raise ValueError(f"name {name!r}: {error}, such as {generator.example!r}") from None


def nearest_name(name: str) -> str:
    """The name of a generated matrix that was probably meant; empty where there is none."""
    kind, colon, argument = name.partition(":")
    close = difflib.get_close_matches(kind.lower(), GENERATORS, 1) if colon else []
    return f"{close[0]}:{argument}" if close else ""


def names() -> dict[str, str]:
    """An example name of every generator, and its description."""
    return {generator.example: generator.description for generator in GENERATORS.values()}


def help_text() -> str:
    """The table of `names`, one line each."""
    width = max(map(len, names()))
    return "\n".join(f"  {example:<{width}}  {description}" for example, description in names().items())


class _MisreadError(ValueError):
    """The text after the colon is invalid."""


def _number(text: str) -> int:
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdecimal() and stripped.strip("0")):
        raise _MisreadError(f"{text!r} should be a positive whole number")
    if len(stripped) > LONGEST_NUMBER:
        raise _MisreadError(f"{text[:SHOWN]!r} should have at most {LONGEST_NUMBER} digits")
    return int(stripped)


def _sides(text: str) -> tuple[int, ...]:
    return tuple(_number(side or text) for side in text.lower().split("x"))


def _by(
    make: Callable[..., CsrArray], read: Callable[[str], Any], rows: Callable[[Any], int] = math.prod
) -> Callable[..., CsrArray]:
    """A generator by the size that `read` finds in a name; `rows` of it are those of the matrix."""

    def made(argument: str, *, device: Device, dtype: npt.DTypeLike | None) -> CsrArray:
        size = read(argument)
        array_modules(device)  # raises for an unusable device
        free = backend_named(device or "cpu").runtime.calibration.free_bytes()
        if rows(size) > free // BYTES_PER_ROW:
            raise _MisreadError(
                f"{argument[:SHOWN]!r} should be smaller: {rows(size):.1e} rows do not fit into the memory"
            )
        return make(size, device=device, dtype=np.float64 if dtype is None else dtype)

    return made


def _box(axes: int) -> Callable[[str], tuple[int, ...]]:
    """A parser for one side of a square or cube, or for all sides."""

    def read(text: str) -> tuple[int, ...]:
        sides = _sides(text)
        if len(sides) not in (1, axes):
            raise _MisreadError(f"{text!r} should be one side, or {axes} separated by x")
        return sides * axes if len(sides) == 1 else sides

    return read


def _standin(argument: str, *, device: Device, dtype: npt.DTypeLike | None) -> CsrArray:
    name, slash, divisor = argument.partition("/")
    shrink = _number(divisor) if slash else 1
    return standin(name, shrink=shrink, device=device, dtype=np.float64 if dtype is None else dtype)


def _pyamg_example(argument: str, *, device: Device, dtype: npt.DTypeLike | None) -> CsrArray:
    try:
        from pyamg.gallery import example
    except ImportError as error:
        message = f'pyamg:{argument} needs PyAMG ({error}): pip install "linforest-precond[study]"'
        raise ImportError(message) from error
    if argument not in example.example_names:
        raise _MisreadError(
            f"{argument!r} should be one of PyAMG's examples: {', '.join(example.example_names)}"
        )
    A = example.load_example(argument)["A"]
    own = A.dtype if A.dtype.kind in "fc" else np.float64
    return from_host(A, own if dtype is None else dtype, device, None)


GENERATORS = {
    **{
        f"aniso{kind}": Generator(
            f"aniso{kind}:300",
            f"ANISO{kind} of the paper on a 300 x 300 grid (default: 2500 x 2500)",
            _by(partial(aniso, kind), _number, lambda side: side**2),
            default=PAPER_SIDE,
        )
        for kind in (1, 2, 3)
    },
    "poisson": Generator("poisson:100x200x3", "Laplacian of a grid", _by(poisson, _sides)),
    "poisson2d": Generator("poisson2d:100", "Laplacian of a 100 x 100 grid", _by(poisson, _box(2))),
    "poisson3d": Generator("poisson3d:50", "Laplacian of a 50 x 50 x 50 grid", _by(poisson, _box(3))),
    "convection2d": Generator(
        "convection2d:100", "convection and diffusion on a 100 x 100 grid", _by(convection_diffusion, _box(2))
    ),
    "convection3d": Generator(
        "convection3d:50", "convection and diffusion on a 50³ grid", _by(convection_diffusion, _box(3))
    ),
    "anisotropic": Generator(
        "anisotropic:200",
        "anisotropic diffusion, 1000 : 1 at 30 degrees",
        _by(anisotropic_diffusion, _box(2)),
    ),
    "rmat": Generator(
        "rmat:18",
        "R-MAT graph of 2**18 vertices, 16 edges each",
        _by(rmat, _number, lambda scale: 2 ** min(scale, 60)),
    ),
    "delaunay": Generator(
        "delaunay:10000", "Delaunay triangulation of random points", _by(delaunay, _number, int)
    ),
    "rgg": Generator("rgg:10000", "random geometric graph", _by(random_geometric, _number, int)),
    "mycielskian": Generator(
        "mycielskian:12",
        "Mycielski graph with chromatic number 12",
        _by(mycielskian, _number, lambda k: 2 ** min(k, 60)),
    ),
    "dense_rows": Generator(
        "dense_rows:16783", "banded graph with 300 dense rows, as Gupta/gupta3", _by(dense_rows, _number, int)
    ),
    "standin": Generator(
        "standin:atmosmodm/4", "stand-in for a matrix of the paper, its sides divided by 4", _standin
    ),
    "pyamg": Generator("pyamg:unit_square", "example of PyAMG's gallery", _pyamg_example),
}
