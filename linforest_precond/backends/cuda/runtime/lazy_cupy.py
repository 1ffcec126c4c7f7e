"""CuPy, imported on first use."""

import importlib


class _Lazy:
    """Every module of the package can be imported without CuPy."""

    def __getattr__(self, name):
        if name.startswith("__"):  # Python's introspection must not import CuPy
            raise AttributeError(name)
        found = getattr(importlib.import_module("cupy"), name)
        setattr(self, name, found)
        return found


cupy = _Lazy()
