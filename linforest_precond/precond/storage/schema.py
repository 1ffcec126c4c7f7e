"""Schemas validate files and pickles of preconditioners before any array of them is used.

A schema is a `FieldsSpec`: of the specs in the annotations of the class whose state it describes, see
`of_fields`, or declared beside it. The spec of a field is a function that returns the checked value, with
arrays in place of references to them, or raises a `PreconditionerFileError`. The types bool, int and float
stand for flags and numbers that are not negative.

Lengths and types have names: ``indices("n", 2, below="n")`` is an array of shape (n, 2) with numbers from 0
to n - 1. The first field that mentions a name gives it its value, and all others must agree. A `nested` spec
has names of its own; those it shares with the fields around it are listed. Rules connect several fields:
generators of the name of a field, what it must be, and whether it is.

All checks take time linear in the size of the arrays, and run on the host.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    NoReturn,
    ParamSpec,
    TypeAlias,
    get_origin,
    get_type_hints,
)

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checks import VALUE_DTYPES

Names: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, Any]
# Checks of a rule: the name of a field, the requirement in words, and whether it holds.
Checks: TypeAlias = Iterator[tuple[str, str, bool | np.bool_]]
Rule: TypeAlias = Callable[[Fields, Names], Checks]
Spec: TypeAlias = Callable[[Any, "Scope"], Any]
Specs: TypeAlias = Mapping[str, Spec | type]
Parameters = ParamSpec("Parameters")

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
    """The position of a check: the file, the name of the field, and the values of names so far."""

    source: str  # the file's name, for exceptions
    arrays: dict[str, Any]  # host arrays by name; checked ones are removed
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


def spec(check: Callable[Concatenate[Any, Scope, Parameters], Any]) -> Callable[Parameters, Spec]:
    """A function of the other parameters of a check, which returns the spec."""
    return lambda *args, **kwargs: lambda value, scope: check(value, scope, *args, **kwargs)


@spec
def number(
    value: Any, scope: Scope, /, kind: Any, least: float = 0, most: float = LARGEST_INTEGER, name: str = ""
) -> Any:
    """A number of a type in [least, most], which may be the value of a name."""
    # An integer in place of a real would compile kernels again.
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        scope.fail(f"be of the type {kind.__name__}", value)
    if not least <= value <= most:
        scope.fail(f"lie in [{least}, {most}]", value)
    if name:
        scope.require(name, value)
    return value


integer = partial(number, int)
# A length to which other specs refer by its name.
size = partial(number, int, 0, LARGEST_INTEGER)


def real(least: float = -LARGEST_REAL, most: float = LARGEST_REAL) -> Spec:
    return number(float, least, most)


# The specs of the types bool, int and float.
PLAIN: dict[Any, Spec] = {bool: number(bool), int: integer(), float: real(0.0)}


@spec
def one_of(value: Any, scope: Scope, /, *choices: str | None) -> Any:
    """One of these strings, or null where None is among them."""
    if not isinstance(value, str | None) or value not in choices:
        scope.fail(f"be one of {', '.join(map(repr, choices))}", value)
    return value


@spec
def optional(value: Any, scope: Scope, /, other: Spec) -> Any:
    """Null, or what the other spec demands."""
    return None if value is None else other(value, scope)


@spec
def items(
    value: Any, scope: Scope, /, *specs: Spec | type, length: tuple[int, int] | None = None
) -> list[Any]:
    """A list with an item for each spec; or of a length in this range, with items of the one spec."""
    least, most = length or (len(specs), len(specs))
    if not isinstance(value, list | tuple) or not least <= len(value) <= most:
        scope.fail(f"be a list of {' to '.join(map(str, sorted({least, most})))} items", value)
    pairs = enumerate(zip(itertools.cycle(specs), value))
    return [PLAIN.get(each, each)(item, scope.inside(i)) for i, (each, item) in pairs]


@spec
def nested(value: Any, scope: Scope, /, inner: Spec, *shared: str, **renamed: str) -> Any:
    """A spec with names of its own, apart from those it shares; ``renamed[inner] = outer``."""
    renamed |= {name: name for name in shared}
    names = {own: scope.names[outer] for own, outer in renamed.items() if outer in scope.names}
    checked = inner(value, replace(scope, names=names))
    scope.names.update({outer: names[own] for own, outer in renamed.items() if own in names})
    return checked


@spec
def either(value: Any, scope: Scope, /, otherwise: Spec | None = None, **specs: Spec) -> Any:
    """The first spec whose name is that of a field of the value, its kind, or its record."""
    table = value if isinstance(value, dict) else {}
    found = [*table, str(table.get("kind")), str(table.get("record"))]
    chosen = next((specs[name] for name in specs if name in found), otherwise)
    if chosen is None:
        scope.fail(f"be one of {', '.join(specs)}, or have such a field", value)
    return chosen(value, scope)


@spec
def array(
    value: Any,
    scope: Scope,
    /,
    dtypes: tuple[DType, ...],
    dtype: str,
    *shape: int | str,
    least: int = 0,
    below: int | str = 2**64,
) -> Array:
    """An array of one of `dtypes`, of finite numbers or of integers in [least, below).

    Its shape consists of numbers and names, to which a number may be added: "n + 1". `below` may be a name,
    and `dtype` is the name of its type. The array of a field has the field's name, so no two fields share
    one. The result is contiguous and in the machine's byte order.
    """
    given = scope.arrays.pop(scope.path, None)
    if value != {"array": scope.path} or not isinstance(given, np.ndarray):
        scope.fail("refer to the array of its own name", value)
    native = given.dtype.newbyteorder("=") if given.dtype.kind in "iufc" else given.dtype
    if native not in dtypes:
        scope.fail(f"have the type {' or '.join(map(str, dtypes))}", str(given.dtype))
    if dtype:
        scope.require(dtype, native)
    if given.ndim != len(shape):
        scope.fail(f"have {len(shape)} dimensions", given.shape)
    for wanted, length in zip(shape, given.shape):
        name, _, more = str(wanted).partition(" + ")
        if isinstance(wanted, str):
            scope.require(name, length - int(more or 0))
        elif length != wanted:
            scope.fail(f"have the shape {shape}", given.shape)
    _check_numbers(given, scope, least, scope.names[below] if isinstance(below, str) else below)
    return np.ascontiguousarray(given, native)


def _check_numbers(given: Array, scope: Scope, least: int, below: int) -> None:
    if given.dtype.kind in "fc":
        finite = np.isfinite(given)
        if not finite.all():
            scope.fail("be finite", given[~finite][0].item())
    elif given.size:
        smallest, largest = int(given.min()), int(given.max())
        if smallest < least or largest >= below:
            scope.fail(f"hold numbers from {least} to {below - 1}", [smallest, largest])


# `numbers` are in the stored type, named `value`; `own_numbers` are in the precision of the matrix.
numbers = partial(array, VALUE_DTYPES, "value")
own_numbers = partial(array, VALUE_DTYPES, "")
real_numbers = partial(array, tuple(dtype for dtype in VALUE_DTYPES if dtype.kind == "f"), "")
# Index arrays have one type, named `index`; slots of entries have a type of their own.
indices = partial(array, INDEX_DTYPES, "index")
slots = partial(array, INDEX_DTYPES, "slot")
counts = partial(array, (*INDEX_DTYPES, np.dtype(np.uint32), np.dtype(np.uint64)), "")
marks = partial(array, (np.dtype(np.uint8),), "", below=2)  # zeros and ones
words = partial(array, (np.dtype(np.uint64),), "")


class Checked(dict[str, Any]):
    """Checked fields, with the function that restores an object from them."""

    make: Callable[..., Any]


class FieldsSpec:
    """Fields by name, no more and no fewer, and rules that connect them.

    Fields are checked in the order of the specs, then the rules in theirs. `defaults` are those of fields
    that older files lack. `make` restores what has these fields: a table, or the object of a `Stored` class.
    """

    make: Callable[..., Any] = dict

    def __init__(self, specs: Specs, *rules: Rule, defaults: Fields | None = None):
        self.fields: dict[str, Any] = {name: PLAIN.get(spec, spec) for name, spec in specs.items()}
        self.rules, self.defaults = rules, defaults or {}

    def __call__(self, value: Any, scope: Scope) -> Checked:
        if not isinstance(value, dict):
            scope.fail("be an object with fields", value)
        value = {**self.defaults, **value}
        wrong = self.fields.keys() ^ value.keys()
        if wrong:
            differing = reprlib.repr(min(wrong, key=str))
            scope.fail(f"have exactly the fields {', '.join(self.fields)}: {differing} is missing or unknown")
        checked = Checked({name: spec(value[name], scope.inside(name)) for name, spec in self.fields.items()})
        checked.make = self.make
        for rule in self.rules:
            for name, wanted, holds in rule(checked, scope.names):
                if not holds:
                    scope.inside(name).fail(wanted)
        return checked


class Stored:
    """Base of classes that are stored as the fields of a schema, their attributes of the same names.

    A class names its schema, or one for each of its kinds. Its method `from_state`, or else its constructor,
    restores an object from the fields.
    """

    schema: ClassVar[FieldsSpec | dict[str, FieldsSpec]]
    kind: Any  # of a class with several

    def __init_subclass__(cls) -> None:
        schema = cls.__dict__.get("schema", {})
        for each in schema.values() if isinstance(schema, dict) else [schema]:
            each.make = getattr(cls, "from_state", cls)

    def state(self) -> dict[str, Any]:
        """The fields, of types that `operator_state` can pack."""
        schema = self.schema[self.kind] if isinstance(self.schema, dict) else self.schema
        return {name: getattr(self, name) for name in schema.fields}


def of_fields(
    stored: type[Stored], *rules: Rule, defaults: Fields | None = None, **others: Any
) -> FieldsSpec:
    """The schema of a dataclass: some other fields, then those that are annotated with a spec.

    The types bool, int and float need none.
    """
    specs = others
    for name, hint in get_type_hints(stored, include_extras=True).items():
        if hint in PLAIN or get_origin(hint) is Annotated:
            specs.setdefault(name, hint if hint in PLAIN else hint.__metadata__[0])
    stored.schema = FieldsSpec(specs, *rules, defaults=defaults)
    stored.schema.make = getattr(stored, "from_state", stored)
    return stored.schema


class RecordSpec(FieldsSpec):
    """The fields of a packed dataclass; those of the types bool, int and float need no spec."""

    by_class: ClassVar[dict[type, RecordSpec]] = {}

    def __init__(self, record: Any, specs: Specs, *rules: Rule, name: str = ""):
        packed = {each.name: each.type for each in fields(record) if each.metadata.get("packed", True)}
        plain = {each.__name__: each for each in PLAIN}
        others = {each: plain[annotation] for each, annotation in packed.items() if each not in specs}
        super().__init__({**specs, **others}, *rules)
        self.make, self.name = record, name or record.__name__
        self.by_class[record] = self

    def __call__(self, value: Any, scope: Scope) -> Checked:
        match value:
            case {"record": self.name, "fields": own, **others} if not others:
                return super().__call__(own, scope)
        scope.fail(f"be a record {self.name!r}", value)
