"""The type of what a study keeps in ``study.json``."""

from __future__ import annotations

from typing import Any, TypeAlias

# A study, a case, a run, or a part of one.
JsonObject: TypeAlias = dict[str, Any]
