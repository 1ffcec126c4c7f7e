"""``linforest warmup``: compile kernels ahead of time."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from linforest_precond.app.commands.inputs import some_of
from linforest_precond.app.interrupts import Exit
from linforest_precond.app.warm_up import warmup
from linforest_precond.backends import backend_named
from linforest_precond.backends.compilation import WATCH, shown_folder
from linforest_precond.solvers.live_line import duration

DTYPES = ("float64", "float32", "complex128", "complex64")
INDEX_DTYPES = ("int32", "int64")

EPILOG = """\
Kernels are compiled when they are first called, for each type of values and indices: seconds to minutes.
This command compiles those of the preconditioners, the solvers and the graph functions, and keeps them.

examples:
  linforest warmup
  linforest warmup --dtype float64,float32 --index int32,int64

The same from Python: linforest_precond.warmup(progress=True)"""


def add_arguments(parser: ArgumentParser) -> None:
    for option, choices in (("--dtype", DTYPES), ("--index", INDEX_DTYPES)):
        parser.add_argument(
            option,
            type=some_of(choices, "type"),
            default=choices[:1],
            metavar="TYPE[,TYPE]",
            help=f"some of {', '.join(choices)} (default: {choices[0]})",
        )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: Namespace) -> int:
    began, before = time.perf_counter(), WATCH.functions
    for dtype in arguments.dtype:
        for index_dtype in arguments.index:
            warmup(dtype, index_dtype, progress=not arguments.quiet)
    seconds, compiled = time.perf_counter() - began, WATCH.functions - before
    kept = (
        f"kept in {shown_folder()}"
        if backend_named("cpu").runtime.jit.cache_folder()
        else "not kept: no folder can be written"
    )
    print(f"compiled {compiled:,} functions in {duration(seconds)}, {kept}")
    return Exit.DONE
