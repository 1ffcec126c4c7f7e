"""Boolean arrays of NumPy or CuPy in one number.

CuPy compiles reductions of Booleans, which takes seconds in a first call; for bytes and 64-bit integers it
calls a library.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def all_set(flags: Any) -> bool:
    """Whether all flags are set. On the GPU it waits for them, as the others do: callers say why."""
    return not flags.size or bool(flags.view(np.uint8).min())


def any_set(flags: Any) -> bool:
    """Whether a flag is set."""
    return bool(flags.size) and bool(flags.view(np.uint8).max())


def count_set(flags: Any) -> int:
    """How many flags are set."""
    return int(flags.astype(np.int64).sum())
