"""Warnings attributed to the user's line, however deep in the package they are raised; none of NumPy's."""

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def without_numpy_warnings(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: overflows and divisions by zero give infinities, which are handled, and no warnings.

    (`np.errstate` as a decorator is not thread-safe in NumPy 1.)
    """

    @functools.wraps(function)
    def silenced(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*args, **options)

    return silenced


def warn_user(message: str, through: Sequence[str] = ()) -> None:
    """Issue a RuntimeWarning located at the first caller outside this package and those in `through`."""
    packages = (__name__.partition(".")[0], *through)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in packages:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
