"""The candidates: one for each way to solve a system, with its costs and the iterations to expect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linforest_precond.chooser.costs import Cost
from linforest_precond.chooser.facts import Facts
from linforest_precond.precond.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.precond.direct.direct import direct
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.jacobi import jacobi
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.tridiagonal.tridiagonal import tridiagonal

# Iterations of multigrid for 8 digits, for scalar equations.
CYCLES = 18
# The most rows of a coarsest matrix, which is inverted or factored, on the CPU.
MOST_COARSE = 300


@dataclass(frozen=True)
class Candidate:
    """A preconditioner that a run may be made with.

    Attributes
    ----------
    name, call
        Its name in reports, and how a user makes it.
    make
        The setup, for a matrix and a seed.
    setup, application
        Costs of the setup and of an application, as measured.
    share
        The iterations to expect, relative to those with Jacobi.
    cycles
        The most iterations to expect for 8 digits, where the facts tell them; else 0.
    applies
        Whether it makes sense for a matrix.
    is_definite
        Whether M is positive definite for every Hermitian A with a positive diagonal: where CG breaks down
        with it, A is not definite.
    """

    name: str
    call: str
    make: Callable[[Any, int], Preconditioner]
    setup: Cost
    application: Cost
    share: Callable[[Facts], float]
    cycles: Callable[[Facts], float] = lambda facts: 0.0
    applies: Callable[[Facts], bool] = lambda facts: True
    is_definite: bool = True

    @property
    def is_direct(self) -> bool:
        return self.name == "direct"

    @property
    def is_multigrid(self) -> bool:
        return self.name == "multilevel"


def candidates_on(backend: str, facts: Facts) -> tuple[Candidate, ...]:
    """The candidates that make sense for a matrix on a backend."""
    return tuple(each for each in (DIRECT, *_OWN[backend]) if each.applies(facts))


def _seeded(make: Callable[..., Preconditioner], **options: Any) -> Callable[[Any, int], Preconditioner]:
    return lambda A, seed: make(A, seed=seed, **options)


def _forest(facts: Facts) -> float:
    """Couplings on paths are solved exactly: the more weight two couplings of a row have, the better."""
    return 1.0 if facts.needs_matching else 1 - 0.75 * facts.heavy_share**2


def _always(share: float) -> Callable[[Facts], float]:
    return lambda facts: share


def _cycles(facts: Facts) -> float:
    return CYCLES if facts.is_elliptic or (facts.keeps_constants and facts.has_dominant_rows) else 0.0


def _multigrid(setup: Cost, application: Cost, **options: Any) -> Candidate:
    words = "".join(f", {key}={value}" for key, value in options.items())
    return Candidate(
        "multilevel",
        f"lf.multilevel(A{words}).aspreconditioner()",
        lambda A, seed: multilevel(A, seed=seed, **options).aspreconditioner(),
        setup,
        application,
        _always(0.35),
        cycles=_cycles,
        is_definite=False,
    )


def _matched(
    name: str, make: Callable[[Any, int], Preconditioner], setup: Cost, application: Cost
) -> Candidate:
    """A candidate for the matrix whose large entries have been permuted onto the diagonal."""
    return Candidate(
        f"{name} + matching",
        f'lf.{name}(A, scaling="matching")',
        make,
        setup,
        application,
        _always(0.3),
        applies=lambda facts: facts.needs_matching,
        is_definite=False,
    )


# Its seconds are those of a `Factorization`, which makes it, too.
DIRECT = Candidate(
    "direct", "lf.direct(A)", lambda A, seed: direct(A), Cost(0, 0), Cost(0, 0), _always(0.0),
    applies=lambda facts: not facts.is_singular, is_definite=False,
)  # fmt: skip
_JACOBI = "jacobi", "lf.jacobi(A)", lambda A, seed: jacobi(A)
_FOREST = "tridiagonal", "lf.tridiagonal(A)", _seeded(tridiagonal)
_OWN = {
    "cpu": (
        Candidate(*_JACOBI, Cost(560, 3), Cost(0, 0.3), _always(1.0)),
        Candidate(*_FOREST, Cost(3e3, 35), Cost(100, 0.9), _forest),
        Candidate(
            "ilu", 'lf.ilu(A, ordering="natural")', _seeded(ilu, ordering="natural"), Cost(2e3, 75),
            Cost(90, 6.5), _always(0.35),
        ),
        Candidate(
            "approximate_inverse", "lf.approximate_inverse(A, 10)",
            lambda A, seed: approximate_inverse(A, 10), Cost(6e3, 800), Cost(50, 3.0), _always(0.5),
        ),
        _multigrid(Cost(7.5e3, 190), Cost(150, 6.0), max_coarse=MOST_COARSE),
        _matched("ilu", _seeded(ilu, scaling="matching"), Cost(8e3, 800), Cost(100, 8.0)),
    ),
    "cuda": (
        Candidate(*_JACOBI, Cost(240, 1), Cost(0.4, 0.3), _always(1.0)),
        # Other bands are solved with pivoting, which is slow on a GPU.
        Candidate(
            *_FOREST, Cost(360, 10), Cost(1.5, 0.5), _forest, applies=lambda facts: facts.looks_easy
        ),
        Candidate(
            "ilu", 'lf.ilu(A, ordering="colors")', _seeded(ilu, ordering="colors"), Cost(600, 130),
            Cost(6.4, 3.3), _always(0.42),
        ),
        Candidate(
            "approximate_inverse", "lf.approximate_inverse(A)",
            lambda A, seed: approximate_inverse(A), Cost(400, 200), Cost(0.8, 2.5), _always(0.25),
        ),
        _multigrid(Cost(700, 110), Cost(3.5, 8.0)),
        _matched(
            "approximate_inverse", lambda A, seed: approximate_inverse(A, scaling="matching"),
            Cost(600, 600), Cost(0.8, 2.0),
        ),
    ),
}  # fmt: skip
