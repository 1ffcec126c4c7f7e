"""The preconditioners by the names that they have on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linforest_precond.precond.jacobi import block_jacobi, jacobi
from linforest_precond.precond.memory import MemoryEstimate, memory_estimate
from linforest_precond.precond.tridiagonal.operators import block_tridiagonal, tridiagonal


@dataclass(frozen=True)
class Choice:
    """One preconditioner: what to call it, how to make it, how to ask for its memory beforehand."""

    title: str
    make: Callable[[Any], Any]
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    def memory(self, A: Any, symmetric: bool) -> MemoryEstimate:
        return memory_estimate(A, self.kind, symmetric=symmetric, **self.options)


CHOICES = {
    "jacobi": Choice("the diagonal", jacobi, "jacobi"),
    "block-jacobi": Choice("2 x 2 blocks on the diagonal", block_jacobi, "block_jacobi"),
    "original": Choice(
        "three bands, original order",
        partial(tridiagonal, ordering="original"),
        "tridiagonal",
        {"ordering": "original"},
    ),
    "tridiagonal": Choice("three bands along a forest", tridiagonal, "tridiagonal"),
    "block": Choice("2 x 2 block bands along a forest", block_tridiagonal, "block_tridiagonal"),
}
