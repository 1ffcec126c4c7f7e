"""Schemas of packed preconditioners: what files and pickles must hold before any of it is used.

A schema is a `Table` of fields, declared beside the class whose state it describes. Lengths and types have
names: ``Indices("n", 2, below="n")`` is an array of shape (n, 2) with numbers from 0 to n - 1. The first
field that mentions a name gives it its value, and all others must agree. A `Nested` table has names of its
own; those it shares with the table around it are listed. Rules connect several fields: functions of the
checked fields that return the name of a field and what it must be, or None.

All checks take time linear in the size of the arrays, and run on the host.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from linforest_precond.backends.annotations import Array

Names: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, Any]
# The name of a field and what it must be, where that does not hold.
Complaint: TypeAlias = tuple[str, str] | None
Rule: TypeAlias = Callable[[Fields, Names], Complaint]

LARGEST_INTEGER = 2**63 - 1
LARGEST_REAL = float(np.finfo(np.float64).max)


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
    """Where a check is: the file, the name of the field, and the values of names so far.

    Attributes
    ----------
    source
        The file's name, for exceptions.
    given, checked
        All host arrays by name; those that fields referred to and that passed, contiguous and in the
        machine's byte order.
    """

    source: str
    given: Mapping[str, Any]
    checked: dict[str, Array] = field(default_factory=dict)
    names: Names = field(default_factory=dict)
    path: str = ""

    def inside(self, key: object) -> Scope:
        """The scope of a field of this one."""
        return replace(self, path=f"{self.path}.{key}" if self.path else str(key))

    def nested(self, names: Mapping[str, str]) -> Scope:
        """The same place with names of its own; ``names[inner] = outer`` are known already."""
        known = {inner: self.names[outer] for inner, outer in names.items() if outer in self.names}
        return replace(self, names=known)

    def fail(self, wanted: str, got: object) -> NoReturn:
        shown = got if isinstance(got, _Words) else reprlib.repr(got)
        raise PreconditionerFileError(
            f"{self.source}: {self.path or 'the header'} must {wanted}, got {shown}"
        )

    def require(self, name: str, value: object, what: str) -> None:
        """Give a name its value, or compare."""
        known = self.names.setdefault(name, value)
        if known != value:
            self.fail(f"have the {what} {known} of {name}, as other fields have it", _Words(value))


class _Words(str):
    """Text of an exception that is shown without quotes."""

    __slots__ = ()


class Spec(Protocol):
    """What one field must be."""

    def check(self, value: Any, scope: Scope) -> Any:
        """The checked value, with arrays in place of references to them; or a `PreconditionerFileError`."""


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: Any, scope: Scope) -> bool:
        if not isinstance(value, bool):
            scope.fail("be true or false", value)
        return value


class Choice:
    """One of these strings."""

    def __init__(self, *choices: str):
        self.choices = choices

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.choices

    def check(self, value: Any, scope: Scope) -> str:
        if not self.accepts(value):
            scope.fail(f"be one of {', '.join(map(repr, self.choices))}", value)
        return str(value)


@dataclass(frozen=True)
class Integer:
    """An integer in [least, most]."""

    least: int = 0
    most: int = LARGEST_INTEGER

    def check(self, value: Any, scope: Scope) -> int:
        if type(value) is not int:
            scope.fail("be an integer", value)
        if not self.least <= value <= self.most:
            scope.fail(f"lie in [{self.least}, {self.most}]", value)
        return value


@dataclass(frozen=True)
class Size:
    """The value of a name: a length that others refer to."""

    name: str

    def check(self, value: Any, scope: Scope) -> int:
        size = Integer().check(value, scope)
        scope.require(self.name, size, "value")
        return size


@dataclass(frozen=True)
class Real:
    """A finite number in [least, most]."""

    least: float = -LARGEST_REAL
    most: float = LARGEST_REAL

    def check(self, value: Any, scope: Scope) -> float:
        if not isinstance(value, float):  # kernels would be compiled anew for integers
            scope.fail("be a floating-point number", value)
        if not self.least <= value <= self.most:
            wanted = (
                "be finite" if math.isinf(self.most - self.least) else f"lie in [{self.least}, {self.most}]"
            )
            scope.fail(wanted, value)
        return value


@dataclass(frozen=True)
class Null:
    """Null."""

    def check(self, value: Any, scope: Scope) -> None:
        if value is not None:
            scope.fail("be null", value)


@dataclass(frozen=True)
class Optional:
    """Null, or what the spec demands."""

    spec: Spec

    def check(self, value: Any, scope: Scope) -> Any:
        return None if value is None else self.spec.check(value, scope)


class Items:
    """A list with one item for each spec."""

    def __init__(self, *specs: Spec):
        self.specs = specs

    def fits(self, value: Any) -> bool:
        return isinstance(value, list | tuple)

    def check(self, value: Any, scope: Scope) -> list[Any]:
        if not isinstance(value, list | tuple) or len(value) != len(self.specs):
            scope.fail(f"be a list of {len(self.specs)}", value)
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
        return [self.spec.check(item, scope.inside(i)) for i, item in enumerate(value)]


class Table:
    """Fields by name, no more and no fewer, and rules that connect them.

    Fields are checked in the order of the table, then the rules in theirs. `defaults` are those of fields
    that older files lack.
    """

    def __init__(self, fields: Mapping[str, Spec], *rules: Rule, defaults: Mapping[str, Any] | None = None):
        self.fields, self.rules, self.defaults = fields, rules, defaults or {}

    def fits(self, value: Any) -> bool:
        """Whether a value has these fields, and a `kind` of this table: chooses among tables."""
        if not isinstance(value, dict) or self.defaults.keys() | value.keys() != self.fields.keys():
            return False
        kind = self.fields.get("kind")
        return not isinstance(kind, Choice) or kind.accepts(value["kind"])

    def check(self, value: Any, scope: Scope) -> Fields:
        if not isinstance(value, dict):
            scope.fail("be an object with fields", value)
        value = {**self.defaults, **value}
        missing, unknown = self.fields.keys() - value.keys(), value.keys() - self.fields.keys()
        if missing or unknown:
            wrong = f"lacks {min(missing)}" if missing else f"has {reprlib.repr(min(unknown, key=str))}"
            scope.fail(f"have exactly the fields {', '.join(self.fields)}", _Words(f"one that {wrong}"))
        checked = {name: spec.check(value[name], scope.inside(name)) for name, spec in self.fields.items()}
        for rule in self.rules:
            complaint = rule(checked, scope.names)
            if complaint is not None:
                name, wanted = complaint
                scope.inside(name).fail(wanted, _Words("other contents"))
        return checked


class Nested:
    """A table with names of its own, apart from those in ``names[inner] = outer``."""

    def __init__(self, spec: Any, **names: str):
        self.spec, self.names = spec, names

    def fits(self, value: Any) -> bool:
        return bool(self.spec.fits(value))

    def check(self, value: Any, scope: Scope) -> Any:
        own = scope.nested(self.names)
        checked = self.spec.check(value, own)
        scope.names.update(
            {outer: own.names[inner] for inner, outer in self.names.items() if inner in own.names}
        )
        return checked


class Record:
    """A packed dataclass under its name in files: a `Nested` table."""

    def __init__(self, record: str, table: Table, **names: str):
        self.record, self.content = record, Nested(table, **names)

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and value.get("record") == self.record

    def check(self, value: Any, scope: Scope) -> Fields:
        if not self.fits(value) or value.keys() != {"record", "fields"}:
            scope.fail(f"be a record {self.record!r}", value)
        checked: Fields = self.content.check(value["fields"], scope)
        return checked


class OneOf:
    """The first of these tables, records, arrays and lists that fits."""

    def __init__(self, *specs: Any):
        self.specs = specs

    def fits(self, value: Any) -> bool:
        return any(spec.fits(value) for spec in self.specs)

    def check(self, value: Any, scope: Scope) -> Any:
        spec = next((spec for spec in self.specs if spec.fits(value)), None)
        if spec is None:
            scope.fail(f"be one of {len(self.specs)} known kinds of objects", value)
        return spec.check(value, scope)
