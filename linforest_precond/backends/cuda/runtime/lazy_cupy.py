"""CuPy, imported when first used: every module of the package imports without it."""

import importlib


class _Lazy:
    def __getattr__(self, name):
        if name.startswith("__"):  # what inspection asks of any object is not CuPy's
            raise AttributeError(name)
        found = getattr(importlib.import_module("cupy"), name)
        setattr(self, name, found)
        return found


cupy = _Lazy()
