"""The packed state of a preconditioner: plain values and host arrays, for files and pickles."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.matrix.checks import VALUE_DTYPES, value_dtype
from linforest_precond.precond.kinds import all_kinds, kind_named
from linforest_precond.precond.pattern_digest import PATTERN
from linforest_precond.precond.scaling.matrix_scaling import SCALING
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.schema import RecordSpec, Stored

# Host arrays by the names that the packed values refer to.
HostArrays: TypeAlias = dict[str, Array]

# No number in double precision has a larger binary exponent, or a smaller one than its negative.
LARGEST_EXPONENT = 1100


def pack(value: Any, name: str, arrays: HostArrays) -> Any:
    """A value as JSON can hold it; arrays are added to `arrays` under names derived from `name`."""
    if isinstance(value, Stored):
        return pack(value.state(), name, arrays)
    if is_dataclass(value) and not isinstance(value, type):
        spec = RecordSpec.by_class[type(value)]
        own = {each.name: getattr(value, each.name) for each in fields(value) if each.name in spec.fields}
        return {"record": spec.name, "fields": pack(own, name, arrays)}
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
    if isinstance(value, list | tuple):
        return tuple(unpack(item, arrays, xp) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return xp.asarray(arrays[value["array"]])
    if "record" in value:
        return RecordSpec.by_name[value["record"]].record(**unpack(value["fields"], arrays, xp))
    return {key: unpack(item, arrays, xp) for key, item in value.items()}


def numbers_are_of_one_kind(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Real or complex, as those of the matrix."""
    dtype, value = np.dtype(fields["dtype"]), names["value"]
    yield "dtype", f"be real or complex like the numbers of the part, {value}", value.kind == dtype.kind
    same = value_dtype("A", fields["pattern"]["dtype"]) == dtype
    yield "pattern.dtype", f"be the type of a matrix with numbers in {dtype}", same


def systems_have_all_rows(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    systems, n = fields["systems"], names["n"]
    yield "systems", f"have {n} rows in all", systems is None or systems[0] * systems[1] == n


def header_schema(kind: str) -> schema.FieldsSpec:
    """What `packed` gives for a kind of preconditioner."""
    return schema.FieldsSpec(
        {
            "backend": schema.OneOf("cpu", "cuda"),
            "dtype": schema.OneOf(*map(str, VALUE_DTYPES)),
            "setup": schema.Items(float, bool),
            "exponent": schema.Integer(-LARGEST_EXPONENT, LARGEST_EXPONENT),
            "systems": schema.Optional(schema.Items(int, int)),
            "pattern": schema.Nested(PATTERN, "n"),
            "scaling": schema.Optional(schema.Nested(SCALING, "n")),
            "part": schema.Nested(kind_named(kind).schema, "n", "value"),
        },
        numbers_are_of_one_kind,
        systems_have_all_rows,
    )


def checked_state(kind: Any, state: Any, source: str) -> tuple[dict[str, Any], HostArrays]:
    """Header and arrays that passed the schema of the kind; no array is left over."""
    scope = schema.Scope(source, {})
    schema.OneOf(*all_kinds()).check(kind, scope.inside("kind"))
    if not isinstance(state, tuple) or [type(part) for part in state] != [dict, dict]:
        scope.fail("be a table, with a table of arrays", type(state).__name__)
    # Older files have no such fields.
    header, arrays = {"exponent": 0, "scaling": None, "systems": None, **state[0]}, state[1]
    scope = schema.Scope(source, arrays)
    header_schema(kind).check(header, scope)
    unused = arrays.keys() - scope.checked.keys()
    if unused:
        scope.inside(min(unused, key=str)).fail("be the array of a field")
    return header, scope.checked
