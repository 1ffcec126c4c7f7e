"""Records return read-only arrays, so that users cannot change indices that kernels use."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends import array_libraries
from linforest_precond.backends.array_libraries import is_array


def handed_out(value: Any) -> Any:
    """A record or array for users: read-only views of NumPy arrays, and copies of CuPy's, which have none."""
    if is_array(value):
        return array_libraries.handed_out(value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    own = {field.name: getattr(value, field.name) for field in fields(value)}
    given = {name: handed_out(each) for name, each in own.items()}
    return value if all(given[name] is own[name] for name in own) else replace(value, **given)


class ReadOnlyArrays:
    """Records with read-only views of NumPy arrays; CuPy's are copied when users ask for them."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, array_libraries.handed_out(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Pickles and copies restore arrays as writable ones."""
        vars(self).update(state)
        self.__post_init__()
