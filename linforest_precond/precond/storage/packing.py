"""Records, arrays and numbers as plain values and host arrays, for files and pickles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.matrix.checked import CSR
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering

# Host arrays by the names that the packed values refer to.
HostArrays: TypeAlias = dict[str, Array]
Record = TypeVar("Record", bound=type)

# The classes that may be packed, by their names in files: a renamed class keeps its old name here.
RECORDS: dict[str, type] = {record.__name__: record for record in (Bands, BlockForest, CSR, Forest, Ordering)}
_NAMES: dict[type, str] = {record: name for name, record in RECORDS.items()}


def packable(name: str) -> Callable[[Record], Record]:
    """Class decorator: instances of a dataclass are packed under this name."""

    def register(record: Record) -> Record:
        RECORDS[name], _NAMES[record] = record, name
        return record

    return register


def pack(value: Any, name: str, arrays: HostArrays) -> Any:
    """A value as JSON can hold it; arrays are added to `arrays` under names derived from `name`."""
    if is_dataclass(value) and not isinstance(value, type):
        packed = (field.name for field in fields(value) if field.metadata.get("packed", True))
        own = {each: getattr(value, each) for each in packed}
        return {"record": _NAMES[type(value)], "fields": pack(own, name, arrays)}
    if isinstance(value, dict):
        return {key: pack(item, f"{name}.{key}", arrays) for key, item in value.items()}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        # stall: written to a file or a pickle
        arrays[name] = np.asarray(on_host(value))
        return {"array": name}
    if isinstance(value, tuple | list):
        return [pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    return value


def unpack(value: Any, arrays: HostArrays, xp: Any) -> Any:
    """The value that `pack` was given, with its arrays in the library `xp`."""
    if isinstance(value, list):
        return tuple(unpack(item, arrays, xp) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return xp.asarray(arrays[value["array"]])
    if "record" in value:
        return RECORDS[value["record"]](**unpack(value["fields"], arrays, xp))
    return {key: unpack(item, arrays, xp) for key, item in value.items()}
