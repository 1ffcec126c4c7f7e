"""The preconditioners by their names on the command line: those of the functions, older names as aliases."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.precond.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.jacobi import block_jacobi, jacobi
from linforest_precond.precond.memory import MemoryEstimate, memory_estimate
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.multigrid.multilevel_options import CHOICES as MULTIGRID_CHOICES
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.tridiagonal.tridiagonal import block_tridiagonal, tridiagonal


@dataclass(frozen=True)
class Choice:
    """One preconditioner: its title, how to make it, and the options of its memory estimate."""

    title: str
    make: Callable[..., Preconditioner]
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    def memory(self, A: SparseMatrix, symmetric: bool) -> MemoryEstimate:
        return memory_estimate(A, self.kind, symmetric=symmetric, **self.options)


def _multigrid(A: SparseMatrix, **options: Any) -> Preconditioner:
    return multilevel(A, **options).aspreconditioner()


CHOICES = {
    "jacobi": Choice("the diagonal", jacobi, "jacobi"),
    "block_jacobi": Choice("2 x 2 blocks on the diagonal", block_jacobi, "block_jacobi"),
    "tridiagonal_original": Choice(
        "tridiagonal, original order",
        partial(tridiagonal, ordering="original"),
        "tridiagonal",
        {"ordering": "original"},
    ),
    "tridiagonal": Choice("tridiagonal, linear forest", tridiagonal, "tridiagonal"),
    "ilu": Choice("incomplete LU factors", ilu, "ilu"),
    "block_tridiagonal": Choice("2 x 2 block tridiagonal, forest", block_tridiagonal, "block_tridiagonal"),
    "approximate_inverse": Choice("sparse approximate inverse", approximate_inverse, "approximate_inverse"),
    "multilevel": Choice("algebraic multigrid", _multigrid, "multilevel"),
}
# Earlier names, and those of the paper.
ALIASES = {
    "original": "tridiagonal_original",
    "triscal": "tridiagonal_original",
    "algtriscal": "tridiagonal",
    "block": "block_tridiagonal",
    "algtriblock": "block_tridiagonal",
}
MULTIGRID_OPTIONS = ("smoother", "coarsening", "cycle")


def preconditioner_name(text: str) -> str:
    """
    The name in `CHOICES` for what a user wrote; other words are left as they are.

    Examples
    --------
    >>> from linforest_precond.app.commands.preconditioners import preconditioner_name
    >>> preconditioner_name("block"), preconditioner_name("approximate-inverse"), preconditioner_name("auto")
    ('block_tridiagonal', 'approximate_inverse', 'auto')
    """
    name = text.lower().replace("-", "_")
    return ALIASES.get(name, name)


def add_multigrid_options(parser: ArgumentParser) -> None:
    """The options of ``--precond multilevel``: absent unless given."""
    group = parser.add_argument_group("options of multilevel")
    for name in MULTIGRID_OPTIONS:
        group.add_argument(f"--{name}", choices=MULTIGRID_CHOICES[name], default=SUPPRESS)


def multigrid_options(arguments: Namespace) -> dict[str, str]:
    """Those that were given."""
    return {name: getattr(arguments, name) for name in MULTIGRID_OPTIONS if hasattr(arguments, name)}
