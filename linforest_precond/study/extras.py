"""Modules of the extra ``study``, imported when they are needed."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

MODULES = ("matplotlib", "jinja2", "pandas")
ADVICE = 'pip install "linforest-precond[study]"'


def study_module(name: str) -> Any:
    """A module of the extra; the error names the extra."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"studies need {name.partition('.')[0]}: {ADVICE}") from error


def require_extra() -> None:
    """Raise before hours of measurements where the report could not be written."""
    for name in MODULES:
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"the report needs {name}: {ADVICE}")
