"""Preconditioners by their names on the command line, with older names as aliases."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.precond.kinds import Face, faces
from linforest_precond.precond.memory import MemoryEstimate, memory_estimate
from linforest_precond.precond.multigrid.multilevel_options import CHOICES as MULTIGRID_CHOICES
from linforest_precond.precond.preconditioner import Preconditioner


@dataclass(frozen=True)
class NamedKind:
    """One preconditioner: its title, how to make it, and the options of its memory estimate."""

    title: str
    make: Callable[..., Preconditioner]
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def memory(self, A: SparseMatrix, symmetric: bool) -> MemoryEstimate:
        return memory_estimate(A, self.kind, symmetric=symmetric, **self.options)


def _choices(kind: str, face: Face) -> Iterator[tuple[str, NamedKind]]:
    for variant in face.variants:
        make = partial(face.operator, **variant.options)
        yield variant.name, NamedKind(variant.title, make, kind, variant.options)
    yield kind, NamedKind(face.title, face.operator, kind)


CHOICES = dict(choice for kind, face in faces().items() for choice in _choices(kind, face))
# Compared by default.
COMPARED = tuple(name for name, choice in CHOICES.items() if faces()[choice.kind].linear)
# Earlier names, and those of the paper.
ALIASES = {
    alias: name
    for kind, face in faces().items()
    for name, aliases in ((kind, face.aliases), *((each.name, each.aliases) for each in face.variants))
    for alias in aliases
}
MULTIGRID_OPTIONS = ("smoother", "coarsening", "cycle")


def preconditioner_name(text: str) -> str:
    """The name in `CHOICES` for what a user wrote; other words are left as they are."""
    name = text.lower().replace("-", "_")
    return ALIASES.get(name, name)


def add_multigrid_options(parser: ArgumentParser) -> None:
    """The options of ``--precond multilevel``: absent unless given."""
    group = parser.add_argument_group("options of multilevel")
    for name in MULTIGRID_OPTIONS:
        group.add_argument(f"--{name}", choices=MULTIGRID_CHOICES[name], default=SUPPRESS)


def multigrid_options(arguments: Namespace) -> dict[str, str]:
    """The multigrid options that were given."""
    return {name: getattr(arguments, name) for name in MULTIGRID_OPTIONS if hasattr(arguments, name)}
