"""Warnings attributed to the user's line, however deep in the package they are raised."""

import sys
import warnings


def warn_user(message: str) -> None:
    """Issue a RuntimeWarning whose location is the first caller outside this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
