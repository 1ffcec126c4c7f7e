"""Each kind of preconditioner registers one descriptor, `Kind`, beside its public function.

Storage, updates, memory estimates, the chooser, the command line, PETSc's options and the warm-up know
the kinds from here. `all_kinds` imports the modules of this package when it is first called: `import
linforest_precond` stays light, and a process that only restores a file finds all kinds.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from linforest_precond.precond.storage.schema import FieldsSpec


@dataclass(frozen=True)
class Sizes:
    """The variables of memory estimates: rows, entries, and the bytes of an index and of values."""

    rows: int
    entries: int
    index: int
    value: int
    weight: int
    stored: int
    symmetric: bool
    copied: bool  # A is not in CSR format, and is converted
    matrix: Any = None  # A, for the pattern of factors

    @property
    def graph(self) -> int:
        """Bytes of the graph; none for a symmetric real matrix, which is its own graph."""
        if self.symmetric:
            return 0 if self.weight == self.value else self.weight * self.entries
        return 2 * (self.index + self.weight) * self.entries + self.index * self.rows

    @property
    def graph_in_making(self) -> int:
        """Peak bytes while A' + A'^T is formed: rows, sums, and the sorted entries without a mirror entry."""
        return self.graph + (0 if self.symmetric else (3 * self.index + 2 * self.weight + 24) * self.entries)

    @property
    def checks(self) -> int:
        """Bytes of the checks: the diagonal, the results of the scan, copied indices or converted CSR."""
        copies = self.index * (self.rows + self.entries)
        if self.copied:
            copies = (2 * self.index + 2 * self.value + 40) * self.entries
        return (
            (self.value + 16) * self.rows + self.weight * self.entries * (self.weight < self.value) + copies
        )


# Gives the bytes of the operator and of its setup, for a matrix and the options of `memory_estimate`.
Estimate: TypeAlias = Callable[[Sizes, Mapping[str, Any]], tuple[int, int]]


@dataclass(frozen=True)
class Variant:
    """A kind with options of its own, under another name on the command line."""

    name: str
    title: str
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


class Cost(NamedTuple):
    """Calls, and products with A, that take as long as a setup or an application."""

    calls: float
    products: float


@dataclass(frozen=True)
class Candidacy:
    """How `lf.solve` tries a kind on one backend: its options, and costs that were measured there.

    Attributes
    ----------
    backend
        The name of the backend.
    setup, application
        Costs; a call is one of NumPy on a few numbers, or the launch of a kernel.
    share
        The iterations to expect, relative to those with Jacobi; or a function of the matrix's `Facts`.
    cycles
        The most iterations for 8 digits, by the facts; 0 where not known.
    fits
        Whether it makes sense, by the facts.
    is_definite
        Whether M is positive definite for every Hermitian A with a positive diagonal.
    """

    backend: str
    setup: Cost
    application: Cost
    share: float | Callable[[Any], float] = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    cycles: Callable[[Any], float] = lambda facts: 0.0
    fits: Callable[[Any], bool] = lambda facts: True
    is_definite: bool = True


@dataclass(frozen=True)
class Face:
    """The public side of a kind: its function, its names, its memory and setup cost."""

    function: Callable[..., Any]  # public; its signature has the options, and it checks them
    title: str  # on the command line, as are `aliases` and `variants`
    memory: Estimate  # the estimate of `memory_estimate`
    setup_products: float  # bytes of the setup, in products with A: kinds are listed in this order
    aliases: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    linear: bool = True  # the setup takes time linear in A; others are compared only where a user names them
    is_hierarchy: bool = False  # the function makes a hierarchy, one cycle of which is the preconditioner
    candidates: tuple[Candidacy, ...] = ()  # of `lf.solve`; a kind without any is never tried

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The options of the function, with their defaults."""
        parameters = inspect.signature(self.function).parameters.items()
        return {name: each.default for name, each in parameters if each.default is not each.empty}

    def operator(self, A: Any, **options: Any) -> Any:
        """The preconditioner of A."""
        return self.cycle_of(self.function(A, **options))

    def cycle_of(self, made: Any) -> Any:
        """What the function made, as a preconditioner."""
        return made.aspreconditioner() if self.is_hierarchy else made

    def call(self, options: Mapping[str, Any]) -> str:
        """How users make the preconditioner."""
        words = "".join(f", {name}={json.dumps(value)}" for name, value in options.items())
        return f"lf.{self.function.__name__}(A{words}){'.aspreconditioner()' * self.is_hierarchy}"


@dataclass(frozen=True)
class Kind:
    """The descriptor of a kind of preconditioner, from which other modules know it."""

    name: str  # of the public function, and in files
    schema: FieldsSpec  # validates the part's `state`, and restores the part
    follows_indices: bool = False  # kernels use A's indices without bounds checks, so they are copied
    capturable: bool = True  # products can be captured in a CUDA graph; not those of the host or a library
    face: Face | None = None  # None for a kind without a public function of its own


_registered: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind known; called once for each, where its module is imported."""
    _registered[kind.name] = kind


@functools.cache
def all_kinds() -> dict[str, Kind]:
    """All kinds by name, sorted by name."""
    package = importlib.import_module(__package__)
    for module in pkgutil.walk_packages(package.__path__, f"{__package__}."):
        importlib.import_module(module.name)
    return dict(sorted(_registered.items()))


def kind_named(name: str) -> Kind:
    """A kind; that of an operator that exists is registered, and nothing is imported for it."""
    return _registered[name] if name in _registered else all_kinds()[name]


@functools.cache
def faces() -> dict[str, Face]:
    """The kinds that users can ask for, from the cheapest setup to the most expensive one."""
    found = {name: kind.face for name, kind in all_kinds().items() if kind.face is not None}
    return dict(sorted(found.items(), key=lambda item: item[1].setup_products))
