"""The lowest subpackage, used by all others: CuPy on demand, compiling and launching of kernels."""

import importlib


class _Lazy:
    """CuPy, imported on first use: every module of the package can be imported without it."""

    def __getattr__(self, name):
        if name.startswith("__"):  # Python's introspection must not import CuPy
            raise AttributeError(name)
        found = getattr(importlib.import_module("cupy"), name)
        setattr(self, name, found)
        return found


cupy = _Lazy()
