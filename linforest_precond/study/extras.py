"""Lazy imports of the optional dependencies of the extra ``study``."""

from __future__ import annotations

import importlib.util
from typing import Any

from linforest_precond.package_imports import optional_module

MODULES = ("matplotlib", "jinja2", "pandas")
ADVICE = 'pip install "linforest-precond[study]"'


def study_module(name: str) -> Any:
    """A module of the extra; the error names the extra."""
    return optional_module(name, f"studies need {name.partition('.')[0]}: {ADVICE}")


def require_extra() -> None:
    """Raise before hours of measurements where the report could not be written."""
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"the report needs {', '.join(missing)}: {ADVICE}")
