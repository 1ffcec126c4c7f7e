"""The candidates: one for each way to solve a system, with its costs and the iterations to expect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from linforest_precond.chooser.costs import Cost
from linforest_precond.chooser.facts import Facts
from linforest_precond.precond.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.relaxation.jacobi import jacobi
from linforest_precond.precond.tridiagonal.tridiagonal import tridiagonal


@dataclass(frozen=True)
class Candidate:
    """A preconditioner that a run may be made with; it can be pickled.

    Attributes
    ----------
    name, call
        Its name in reports, and how a user makes it.
    make
        The setup, for a matrix; None of the direct one, which a `Factorization` makes.
    setup, application
        Costs of the setup and of an application, as measured.
    share, cycles
        The iterations to expect, relative to those with Jacobi; the most for 8 digits, 0 if not known.
    is_definite
        Whether M is positive definite for every Hermitian A with a positive diagonal: where CG breaks down
        with it, A is not definite.
    """

    name: str
    call: str
    make: Callable[[Any], Preconditioner] | None
    setup: Cost
    application: Cost
    share: float
    cycles: float = 0.0
    is_definite: bool = True

    @property
    def is_direct(self) -> bool:
        return self.name == "direct"

    @property
    def converges_linearly(self) -> bool:
        """Whether the first residuals predict the last ones, and a good x0 pays for every A."""
        return self.name in ("direct", "multilevel")


DIRECT = Candidate("direct", "lf.direct(A)", None, Cost(0, 0), Cost(0, 0), 0.0, is_definite=False)


def candidates_on(backend: str, facts: Facts, seed: int = 0) -> list[Candidate]:
    """The candidates that make sense for a matrix on a backend."""
    own = (_on_cpu if backend == "cpu" else _on_gpu)(facts, seed)
    return own if facts.is_singular else [DIRECT, *own]


def _on_cpu(facts: Facts, seed: int) -> list[Candidate]:
    """Costs are the geometric means of those on two cores of an Arm Neoverse N1 and of an Intel Xeon."""
    in_order, inverse = partial(ilu, ordering="natural", seed=seed), partial(approximate_inverse, entries=10)
    found = [
        Candidate("jacobi", "lf.jacobi(A)", jacobi, Cost(560, 3), Cost(0, 0.3), 1.0),
        _forest(facts, seed, Cost(3e3, 50), Cost(100, 0.9)),
        Candidate("ilu", 'lf.ilu(A, ordering="natural")', in_order, Cost(2e3, 90), Cost(90, 6.0), 0.35),
        Candidate(
            "approximate_inverse", "lf.approximate_inverse(A, 10)", inverse,
            Cost(6e3, 1250), Cost(50, 3.0), 0.5,
        ),
        _multigrid(facts, seed, Cost(7.5e3, 210), Cost(150, 7.0), max_coarse=300),
    ]  # fmt: skip
    if facts.needs_matching:
        found.append(_matched(partial(ilu, seed=seed), "ilu", Cost(8e3, 800), Cost(100, 8.0)))
    return found


def _on_gpu(facts: Facts, seed: int) -> list[Candidate]:
    in_colors = partial(ilu, ordering="colors", seed=seed)
    found = [
        Candidate("jacobi", "lf.jacobi(A)", jacobi, Cost(240, 1), Cost(0.4, 0.3), 1.0),
        Candidate("ilu", 'lf.ilu(A, ordering="colors")', in_colors, Cost(600, 130), Cost(6.4, 3.3), 0.42),
        Candidate(
            "approximate_inverse", "lf.approximate_inverse(A)", approximate_inverse,
            Cost(400, 200), Cost(0.8, 2.5), 0.25,
        ),
        _multigrid(facts, seed, Cost(700, 110), Cost(3.5, 8.0)),
    ]  # fmt: skip
    if facts.looks_easy:  # else the bands would be solved with pivoting, which is slow on a GPU
        found.insert(1, _forest(facts, seed, Cost(360, 10), Cost(1.5, 0.5)))
    if facts.needs_matching:
        found.append(_matched(approximate_inverse, "approximate_inverse", Cost(600, 600), Cost(0.8, 2.0)))
    return found


def _forest(facts: Facts, seed: int, setup: Cost, application: Cost) -> Candidate:
    """Couplings on paths are solved exactly. With layers, the share 1 - w that others have of the weight
    divides the condition number, whose square root the iterations follow; paths cover less of other graphs.
    """
    share = 1.0 if facts.needs_matching else max(1e-4, 1 - facts.heavy_share**1.5) ** 0.5
    make = partial(tridiagonal, seed=seed)
    return Candidate("tridiagonal", "lf.tridiagonal(A)", make, setup, application, share)


def _multigrid(facts: Facts, seed: int, setup: Cost, application: Cost, **options: int) -> Candidate:
    """For scalar equations, 18 iterations are expected for 8 digits."""
    words = "".join(f", {key}={value}" for key, value in options.items())
    cycles = 18.0 if facts.is_elliptic or facts.is_scalar_stiffness else 0.0
    call = f"lf.multilevel(A{words}).aspreconditioner()"
    make = partial(_cycle, seed=seed, **options)
    return Candidate("multilevel", call, make, setup, application, 0.35, cycles, is_definite=False)


def _matched(make: Callable[..., Preconditioner], name: str, setup: Cost, application: Cost) -> Candidate:
    """Rows are permuted to get large entries onto the diagonal."""
    call, make = f'lf.{name}(A, scaling="matching")', partial(make, scaling="matching")
    return Candidate(f"{name} + matching", call, make, setup, application, 0.3, is_definite=False)


def _cycle(A: Any, **options: Any) -> Preconditioner:
    return multilevel(A, **options).aspreconditioner()
