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
        The setup, for a matrix and a seed; None of the direct one, which a `Factorization` makes.
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
    make: Callable[[Any, int], Preconditioner] | None
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


def candidates_on(backend: str, facts: Facts) -> list[Candidate]:
    """The candidates that make sense for a matrix on a backend."""
    own = _on_cpu(facts) if backend == "cpu" else _on_gpu(facts)
    return own if facts.is_singular else [DIRECT, *own]


def _on_cpu(facts: Facts) -> list[Candidate]:
    """Costs are the geometric means of those on two cores of an Arm Neoverse N1 and of an Intel Xeon."""
    found = [
        _own(jacobi, Cost(560, 3), Cost(0, 0.3), 1.0),
        _own(tridiagonal, Cost(3e3, 50), Cost(100, 0.9), _forest(facts)),
        _own(ilu, Cost(2e3, 90), Cost(90, 6.0), 0.35, ordering="natural"),
        _own(approximate_inverse, Cost(6e3, 1250), Cost(50, 3.0), 0.5, 10),
        _multigrid(facts, Cost(7.5e3, 210), Cost(150, 7.0), max_coarse=300),
    ]
    if facts.needs_matching:
        found.append(_own(ilu, Cost(8e3, 800), Cost(100, 8.0), 0.3, scaling="matching"))
    return found


def _on_gpu(facts: Facts) -> list[Candidate]:
    found = [
        _own(jacobi, Cost(240, 1), Cost(0.4, 0.3), 1.0),
        _own(tridiagonal, Cost(360, 10), Cost(1.5, 0.5), _forest(facts)),
        _own(ilu, Cost(600, 130), Cost(6.4, 3.3), 0.42, ordering="colors"),
        _own(approximate_inverse, Cost(400, 200), Cost(0.8, 2.5), 0.25),
        _multigrid(facts, Cost(700, 110), Cost(3.5, 8.0)),
    ]
    if not facts.looks_easy:  # its bands would be solved with pivoting, which is slow on a GPU
        found = [each for each in found if each.name != "tridiagonal"]
    if facts.needs_matching:
        found.append(_own(approximate_inverse, Cost(600, 600), Cost(0.8, 2.0), 0.3, scaling="matching"))
    return found


def _forest(facts: Facts) -> float:
    """Couplings on paths are solved exactly. With layers, the share 1 - w that others have of the weight
    divides the condition number, whose square root the iterations follow; paths cover less of other graphs.
    """
    return 1.0 if facts.needs_matching else max(1e-4, 1 - facts.heavy_share**1.5) ** 0.5


def _own(
    make: Callable[..., Preconditioner],
    setup: Cost,
    application: Cost,
    share: float,
    *arguments: int,
    **options: str,
) -> Candidate:
    name, is_matched = make.__name__, "scaling" in options
    words = ["A", *map(str, arguments), *(f'{key}="{value}"' for key, value in options.items())]
    return Candidate(
        f"{name} + matching" if is_matched else name,
        f"lf.{name}({', '.join(words)})",
        partial(_made, make, arguments, options),
        setup,
        application,
        share,
        is_definite=not is_matched,
    )


def _made(make: Any, arguments: Any, options: Any, A: Any, seed: int) -> Preconditioner:
    seeds = {"seed": seed} if make in (tridiagonal, ilu) else {}
    return make(A, *arguments, **options, **seeds)


def _multigrid(facts: Facts, setup: Cost, application: Cost, **options: Any) -> Candidate:
    """For scalar equations, 18 iterations are expected for 8 digits."""
    words = "".join(f", {key}={value}" for key, value in options.items())
    return Candidate(
        "multilevel",
        f"lf.multilevel(A{words}).aspreconditioner()",
        partial(_cycle, **options),
        setup,
        application,
        share=0.35,
        cycles=18.0 if facts.is_elliptic or facts.is_scalar_stiffness else 0.0,
        is_definite=False,
    )


def _cycle(A: Any, seed: int, **options: Any) -> Preconditioner:
    return multilevel(A, seed=seed, **options).aspreconditioner()
