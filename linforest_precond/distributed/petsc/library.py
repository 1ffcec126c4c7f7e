"""petsc4py, imported on first use, and the end of parallel jobs after uncaught errors."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import Any

from linforest_precond.distributed.partition.mpi import mpi4py_module


def petsc_module() -> Any:
    """The module petsc4py.PETSc, or an error that says how to install it."""
    try:
        from petsc4py import PETSc
    except ImportError as error:
        raise ImportError(
            "linforest_precond.petsc needs petsc4py and PETSc: pip install 'linforest-precond[petsc]', or"
            f" python3-petsc4py of Debian ({error})"
        ) from error
    return PETSc


def end_job_on_uncaught_error() -> None:
    """Let an uncaught error end all ranks.

    They would deadlock otherwise: the exit of the interpreter finalizes MPI, which is collective. A hook of
    the user is left alone.
    """
    if petsc_module().COMM_WORLD.size > 1 and sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_and_abort


def _print_and_abort(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    sys.__excepthook__(kind, error, traceback)
    sys.stderr.flush()
    with contextlib.suppress(ImportError):
        mpi4py_module().COMM_WORLD.Abort(1)
    os._exit(1)  # without mpi4py: mpiexec ends the job of a process that exits without finalizing MPI
