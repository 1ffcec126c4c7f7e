"""Options in PETSc's database: the arguments of the Python functions by name.

The argument `seed` is ``-pc_linforest_seed``, after the prefix of the PC. Names and types come from the
signatures of the functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_origin

from linforest_precond import distributed
from linforest_precond.backends import annotations as argument_types
from linforest_precond.backends.arguments import as_choice
from linforest_precond.chooser.solver import auto
from linforest_precond.distributed.petsc.library import petsc_module
from linforest_precond.graph.forest.factor import FactorKeywords
from linforest_precond.precond.kinds import faces

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: face.function for name, face in faces().items()},
    "auto": auto,
}
SCOPES = "local", "global"
STEM = "pc_linforest_"
# Options of the preconditioner itself; all others are arguments of the function.
OWN = "kind", "scope", "update"
# The argument that makes a stack of systems: PETSc gives one matrix.
STACK = "values"
# Annotations of arguments that are read as text.
WORDS = {"str", "npt.DTypeLike", "Any"}
# As PETSc reads them.
TRUE, FALSE = ("", "1", "true", "yes", "on"), ("0", "false", "no", "off")


def function_of(kind: str, scope: str) -> Callable[..., Any]:
    """The function that sets up a kind of preconditioner for one block or for all ranks."""
    if scope == "local":
        return FUNCTIONS[kind]
    known = [name for name in FUNCTIONS if hasattr(distributed, name)]
    as_choice(f"{STEM}kind with {STEM}scope global", kind, known)
    return getattr(distributed, kind)


@dataclass(frozen=True)
class PCSettings:
    """The settings of a PC: kind, scope, whether new values update it, and the arguments of the function."""

    kind: str = "tridiagonal"
    scope: str = "local"
    update: bool = True
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PCSettings:
        """From keyword arguments of the user."""
        own = {name: options[name] for name in OWN if name in options}
        arguments = {name: value for name, value in options.items() if name not in own}
        return cls(**own, arguments=arguments).checked()

    def checked(self, prefix: str = "") -> PCSettings:
        """Itself; an error that names a word or an argument that there is not."""
        as_choice(f"{prefix}{STEM}kind", self.kind, FUNCTIONS)
        as_choice(f"{prefix}{STEM}scope", self.scope, SCOPES)
        unknown = [name for name in self.arguments if name not in self.parameters]
        if unknown:
            raise ValueError(self.refusal(prefix, unknown))
        return self

    def refusal(self, prefix: str, unknown: Iterable[str]) -> str:
        """The message for options that there are not."""
        names = ", ".join(f"-{prefix}{STEM}{name}" for name in unknown)
        known = ", ".join([*OWN, *self.parameters])
        what = f"kind {self.kind} and scope {self.scope}"
        return f"{names}: no such option of {what}, which take -{prefix}{STEM} with {known}"

    def help(self, prefix: str) -> list[str]:
        """Lines for -help: the options of the kind, their types and values."""
        own = {
            "kind": "one of " + " ".join(FUNCTIONS),
            "scope": "one of " + " ".join(SCOPES),
            "update": "bool",
        }
        values = {"kind": self.kind, "scope": self.scope, "update": self.update, **self.defaults}
        lines = [
            f"  -{prefix}{STEM}{name}: <{values[name]}> {annotation}"
            for name, annotation in {**own, **self.parameters}.items()
        ]
        return [f"Options of linforest_precond.petsc.PC, kind {self.kind}:", *lines]

    @property
    def defaults(self) -> dict[str, Any]:
        """The arguments that are given, and the function's own values of the others."""
        known = inspect.signature(self.function).parameters
        own = {name: known[name].default for name in self.parameters if name in known}
        return {**dict.fromkeys(self.parameters, "its own"), **own, **self.arguments}

    @property
    def function(self) -> Callable[..., Any]:
        return function_of(self.kind, self.scope)

    @property
    def parameters(self) -> dict[str, str]:
        """The annotations of the function's arguments but the matrix."""
        _, *found = inspect.signature(self.function).parameters.values()
        named = {each.name: str(each.annotation) for each in found if each.name not in (*OWN, STACK)}
        if named.pop("options", None) is None:
            return named
        passed_on = {name: hint.__forward_arg__ for name, hint in FactorKeywords.__annotations__.items()}
        return {**passed_on, **named}

    def make(self, A: Any, **defaults: Any) -> Any:
        """Set up the preconditioner of A; `defaults` come from the PETSc matrix."""
        known = {name: value for name, value in defaults.items() if name in self.parameters}
        try:
            return self.function(A, **{**known, **self.arguments})
        except (TypeError, ValueError) as error:
            if not self.arguments:
                raise
            given = " ".join(f"-{STEM}{name} {value}" for name, value in self.arguments.items())
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error} (with {given})") from error

    @property
    def agreed(self) -> dict[str, Any]:
        """The settings that must be the same on all ranks; arrays may differ."""
        plain = {name: value for name, value in self.arguments.items() if not hasattr(value, "shape")}
        return {"kind": self.kind, "scope": self.scope, "update": self.update, **plain}


