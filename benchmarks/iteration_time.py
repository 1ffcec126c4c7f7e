"""The time of one iteration of a solver, without what a solve takes at its start and end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

# The solvers, and their products with A and with M in one iteration.
SOLVERS = {"cg": 1, "bicgstab": 2}
# So many iterations are taken off again, with the setup and the end. Graphs hold batches of 2, 4 or 16: whole
# ones, so that what the last one does too much is taken off as well.
FEW = 16
# Never reached: all iterations are done.
NO_RTOL = 1e-30
# How far the iterates of two solvers may lie apart after a few iterations.
LARGEST_DIFFERENCE = 1e-8


@dataclass(frozen=True)
class Steps:
    """A system, and the milliseconds of a solver's iterations on it.

    A solve of a few iterations and one of `more` beyond them are timed by `clock`; their difference is the
    time of the iterations.
    """

    A: Any
    b: Any
    more: int
    clock: Any
    M: Any = None

    def samples(self, solvers, repeats) -> list[list[float]]:
        """For each of the solvers, one after the other, so many samples after one that compiles.

        They do not take turns: the threads of the other solver's library would still be spinning.
        """
        return [[self.sample(solver) for _ in range(1 + repeats)][1:] for solver in solvers]

    def sample(self, solver) -> float:
        short, long = (self.clock(partial(self.run, solver, count))[0] for count in (FEW, FEW + self.more))
        return (long - short) / self.more

    def run(self, solver, count):
        """The iterate after so many iterations; an end before them would be counted as a fast iteration."""
        x, info = solver(self.A, self.b, rtol=NO_RTOL, atol=0.0, maxiter=count, M=self.M)
        if info != count:
            raise RuntimeError(f"{solver.__name__}: info {info} where {count} iterations were asked for")
        return x

    def check(self, solver, peer) -> None:
        """Both must come to the same iterate."""
        x, y = (self.run(either, FEW) for either in (solver, peer))
        difference = float(abs(x - y).max() / abs(y).max())
        if not difference <= LARGEST_DIFFERENCE:
            raise RuntimeError(f"{solver.__name__}: {difference:.1e} off its peer after {FEW} iterations")
