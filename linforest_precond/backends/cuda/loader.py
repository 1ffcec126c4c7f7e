"""From a `.cu` file and its types to compiled kernels.

A program is one file of `kernels/`, compiled once for every combination of types it is used with. Types are
macros: `VALUE` (an entry of the matrix), `WEIGHT` (its magnitude), `INDEX`. The text of its headers stands in
the program itself, because CuPy's compile cache does not see an included file change.
"""

import functools
import itertools
import re
from importlib import resources

import numpy as np

from . import tiles
from .lazy import cupy

# What a type is called in CUDA C++; the two structs are defined in common.cuh.
TYPE_NAMES = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    np.dtype(np.complex64): "Complex64",
    np.dtype(np.complex128): "Complex128",
    np.dtype(np.int32): "int",
    np.dtype(np.int64): "long long",
}

OPTIONS = ("--std=c++17",)
# A fused multiply-add rounds once where the CPU rounds twice, and the two backends give the same bits; only
# solutions agree to rounding.
SAME_BITS = ("--fmad=false",)
SOLVING = {"sweeps", "pivoting", "refinement", "updates", "products", "cycles"}


def _every(**choices):
    """Every combination of the choices, as macros for `program`."""
    return [dict(zip(choices, each)) for each in itertools.product(*choices.values())]


_VALUES = (np.float32, np.float64, np.complex64, np.complex128)
_WEIGHTS = (np.float32, np.float64)
_INDICES = (np.int32, np.int64)
_BLOCKS = (1, 2, 4)
# Lanes to a row of neighbours.
_WIDTHS = (4, 8, 16, 32)
# Entries of the pieces that long rows are cut into: those of searches, and those of sums.
PIECE, SUMMED_PIECE = 256, 64
_KINDS = (tiles.PLAIN, tiles.SYMMETRIC, tiles.TRANSPOSED)
# What is stored, and what it is applied to: the same, or of double precision.
_APPLIED = [
    {"VALUE": value, "RESULT": result}
    for value, result in itertools.product(_VALUES, _VALUES)
    if value == result or (value, result) in ((np.float32, np.float64), (np.complex64, np.complex128))
]
# Scalars instead of blocks, beside the type of double precision.
_SCALAR = [{"VALUE": value, "WIDE": tiles.wide_type(value), "BLOCK": 1} for value in _VALUES]

# Every program with every combination of macros it is used with: the tests compile them all.
PROGRAMS = {
    "entries": _every(VALUE=_VALUES, INDEX=_INDICES),
    "factor": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES, DEGREE=(1, 2, 3, 4)),
    "locally_dominant": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "streamed": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "suitor": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "proposals": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "forest": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "ordering": _every(INDEX=_INDICES),
    "bands": _every(VALUE=_VALUES, INDEX=_INDICES),
    "mates": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "pairs": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "aggregates": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "row_merging": _every(VALUE=_VALUES, INDEX=_INDICES),
    "galerkin": _every(VALUE=_VALUES, INDEX=_INDICES),
    "path_interpolation": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "transfers": _every(VALUE=_VALUES, INDEX=_INDICES),
    "block_bands": _every(VALUE=_VALUES, INDEX=_INDICES),
    "diagonal_blocks": [{**types, "INDEX": index} for types in _APPLIED for index in _INDICES],
    "patterns": _every(INDEX=_INDICES),
    "pattern_scan": _every(INDEX=_INDICES),
    "components": _every(INDEX=_INDICES),
    "fastsv": _every(INDEX=_INDICES),
    "strong_components": _every(INDEX=_INDICES),
    "tree_roots": _every(INDEX=_INDICES),
    "spanning_forest": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "rows": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "levels": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "leveled": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "batch": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "pieces": _every(INDEX=_INDICES, PIECE=(PIECE, SUMMED_PIECE)),
    "independent_set": _every(INDEX=_INDICES, PIECE=(PIECE,)),
    "coloring": _every(INDEX=_INDICES, PIECE=(PIECE,)),
    "label_propagation": _every(INDEX=_INDICES, PIECE=(PIECE,)),
    "pagerank": _every(VALUE=_WEIGHTS, INDEX=_INDICES, PIECE=(SUMMED_PIECE,)),
    "sums": _every(VALUE=_WEIGHTS, INDEX=(np.int32,)),
    "pivots": _every(VALUE=_VALUES, BLOCK=_BLOCKS),
    "sweeps": [tiles.macros(*each) for each in itertools.product(_VALUES, _BLOCKS, _KINDS)],
    "pivoting": [
        {**types, "SINGULAR": size}
        for types in _SCALAR
        for size in ((0, 4, 8) if types["VALUE"] in (np.float64, np.complex128) else (0,))
    ],
    "refinement": [
        {"VALUE": value, "WIDE": tiles.wide_type(value), "BLOCK": block}
        for value, block in itertools.product(_VALUES, _BLOCKS)
    ],
    "updates": _SCALAR,
    "products": [{**types, "INDEX": index} for types in _SCALAR for index in _INDICES],
    "couplings": _every(VALUE=_VALUES, INDEX=_INDICES),
    "cycles": [
        {**types, "INDEX": index, "LONG": is_long}
        for types, index, is_long in itertools.product(_SCALAR, _INDICES, (0, 1))
    ],
}


def program(name, **macros):
    """Return the text of `kernels/<name>.cu` and the compiler options for `macros`."""
    exact = () if name in SOLVING else SAME_BITS
    return _text(name), (*OPTIONS, *exact, *macro_options(**macros))


def macro_options(**macros):
    """The compiler options that define `macros`.

    A macro is a number or a type (anything `numpy.dtype` takes); `VALUE` brings its real type as `WEIGHT`.
    """
    if "VALUE" in macros:
        macros.setdefault("WEIGHT", np.dtype(macros["VALUE"]).type(0).real.dtype)
    return tuple(f"-D{macro}={_spelled(macros[macro])}" for macro in sorted(macros))


def _spelled(meaning):
    return str(meaning) if isinstance(meaning, int) else TYPE_NAMES[np.dtype(meaning)]


@functools.cache
def _text(name):
    """The program with its headers in place."""
    return _inlined(f"{name}.cu")


def _inlined(file):
    """A file with its headers in place; `#line` makes compiler messages point at the real files."""
    lines = [f'#line 1 "{_shown(file)}"']
    for number, line in enumerate(_read(file).splitlines(), start=1):
        included = re.fullmatch(r'#include "(\w+\.cuh)"', line.strip())
        if included:
            lines += [_inlined(included[1]), f'#line {number + 1} "{_shown(file)}"']
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _shown(file):
    # Not the absolute path: the text is the key of CuPy's compile cache, the same for every checkout.
    return f"linforest_precond/backends/cuda/kernels/{file}"


def _read(file):
    return resources.files(__package__).joinpath("kernels", file).read_text(encoding="utf-8")


class Kernels:
    """The kernels of one compiled program, each an attribute: `found.propose(grid, block, arguments)`."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, function):
        # Asked once per function: the answer is stored under its name.
        if function.startswith("_"):
            raise AttributeError(function)
        found = self._module.get_function(function)
        setattr(self, function, found)
        return found


@functools.cache
def kernels(name, cooperative=False, **macros):
    """Compile a program (once; CuPy loads it onto each device that uses it) and return its kernels.

    A cooperative program's kernels are launched so that all their blocks run at once and may wait for
    each other.
    """
    text, options = program(name, **macros)
    return Kernels(cupy.RawModule(code=text, options=options, enable_cooperative_groups=cooperative))
