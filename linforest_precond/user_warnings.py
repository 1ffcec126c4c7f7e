"""Warnings that point at the user's own line, however deep in the package they come up."""

import sys
import warnings


def tell(message: str) -> None:
    """Warn with a RuntimeWarning whose place is the first caller outside this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
