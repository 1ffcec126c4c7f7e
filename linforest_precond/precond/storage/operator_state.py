"""Preconditioners are packed as plain values and host arrays, for files and pickles."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np

from linforest_precond.backends import Backend, backend_named, cuda_status
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.matrix.checks import VALUE_DTYPES, value_dtype
from linforest_precond.matrix.pattern_digest import PatternDigest
from linforest_precond.precond.kinds import all_kinds, kind_named
from linforest_precond.precond.parts.part import OperatorState, SetupTime
from linforest_precond.precond.scaling.matrix_scaling import SCALING
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.schema import Checked, RecordSpec, Stored

# A header of plain values, and host arrays by the names that it refers to.
Packed: TypeAlias = tuple[dict[str, Any], dict[str, Array]]

# Names of the types that a user's matrix may have, in both byte orders.
NATIVE_DTYPES = [np.dtype(code) for code in "?bBhHiIlLqQfdFD"]
MATRIX_DTYPES = {str(dtype) for native in NATIVE_DTYPES for dtype in (native, native.newbyteorder())}
PATTERN = schema.RecordSpec(
    PatternDigest,
    {
        "form": schema.one_of("bsr", "coo", "csc", "csr", "dense", "dia", "dok", "lil"),
        "dtype": schema.one_of(*MATRIX_DTYPES),
        "shape": schema.items(schema.size("n"), schema.size("n")),
        "digest": schema.words(2),
    },
    name="Pattern",
)

# Larger than the magnitude of every binary exponent in double precision.
LARGEST_EXPONENT = 1100


def packed_state(state: OperatorState) -> Packed:
    arrays: dict[str, Array] = {}
    fields = {
        "backend": state.backend.name,
        "dtype": str(state.dtype),
        "setup": (state.setup.milliseconds, state.setup.first),
        "exponent": state.exponent,
        "systems": state.systems,
        "pattern": state.pattern,
        "scaling": getattr(state.part, "scaling", None),
        "part": state.part.state(),
    }
    return {name: pack(value, name, arrays) for name, value in fields.items()}, arrays


def restored_state(kind: str, packed: Packed, source: str) -> OperatorState:
    """The state that was packed, on the GPU if it was there and a GPU is usable.

    All of it is checked on the host before any of it is used; `PreconditionerFileError` names the source.
    """
    checked = checked_state(kind, packed, source)
    backend = _restored_backend(checked["backend"])
    with warnings.catch_warnings():  # the user was warned when it was made
        warnings.simplefilter("ignore", RuntimeWarning)
        fields = unpack(checked, backend.xp)
    part, scaling, pattern = (fields[name] for name in ("part", "scaling", "pattern"))
    part = part if scaling is None else ScaledPart(part, scaling)
    milliseconds, first = fields["setup"]
    setup, device = SetupTime(lambda: milliseconds, first), getattr(pattern.digest, "device", None)
    own = part, pattern, np.dtype(fields["dtype"]), setup, backend, device
    return OperatorState(*own, fields["exponent"], systems=fields["systems"])


def _restored_backend(name: str) -> Backend:
    if name == "cuda":
        usable, reason = cuda_status()
        if usable:
            return backend_named("cuda")
        warn_user(f"the preconditioner was made on a GPU and is restored on the CPU: {reason}")
    return backend_named("cpu")


def pack(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """A value as JSON can hold it; arrays are added to `arrays` under names derived from `name`."""
    if isinstance(value, Stored):
        return pack(value.state(), name, arrays)
    if type(value) in RecordSpec.by_class:
        spec = RecordSpec.by_class[type(value)]
        own = {field: getattr(value, field) for field in spec.fields}
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


def unpack(checked: Any, xp: Any) -> Any:
    """The inverse of `pack` for checked fields, with arrays in the library `xp`."""
    if isinstance(checked, np.ndarray):
        return xp.asarray(checked)
    if isinstance(checked, list):
        return tuple(unpack(item, xp) for item in checked)
    if isinstance(checked, Checked):
        return checked.make(**{name: unpack(item, xp) for name, item in checked.items()})
    return checked


def moved(part: Stored, schema_of_part: schema.FieldsSpec, xp: Any) -> Any:
    """A part with its arrays in the library `xp`: packed on the host, checked, and restored."""
    arrays: dict[str, Array] = {}
    packed = pack(part, "part", arrays)
    return unpack(schema_of_part(packed, schema.Scope("a part that is moved", arrays, path="part")), xp)


def header_fits_part(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Numbers are real or complex as those of the matrix, and a stack of systems has its rows."""
    dtype, value = np.dtype(fields["dtype"]), names["value"]
    yield "dtype", f"be real or complex like the numbers of the part, {value}", value.kind == dtype.kind
    same = value_dtype("A", fields["pattern"]["dtype"]) == dtype
    yield "pattern.dtype", f"be the type of a matrix with numbers in {dtype}", same
    systems, n = fields["systems"], names["n"]
    yield "systems", f"have {n} rows in all", systems is None or systems[0] * systems[1] == n


def checked_state(kind: Any, packed: Any, source: str) -> schema.Fields:
    """The fields of the header, with their arrays, after the checks of the kind's schema."""
    scope = schema.Scope(source, {})
    schema.one_of(*all_kinds())(kind, scope.inside("kind"))
    if not isinstance(packed, tuple) or [type(each) for each in packed] != [dict, dict]:
        scope.fail("be a table, with a table of arrays", type(packed).__name__)
    header = schema.FieldsSpec(
        {
            "backend": schema.one_of("cpu", "cuda"),
            "dtype": schema.one_of(*map(str, VALUE_DTYPES)),
            "setup": schema.items(float, bool),
            "exponent": schema.integer(-LARGEST_EXPONENT, LARGEST_EXPONENT),
            "systems": schema.optional(schema.items(int, int)),
            "pattern": schema.nested(PATTERN, "n"),
            "scaling": schema.optional(schema.nested(SCALING, "n")),
            "part": schema.nested(kind_named(kind).schema, "n", "value"),
        },
        header_fits_part,
        defaults={"exponent": 0, "scaling": None, "systems": None},
    )
    scope = schema.Scope(source, dict(packed[1]))
    checked = header(packed[0], scope)
    if scope.arrays:
        scope.inside(min(scope.arrays, key=str)).fail("be the array of a field")
    return checked