def from_database(prefix: str, given: PCSettings) -> PCSettings:
    """PCSettings with the options of PETSc's database in place of those given in the program."""
    database = petsc_module().Options(prefix)

    def text(name: str) -> str | None:
        return database.getString(STEM + name) if database.hasName(STEM + name) else None

    own: dict[str, Any] = {name: found for name in ("kind", "scope") if (found := text(name)) is not None}
    update = text("update")
    if update is not None:
        own["update"] = converted(f"-{prefix}{STEM}update", update, "bool")
    # The database may ask for a kind that lacks an argument given in the program.
    chosen = replace(given, **own, arguments={}).checked(prefix)
    read = {
        name: converted(f"-{prefix}{STEM}{name}", found, annotation)
        for name, annotation in chosen.parameters.items()
        if (found := text(name)) is not None
    }
    unknown = names_in_database(prefix) - {*OWN, *chosen.parameters}
    if unknown:
        raise ValueError(chosen.refusal(prefix, sorted(unknown)))
    return replace(chosen, arguments={**given.arguments, **read}).checked(prefix)


def names_in_database(prefix: str) -> set[str]:
    """The names of this package's options with a prefix.

    PETSc finds ``-mg_levels_pc_...`` for the prefix ``mg_levels_1_``, too.
    """
    stems = {prefix + STEM, re.sub(r"_\d+_", "_", prefix) + STEM}
    names = petsc_module().Options().getAll()
    return {name.removeprefix(stem) for stem in stems for name in names if name.startswith(stem)}


def converted(option: str, text: str, annotation: str) -> Any:
    """The text of an option as the type that its argument is annotated with."""
    accepted = annotation.split(" | ")
    if "None" in accepted and text.lower() == "none":
        return None
    for kind, read in READERS.items():
        if kind in accepted:
            try:
                return read(text)
            except ValueError:
                continue
    if text and any(is_word(kind) for kind in accepted):
        return text
    raise ValueError(f"{option} must be {annotation}, got {text!r}")


def is_word(annotation: str) -> bool:
    """Whether an argument takes words; which ones, its function checks."""
    return annotation in WORDS or get_origin(getattr(argument_types, annotation, None)) is Literal


def truth_of(text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise ValueError(text)
    return text.lower() in TRUE


def integers_of(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def word_and_number(text: str) -> tuple[str, int]:
    word, number = text.split(",")
    return word, int(number)


# By annotation, in the order in which they are tried; "adaptive,3" is an example of the last.
READERS: dict[str, Callable[[str], Any]] = {
    "bool": truth_of,
    "int": int,
    "float": float,
    "tuple[int, ...]": integers_of,
    "Any": word_and_number,
}
