"""Signs of life during long work of a command."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator


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
