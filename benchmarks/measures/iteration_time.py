"""The time of one iteration of a Krylov solver, without its setup and its final residual check."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

# The solvers, and how many products with A, and with M, each makes per iteration.
SOLVERS = {"cg": 1, "bicgstab": 2}
# Iterations of the short solve. CUDA graphs hold batches of 2, 4 or 16 iterations: with a multiple of 16,
# the surplus iterations of the last batch are the same in both solves and cancel.
SHORT = 16
# Never reached, so that every solve makes all its iterations.
UNREACHABLE_RTOL = 1e-30
# The largest relative difference between the iterates of two solvers after the short solve.
LARGEST_DIFFERENCE = 1e-8


@dataclass(frozen=True)
class IterationTimer:
    """Milliseconds of a solver's iteration on one system.

    `clock` times a solve of SHORT iterations and one of SHORT + `more`; their difference over `more` is the
    time of an iteration.
    """

    A: Any
    b: Any
    more: int
    clock: Any
    M: Any = None

    def samples(self, solvers, repeats) -> list[list[float]]:
        """For each solver in turn, `repeats` samples after one that compiles.

        The solvers are not interleaved: worker threads of the other solver's library would still be spinning.
        """
        return [[self.sample(solver) for _ in range(1 + repeats)][1:] for solver in solvers]

    def sample(self, solver) -> float:
        counts = (SHORT, SHORT + self.more)
        short, long = (self.clock(partial(self.iterate, solver, count))[0] for count in counts)
        return (long - short) / self.more

    def iterate(self, solver, count):
        """The iterate after `count` iterations; raises if the solver stops earlier."""
        x, info = solver(self.A, self.b, rtol=UNREACHABLE_RTOL, atol=0.0, maxiter=count, M=self.M)
        if info != count:
            raise RuntimeError(f"{solver.__name__}: got info {info}, expected {count} iterations")
        return x

    def check(self, solver, peer) -> None:
        """Raise unless both solvers reach the same iterate."""
        x, y = (self.iterate(either, SHORT) for either in (solver, peer))
        difference = float(abs(x - y).max() / abs(y).max())
        if not difference <= LARGEST_DIFFERENCE:
            raise RuntimeError(
                f"{solver.__name__}: differs from its peer by {difference:.1e} after {SHORT} iterations"
            )
