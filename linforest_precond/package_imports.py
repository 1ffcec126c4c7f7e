"""Names of a package that are imported when they are first used: the package itself imports in no time.

A package lists its names as imports under ``if TYPE_CHECKING:``, which type checkers and editors read, and
makes them available by ``__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)``. (The scheme of
Scientific Python's SPEC 1.)
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, source: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package with this source file."""
    places = _places(Path(source).read_text(encoding="utf-8"))

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = places[name]
        if module == package:
            value: Any = importlib.import_module(f"{package}.{original}")
        else:
            value = getattr(importlib.import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted([*places, "__version__"]), sorted(places)


def _places(source: str) -> dict[str, tuple[str, str]]:
    """{name: (module, name there)} of the imports under ``if TYPE_CHECKING:``."""
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in imports
        for alias in node.names
    }
