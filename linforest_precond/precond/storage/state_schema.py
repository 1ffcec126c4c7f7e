"""The schema of a whole preconditioner, and the check of its packed state against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.matrix.checks import VALUE_DTYPES, value_dtype
from linforest_precond.precond.kinds import all_kinds, kind_named
from linforest_precond.precond.pattern_digest import SCHEMA as PATTERN
from linforest_precond.precond.scaling.matrix_scaling import SCHEMA as SCALING
from linforest_precond.precond.storage.packing import HostArrays
from linforest_precond.precond.storage.schema import (
    Choice,
    Complaint,
    Fields,
    Flag,
    Integer,
    Items,
    Names,
    Nested,
    Optional,
    Real,
    Record,
    Scope,
    Table,
)

# No number in double precision has a larger binary exponent, or a smaller one than its negative.
LARGEST_EXPONENT = 1100


def numbers_are_of_one_kind(fields: Fields, names: Names) -> Complaint:
    """Real or complex, as those of the matrix."""
    dtype = np.dtype(fields["dtype"])
    if names["value"].kind != dtype.kind:
        return "dtype", f"be real or complex like the numbers of the part, {names['value']}"
    if value_dtype("A", fields["pattern"]["dtype"]) != dtype:
        return "pattern.dtype", f"be the type of a matrix with numbers in {dtype}"
    return None


def checked_state(kind: Any, state: Any, source: str) -> tuple[dict[str, Any], HostArrays]:
    """Header and arrays that passed the schema of the kind; no array is left over."""
    scope = Scope(source, {})
    Choice(*all_kinds()).check(kind, scope.inside("kind"))
    if not isinstance(state, tuple) or [type(part) for part in state] != [dict, dict]:
        scope.fail("be a table, with a table of arrays", type(state).__name__)
    header, arrays = {"exponent": 0, "scaling": None, **state[0]}, state[1]  # older files have neither
    scope = Scope(source, arrays)
    header_schema(kind).check(header, scope)
    unused = arrays.keys() - scope.checked.keys()
    if unused:
        scope.inside(min(unused, key=str)).fail("be the array of a field", "one that no field refers to")
    return header, scope.checked


def header_schema(kind: str) -> Table:
    """What `packed` gives for a kind of preconditioner."""
    return Table(
        {
            "backend": Choice("cpu", "cuda"),
            "dtype": Choice(*map(str, VALUE_DTYPES)),
            "setup": Items(Real(0.0), Flag()),
            "exponent": Integer(-LARGEST_EXPONENT, LARGEST_EXPONENT),
            "pattern": Record("Pattern", PATTERN, n="n"),
            "scaling": Optional(Record("MatrixScaling", SCALING, n="n")),
            "part": Nested(kind_named(kind).schema, n="n", value="value"),
        },
        numbers_are_of_one_kind,
    )
