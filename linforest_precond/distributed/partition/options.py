"""Arguments of functions over ranks: wrong or different ones are refused by all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from linforest_precond.distributed.partition.matrix import Matrix

Options = TypeVar("Options")


def check_matrix(A: Any) -> None:
    """Refuse what is not a matrix over ranks; there is no communicator then to tell the others."""
    if not isinstance(A, Matrix):
        raise TypeError(
            f"A must be a distributed.Matrix, got {type(A).__name__}; distributed.scatter makes one"
        )


def agreed_options(A: Matrix, check: Callable[[], Options]) -> Options:
    """The options that `check` returns, which must be the same on all ranks."""
    check_matrix(A)
    with A.comm.checking():
        options = check()
    A.comm.same("the options", options)
    return options
