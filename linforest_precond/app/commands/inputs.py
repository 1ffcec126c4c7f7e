"""Options that the commands share: the matrix, the device, and progress output."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from linforest_precond.backends import require_device
from linforest_precond.matrices.generators.by_name import help_text

MATRIX_HELP = f"""\
A is a file (Matrix Market .mtx, Rutherford-Boeing .rb, MATLAB .mat, SciPy .npz), a matrix of the SuiteSparse
collection by its name (ecology1, HB/494_bus: downloaded once and cached), or a generated one, such as

{help_text()}

A file whose name starts with - is given as ./-A.mtx."""

LONGEST_BYTES = 100


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("matrix", metavar="A", help="a file, or the name of a matrix (see below)")
    add_device(parser)
    parser.add_argument("--offline", action="store_true", default=None, help="download nothing")


def add_device(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)"
    )


def check_device(device: str) -> None:
    """Raise before any work if the GPU is not usable."""
    require_device(device, "--device cuda", "--device cpu works everywhere")


def some_of(choices: Collection[str], what: str, read: Callable[[str], str] = str) -> Callable[[str], Any]:
    """The parser of an option that takes several words, separated by commas."""

    def parse(text: str) -> tuple[str, ...]:
        words = tuple(read(word.strip()) for word in text.split(",") if word.strip())
        unknown = [word for word in words if word not in choices]
        if unknown or not words:
            raise ArgumentTypeError(f"{', '.join(unknown) or f'no {what}'} is none of {', '.join(choices)}")
        return words

    return parse


def plain_name(name: str) -> str:
    """A matrix's name made fit for a file name: short, no folder, no suffix, no colon."""
    text = Path(name).name if os.path.exists(name) else name
    text = re.sub(r"(\.(mtx|rb|rsa|rua|psa|pua|npz|tar|gz))+$", "", text)
    text = re.sub(r"[^\w.+-]+", "-", text).encode()[:LONGEST_BYTES].decode(errors="ignore")
    return text.strip("-") or "matrix"


@contextlib.contextmanager
def watched(quiet: bool) -> Iterator[bool]:
    """Whether a solver shall show its live line: on a terminal; elsewhere its log goes to the standard error.

    The log has a line every few seconds, and none for a short solve.
    """
    if quiet or sys.stderr is None or sys.stderr.isatty():
        yield not quiet and sys.stderr is not None
        return
    logger, handler = logging.getLogger("linforest_precond.solvers"), logging.StreamHandler(sys.stderr)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield False
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
