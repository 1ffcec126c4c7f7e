"""Schemas of packed preconditioners: what files and pickles must hold before any of it is used.

A schema is a `FieldsSpec`, declared beside the class whose state it describes. Lengths and types have names:
``indices("n", 2, below="n")`` is an array of shape (n, 2) with numbers from 0 to n - 1. The first field that
mentions a name gives it its value, and all others must agree. A `Nested` spec has names of its own; those it
shares with the fields around it are listed. Rules connect several fields: generators of the name of a field,
what it must be, and whether it is.

All checks take time linear in the size of the arrays, and run on the host.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, NoReturn, Protocol, TypeAlias

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checks import VALUE_DTYPES

Names: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, Any]
# The name of a field, what it must be, and whether it is.
Checks: TypeAlias = Iterator[tuple[str, str, bool | np.bool_]]
Rule: TypeAlias = Callable[[Fields, Names], Checks]

LARGEST_INTEGER = 2**63 - 1
LARGEST_REAL = float(np.finfo(np.float64).max)
INDEX_DTYPES = np.dtype(np.int32), np.dtype(np.int64)


class PreconditionerFileError(ValueError):
    """A file or a pickle does not hold a preconditioner that can be restored.

    The message names the file and, where one is at fault, the field: the file is damaged or cut off, has
    another format, or its contents contradict each other.

    See Also
    --------
    load_preconditioner

    Examples
    --------
    >>> import os, tempfile
    >>> import linforest_precond as lf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "M.npz")
    ...     lf.save_preconditioner(lf.jacobi(lf.matrices.poisson(4)), path)
    ...     os.truncate(path, 100)
    ...     try:
    ...         lf.load_preconditioner(path)
    ...     except lf.PreconditionerFileError as error:
    ...         print("M.npz is not a complete preconditioner file" in str(error))
    True
    """


@dataclass(frozen=True)
class Scope:
    """Where a check is: the file, the name of the field, and the values of names so far."""

    source: str  # the file's name, for exceptions
    given: Mapping[str, Any]  # all host arrays by name
    # Those that fields refer to and that passed, contiguous and in the machine's byte order.
    checked: dict[str, Array] = field(default_factory=dict)
    names: Names = field(default_factory=dict)
    path: str = ""

    def inside(self, key: object) -> Scope:
        """The scope of a field of this one."""
        return replace(self, path=f"{self.path}.{key}" if self.path else str(key))

    def fail(self, wanted: str, *got: object) -> NoReturn:
        seen = "".join(f", got {reprlib.repr(each)}" for each in got)
        raise PreconditionerFileError(f"{self.source}: {self.path or 'the header'} must {wanted}{seen}")

    def require(self, name: str, value: object) -> None:
        """Give a name its value, or compare."""
        known = self.names.setdefault(name, value)
        if known != value:
            self.fail(f"agree with other fields, in which {name} is {known}", str(value))


class Spec(Protocol):
    """What one field must be."""

    def check(self, value: Any, scope: Scope) -> Any:
        """The checked value, with arrays in place of references to them; or a `PreconditionerFileError`."""


@dataclass(frozen=True)
class Integer:
    """An integer in [least, most]."""

    least: float = 0
    most: float = LARGEST_INTEGER
    number: ClassVar[Any] = int

    def check(self, value: Any, scope: Scope) -> Any:
        if not isinstance(value, self.number) or isinstance(value, bool) != (self.number is bool):
            scope.fail(f"be of the type {self.number.__name__}", value)
        if not self.least <= value <= self.most:
            scope.fail(f"lie in [{self.least}, {self.most}]", value)
        return value


@dataclass(frozen=True)
class Real(Integer):
    """A floating-point number in [least, most]; kernels would be compiled anew for integers."""

    least: float = -LARGEST_REAL
    most: float = LARGEST_REAL
    number = float


class Flag(Integer):
    """True or False."""

    number = bool


# What the types in place of specs stand for: numbers are not negative.
PLAIN: dict[Any, Spec] = {bool: Flag(), int: Integer(), float: Real(0.0)}


class Size:
    """The value of a name: a length that others refer to."""

    def __init__(self, name: str):
        self.name = name

    def check(self, value: Any, scope: Scope) -> Any:
        scope.require(self.name, Integer().check(value, scope))
        return value


class OneOf:
    """One of these strings, or null where None is among them."""

    def __init__(self, *choices: str | None):
        self.choices = choices

    def fits(self, value: Any) -> bool:
        return isinstance(value, str | None) and value in self.choices

    def check(self, value: Any, scope: Scope) -> str | None:
        if not self.fits(value):
            scope.fail(f"be one of {', '.join(map(repr, self.choices))}", value)
        return value


class Optional:
    """Null, or what the spec demands."""

    def __init__(self, spec: Spec):
        self.spec = spec

    def check(self, value: Any, scope: Scope) -> Any:
        return None if value is None else self.spec.check(value, scope)


class Items:
    """A list with one item for each spec."""

    def __init__(self, *specs: Spec | type):
        self.specs: list[Any] = [PLAIN.get(spec, spec) for spec in specs]

    def fits(self, value: Any) -> bool:
        return isinstance(value, list | tuple)

    def check(self, value: Any, scope: Scope) -> list[Any]:
        if not self.fits(value) or len(value) != len(self.specs):
            scope.fail(f"be a list of {len(self.specs)} items", value)
        return [spec.check(item, scope.inside(i)) for i, (spec, item) in enumerate(zip(self.specs, value))]


@dataclass(frozen=True)
class ListOf:
    """A list of [least, most] items that one spec describes."""

    spec: Spec
    least: int
    most: int

    def check(self, value: Any, scope: Scope) -> list[Any]:
        if not isinstance(value, list | tuple) or not self.least <= len(value) <= self.most:
            scope.fail(f"be a list of {self.least} to {self.most} items", value)
        return Items(*[self.spec] * len(value)).check(value, scope)


class FieldsSpec:
    """Fields by name, no more and no fewer, and rules that connect them.

    Fields are checked in the order of the specs, then the rules in theirs. `defaults` are those of fields
    that older files lack. The types bool, int and float stand for flags and numbers that are not negative.
    """

    def __init__(
        self, specs: Mapping[str, Spec | type], *rules: Rule, defaults: Mapping[str, Any] | None = None
    ):
        self.fields: dict[str, Any] = {name: PLAIN.get(spec, spec) for name, spec in specs.items()}
        self.rules, self.defaults = rules, defaults or {}

    def fits(self, value: Any) -> bool:
        """Whether a value has these fields, and a `kind` of this spec: chooses among specs."""
        if not isinstance(value, dict) or self.defaults.keys() | value.keys() != self.fields.keys():
            return False
        return "kind" not in self.fields or bool(self.fields["kind"].fits(value["kind"]))

    def check(self, value: Any, scope: Scope) -> Fields:
        if not isinstance(value, dict):
            scope.fail("be an object with fields", value)
        value = {**self.defaults, **value}
        wrong = self.fields.keys() ^ value.keys()
        if wrong:
            differing = reprlib.repr(min(wrong, key=str))
            scope.fail(f"have exactly the fields {', '.join(self.fields)}: {differing} is missing or unknown")
        checked = {name: spec.check(value[name], scope.inside(name)) for name, spec in self.fields.items()}
        for rule in self.rules:
            for name, wanted, holds in rule(checked, scope.names):
                if not holds:
                    scope.inside(name).fail(wanted)
        return checked


class Stored:
    """Base of what is stored as the fields of a schema: its attributes of these names."""

    @property
    def schema(self) -> FieldsSpec:
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """The fields, of types that `storage.state` can pack."""
        return {name: getattr(self, name) for name in self.schema.fields}


class RecordSpec(FieldsSpec):
    """The fields of a packed dataclass; those of the types bool, int and float need no spec.

    The name in files is that of the class; a renamed class keeps its old one.
    """

    by_name: ClassVar[dict[str, RecordSpec]] = {}
    by_class: ClassVar[dict[type, RecordSpec]] = {}

    def __init__(self, record: Any, specs: Mapping[str, Spec | type], *rules: Rule, name: str = ""):
        packed = {each.name: each.type for each in fields(record) if each.metadata.get("packed", True)}
        plain = {each.__name__: each for each in PLAIN}
        others = {each: plain[annotation] for each, annotation in packed.items() if each not in specs}
        super().__init__({**specs, **others}, *rules)
        self.record, self.name = record, name or record.__name__
        self.by_name[self.name] = self.by_class[record] = self

    def fits(self, value: Any) -> bool:
        is_record = isinstance(value, dict) and value.keys() == {"record", "fields"}
        return is_record and bool(value["record"] == self.name)

    def check(self, value: Any, scope: Scope) -> Fields:
        if not self.fits(value):
            scope.fail(f"be a record {self.name!r}", value)
        return super().check(value["fields"], scope)


class Nested:
    """A spec with names of its own, apart from those it shares; ``renamed[inner] = outer``."""

    def __init__(self, spec: Spec, *shared: str, **renamed: str):
        self.spec, self.names = spec, {**{name: name for name in shared}, **renamed}

    def check(self, value: Any, scope: Scope) -> Any:
        known = {inner: scope.names[outer] for inner, outer in self.names.items() if outer in scope.names}
        checked = self.spec.check(value, replace(scope, names=known))
        scope.names.update({outer: known[inner] for inner, outer in self.names.items() if inner in known})
        return checked


class Either:
    """The first of these fields, arrays and lists that fits."""

    def __init__(self, *specs: Any):
        self.specs = specs

    def check(self, value: Any, scope: Scope) -> Any:
        spec = next((spec for spec in self.specs if spec.fits(value)), None)
        if spec is None:
            scope.fail(f"be one of {len(self.specs)} known kinds of objects", value)
        return spec.check(value, scope)


class ArraySpec:
    """An array of one of `dtypes`, of finite numbers or of integers in [least, below).

    Its shape consists of numbers and names; `below` may be a name, and `dtype` is the name of its type. The
    array of a field has the field's name, so no two fields share one.
    """

    def __init__(
        self,
        dtypes: tuple[DType, ...],
        dtype: str | None,
        *shape: int | str,
        least: int = 0,
        below: int | str = 2**64,
    ):
        self.dtypes, self.dtype, self.shape, self.least, self.below = dtypes, dtype, shape, least, below

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and "array" in value

    def check(self, value: Any, scope: Scope) -> Array:
        array = scope.given.get(scope.path)
        if value != {"array": scope.path} or not isinstance(array, np.ndarray):
            scope.fail("refer to the array of its own name", value)
        dtype = array.dtype.newbyteorder("=") if array.dtype.kind in "iufc" else array.dtype
        if dtype not in self.dtypes:
            scope.fail(f"have the type {' or '.join(map(str, self.dtypes))}", str(array.dtype))
        if self.dtype is not None:
            scope.require(self.dtype, dtype)
        if array.ndim != len(self.shape):
            scope.fail(f"have {len(self.shape)} dimensions", array.shape)
        for wanted, size in zip(self.shape, array.shape):
            if isinstance(wanted, str):
                scope.require(wanted, size)
            elif size != wanted:
                scope.fail(f"have the shape {self.shape}", array.shape)
        array = np.ascontiguousarray(array, dtype)
        self.check_contents(array, scope)
        scope.checked[scope.path] = array
        return array

    def check_contents(self, array: Array, scope: Scope) -> None:
        """The names of the shape are known."""
        if array.dtype.kind in "fc":
            finite = np.isfinite(array)
            if not finite.all():
                scope.fail("be finite", array[~finite][0].item())
        elif array.size:
            below = scope.names[self.below] if isinstance(self.below, str) else self.below
            smallest, largest = int(array.min()), int(array.max())
            if smallest < self.least or largest >= below:
                scope.fail(f"hold numbers from {self.least} to {below - 1}", [smallest, largest])


class Pointers(ArraySpec):
    """Row pointers of a CSR matrix of `rows` rows: from 0, never falling, to the number of `entries`."""

    def __init__(self, rows: str, entries: str):
        super().__init__(INDEX_DTYPES, "index", f"{rows} + 1")
        self.rows, self.entries = rows, entries

    def check_contents(self, array: Array, scope: Scope) -> None:
        if not array.size or array[0] != 0 or (array[1:] < array[:-1]).any():
            scope.fail("begin with 0 and never fall")
        scope.require(self.rows, array.size - 1)
        scope.require(self.entries, int(array[-1]))


# The numbers of a preconditioner have one type, `value`; its own numbers are in the precision of the matrix.
numbers = partial(ArraySpec, VALUE_DTYPES, "value")
own_numbers = partial(ArraySpec, VALUE_DTYPES, None)
real_numbers = partial(ArraySpec, tuple(dtype for dtype in VALUE_DTYPES if dtype.kind == "f"), None)
# The index arrays of fields have one type, `index`, apart from the slots of entries in a matrix.
indices = partial(ArraySpec, INDEX_DTYPES, "index")
slots = partial(ArraySpec, INDEX_DTYPES, "slot")
counts = partial(ArraySpec, (*INDEX_DTYPES, np.dtype(np.uint32), np.dtype(np.uint64)), None)
marks = partial(ArraySpec, (np.dtype(np.uint8),), None, below=2)  # zeros and ones
words = partial(ArraySpec, (np.dtype(np.uint64),), None)


def csr_arrays(rows: str, entries: str, below: str) -> dict[str, Spec]:
    """The fields of a sparse matrix, by the names of its numbers of rows, entries and columns."""
    return {
        "data": numbers(entries),
        "indptr": Pointers(rows, entries),
        "indices": indices(entries, below=below),
    }
