"""Copies of arrays on the host."""

from __future__ import annotations

from typing import Any


def on_host(array: Any) -> Any:
    """A NumPy array with the values of an array of CuPy; any other is returned as it is.

    On the GPU it waits for all work before it: callers say why with `# stall:`.
    """
    return array.get() if hasattr(array, "get") else array
