"""Compiles the programs of `kernels/`.

A program is one `.cu` file, compiled for every combination of types it is used with. Types are macros:
`VALUE` (an entry of the matrix), `WEIGHT` (its magnitude), `INDEX`. Headers are inlined into the text of the
program, because CuPy's compile cache does not notice changes of included files.
"""

import functools
import inspect
import itertools
import os
import re
import threading

import numpy as np

from linforest_precond.backends.compilation_notice import CompilationNotice

from . import structs
from .lazy_cupy import cupy

# The names of types in CUDA C++; the two structs are defined in runtime/types.cuh.
TYPE_NAMES = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    np.dtype(np.complex64): "Complex64",
    np.dtype(np.complex128): "Complex128",
    np.dtype(np.int32): "int",
    np.dtype(np.int64): "long long",
}

NOTICE = CompilationNotice()
# The header at the head of every program.
PRELUDE = "runtime/common.cuh"
OPTIONS = ("--std=c++17",)
# A fused multiply-add rounds once where the CPU rounds twice. Both backends give the same bits, except in the
# programs that solve, whose results agree to rounding.
SAME_BITS = ("--fmad=false",)

# The types of most macros.
VALUES = (np.float32, np.float64, np.complex64, np.complex128)
WEIGHTS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)


def wide_type(dtype):
    """The double-precision type of the same kind: real or complex."""
    return np.complex128 if np.dtype(dtype).kind == "c" else np.float64


# VALUE is the stored precision, RESULT that of the vectors: the same, or double.
STORED_AND_APPLIED = [
    {"VALUE": value, "RESULT": result}
    for value in VALUES
    for result in dict.fromkeys((value, wide_type(value)))
]

# All programs by name: the tests compile them.
PROGRAMS = {}


class Program:
    """The file `kernels/<name>.cu` and all combinations of macros that it is compiled with.

    A module declares the program that it launches; the call `PROGRAM(INDEX=np.int32)` gives the kernels.

    A macro has a tuple of choices; or the only meaning, or a function that gives it for `VALUE`: calls may
    leave out these two. `cases` has a dictionary for each combination of macros that depend on each other.
    Where kernels are `cooperative`, all blocks are resident, so that a grid barrier cannot deadlock. Without
    `same_bits`, multiply-adds are fused, and results agree with the CPU's to rounding only.
    """

    def __init__(self, name, cases=({},), *, cooperative=False, same_bits=True, **macros):
        self.name, self.cooperative = name, cooperative
        self._common = (*OPTIONS, *SAME_BITS) if same_bits else OPTIONS
        self._fixed = {macro: meaning for macro, meaning in macros.items() if not isinstance(meaning, tuple)}
        choices = {macro: meaning for macro, meaning in macros.items() if macro not in self._fixed}
        self.cases = [
            self._completed({**case, **dict(zip(choices, chosen))})
            for case, *chosen in itertools.product(cases, *choices.values())
        ]
        self.options = functools.cache(self._options_for)
        PROGRAMS[name] = self

    def __call__(self, **macros):
        """Compile the program (once; CuPy loads it on each device that uses it) and return its kernels.

        The macro of a type may be an array or a dtype.
        """
        return kernels(self, self.options(**{macro: _plain(meaning) for macro, meaning in macros.items()}))

    def text(self):
        """The text with its headers inlined."""
        return _text(self.name)

    def _options_for(self, **macros):
        """The compiler options."""
        return (*self._common, *macro_options(**self._completed(macros)))

    def _completed(self, macros):
        """Macros with those that the caller has left out."""
        derived = {
            macro: meaning(macros["VALUE"]) if inspect.isfunction(meaning) else meaning
            for macro, meaning in self._fixed.items()
            if macro not in macros
        }
        return {**macros, **derived}


def macro_options(**macros):
    """The compiler options that define `macros`.

    A macro is a number or a type (anything `numpy.dtype` takes); `VALUE` also defines its real type `WEIGHT`.
    """
    if "VALUE" in macros:
        macros.setdefault("WEIGHT", np.dtype(macros["VALUE"]).type(0).real.dtype)
    return tuple(f"-D{macro}={_spelled(macros[macro])}" for macro in sorted(macros))


def _plain(meaning):
    """A number or a type; that of an array or a dtype."""
    if isinstance(meaning, int | type):
        return meaning
    return (meaning if isinstance(meaning, np.dtype) else meaning.dtype).type


def _spelled(meaning):
    return str(meaning) if isinstance(meaning, int) else TYPE_NAMES[np.dtype(meaning)]


@functools.cache
def _text(name):
    """The text of a program with its headers inlined."""
    return _inlined(PRELUDE) + _inlined(f"{name}.cu")


def _inlined(file):
    """A file with its headers inlined; `#line` makes compiler messages refer to the real files."""
    lines = [f'#line 1 "{_shown(file)}"']
    for number, line in enumerate(structs.source(file).splitlines(), start=1):
        included = re.fullmatch(r'#include "([\w/]+\.cuh)"', line.strip())
        if included:
            lines += [_inlined(included[1]), f'#line {number + 1} "{_shown(file)}"']
        else:
            lines.append(line)
    lines += structs.layout_checks(file)
    return "\n".join(lines) + "\n"


def _shown(file):
    # No absolute path: the text is the key of CuPy's compile cache and should be the same in every checkout.
    return f"linforest_precond/backends/cuda/kernels/{file}"


# Each is held by the thread that compiles a program, by its name and options.
_locks = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_locks.clear)  # the threads that hold them are not in the child


class Kernels:
    """The kernels of one compiled program as attributes: `program.propose(grid, block, arguments)`.

    One thread compiles it, others wait: CuPy keeps the result for them.
    """

    def __init__(self, module, name, options=()):
        self._module, self._key = module, (name, options)
        self._devices = set()  # that it was compiled ahead for

    def __getattr__(self, function):
        # Called once per function: the result becomes an attribute.
        if function.startswith("_"):
            raise AttributeError(function)
        NOTICE.start(_cache_folder)
        try:
            with self._lock():
                found = self._module.get_function(function)  # the first one compiles, or loads from the cache
        finally:
            NOTICE.stop()
        setattr(self, function, found)
        return found

    def has(self, function):
        """Whether a kernel was used before."""
        return function in vars(self)

    def _lock(self):
        return _locks.setdefault(self._key, threading.Lock())

    def _is_new_on(self, device):
        """Whether it was not compiled ahead for a device; from now on it was."""
        is_new = device not in self._devices
        self._devices.add(device)
        return is_new

    def _compile_ahead(self, device):
        """Compile it for a device, unless another thread does so already."""
        lock = self._lock()
        if not lock.acquire(blocking=False):
            return
        try:
            with cupy.cuda.Device(device):
                self._module.compile()
        finally:
            lock.release()


def _cache_folder():
    """Where CuPy keeps compiled modules."""
    return os.environ.get("CUPY_CACHE_DIR") or os.path.expanduser("~/.cupy/kernel_cache")


@functools.cache
def kernels(program, options):
    """The kernels of a program with these options."""
    module = cupy.RawModule(
        code=program.text(), options=options, enable_cooperative_groups=program.cooperative
    )
    return Kernels(module, program.name, options)
