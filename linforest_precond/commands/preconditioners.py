"""The preconditioners by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linforest_precond.annotations import SparseMatrix
from linforest_precond.precond.approximate_inverse.operators import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.jacobi import block_jacobi, jacobi
from linforest_precond.precond.memory import MemoryEstimate, memory_estimate
from linforest_precond.precond.operators import Preconditioner
from linforest_precond.precond.tridiagonal.operators import block_tridiagonal, tridiagonal


@dataclass(frozen=True)
class Choice:
    """One preconditioner: its title, how to make it, and the options of its memory estimate."""

    title: str
    make: Callable[..., Preconditioner]
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    def memory(self, A: SparseMatrix, symmetric: bool) -> MemoryEstimate:
        return memory_estimate(A, self.kind, symmetric=symmetric, **self.options)


CHOICES = {
    "jacobi": Choice("the diagonal", jacobi, "jacobi"),
    "block-jacobi": Choice("2 x 2 blocks on the diagonal", block_jacobi, "block_jacobi"),
    "original": Choice(
        "tridiagonal, original order",
        partial(tridiagonal, ordering="original"),
        "tridiagonal",
        {"ordering": "original"},
    ),
    "tridiagonal": Choice("tridiagonal, linear forest", tridiagonal, "tridiagonal"),
    "ilu": Choice("incomplete LU factors", ilu, "ilu"),
    "block": Choice("2 x 2 block tridiagonal, forest", block_tridiagonal, "block_tridiagonal"),
    "approximate-inverse": Choice("sparse approximate inverse", approximate_inverse, "approximate_inverse"),
}
