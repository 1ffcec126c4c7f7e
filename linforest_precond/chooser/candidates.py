"""The candidates: one line for each preconditioner that a trial may be made with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from linforest_precond.chooser.cost_model import LATENCIES, MAX_COARSE, SetupCost, affordable_inverse
from linforest_precond.chooser.facts import Facts
from linforest_precond.precond.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.ilu.order_choice import CANDIDATES as ORDERS
from linforest_precond.precond.ilu.order_choice import COSTS as LEVEL_COSTS
from linforest_precond.precond.jacobi import jacobi
from linforest_precond.precond.kinds import faces, kind_named
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.tridiagonal.tridiagonal import block_tridiagonal, tridiagonal

# Least squares by rows on a GPU, for a matrix that is not Hermitian.
LEAST_SQUARES = SetupCost(600, 2.5e-3)


def _never(facts: Facts) -> bool:
    return False


def _whatever(facts: Facts) -> bool:
    return True


@dataclass(frozen=True)
class Candidate:
    """A preconditioner that a trial may be made with.

    Attributes
    ----------
    name, call
        Its name in reports, and how a user makes it.
    make
        The setup, for a matrix and a seed.
    setup_products, setup_on_gpu
        The bytes of the setup, in products with A, as measured on large systems; its costs on a GPU.
    application_products
        The bytes of an application before it is set up, in products with A: counted exactly afterwards.
    setup_latency, latency_bytes
        The latencies of the setup and of an application, in bytes that could be moved meanwhile.
    reduction
        The iterations to expect, relative to those with Jacobi.
    is_definite
        Whether M is positive definite for every Hermitian A with a positive diagonal: where CG breaks down
        with it, A is not definite.
    is_multigrid
        Whether it converges linearly, whatever x it starts from; its setup inverts a small dense matrix.
    is_matched
        Whether rows are permuted to get large entries onto the diagonal.
    comes_last
        Whether its setup is so expensive that all others are tried before.
    is_trusted
        Whether the facts make success likely, so that it is tried without a budget.
    is_likely
        Whether the facts speak for it, so that more may be spent on a trial.
    applies
        Whether it makes sense for a matrix.
    """

    name: str
    call: str
    make: Callable[[Any, int], Preconditioner]
    setup_products: float
    setup_on_gpu: SetupCost
    application_products: float
    reduction: Callable[[Facts], float]
    setup_latency: float = 0.0
    latency_bytes: float = 0.0
    is_definite: bool = True
    is_multigrid: bool = False
    is_matched: bool = False
    comes_last: bool = False
    is_trusted: Callable[[Facts], bool] = _never
    is_likely: Callable[[Facts], bool] = _never
    applies: Callable[[Facts], bool] = _whatever

    @property
    def kind(self) -> str:
        """The kind of preconditioner: the first word of its name."""
        return self.name.split()[0]


def _cycle(
    name: str, most_rows: int, setup: float, on_gpu: SetupCost, application: float, **options: Any
) -> Candidate:
    """Multigrid whose coarsest matrix, which is inverted, has at most `most_rows` rows."""
    words = "".join(f', {key}="{value}"' for key, value in options.items())
    if most_rows < MAX_COARSE:
        words, options = f", max_coarse={most_rows}{words}", {"max_coarse": most_rows, **options}
    return Candidate(
        name,
        f"lf.multilevel(A{words}).aspreconditioner()",
        lambda A, seed: multilevel(A, seed=seed, **options).aspreconditioner(),
        setup,
        on_gpu,
        application,
        _always(0.35 if name == "multilevel" else 0.3),
        is_definite=False,
        is_multigrid=True,
        is_trusted=lambda facts: name == "multilevel" and _suits_multigrid(facts),
        is_likely=lambda facts: name == "multilevel" and facts.keeps_constants,
    )


def _seeded(make: Callable[..., Preconditioner], **options: Any) -> Callable[[Any, int], Preconditioner]:
    return lambda A, seed: make(A, seed=seed, **options)


def _forest(factor: float) -> Callable[[Facts], float]:
    """Couplings on paths are solved exactly: the more weight two couplings of a row have, the better."""
    return lambda facts: factor * (1.0 if facts.needs_matching else 1 - 0.75 * facts.heavy_share**2)


def _always(factor: float) -> Callable[[Facts], float]:
    return lambda facts: factor


def _suits_multigrid(facts: Facts) -> bool:
    return facts.is_elliptic and facts.hermitian


def _needs_no_multigrid(facts: Facts) -> bool:
    return not _suits_multigrid(facts) and not facts.keeps_constants


def _inverse(**options: Any) -> Callable[[Any, int], Preconditioner]:
    return lambda A, seed: approximate_inverse(A, **options)


def _factors(backend: str) -> Candidate:
    """Incomplete factors in an order that has few levels on the backend, where each is a launch."""
    order = ORDERS[backend][0]
    return Candidate(
        "ilu",
        f'lf.ilu(A, order="{order}")',
        _seeded(ilu, order=order),
        faces()["ilu"].setup_products,
        SetupCost(130, 4e-3),
        1.3,
        _always(0.35 if order == "natural" else 0.5),
        is_trusted=_whatever,
    )


def _matched(
    name: str,
    make: Callable[[Any, int], Preconditioner],
    setup: float,
    on_gpu: SetupCost,
    comes_last: bool = False,
) -> Candidate:
    """A candidate for the matrix whose large entries have been permuted onto the diagonal."""
    return Candidate(
        f"{name} + matching",
        f'lf.{name}(A, scaling="matching")',
        make,
        setup,
        on_gpu,
        1.3,
        _always(0.3),
        is_definite=False,
        is_matched=True,
        comes_last=comes_last,
        applies=lambda facts: facts.needs_matching,
    )


def _on_gpu(candidate: Candidate, product: float, hermitian: bool) -> Candidate:
    """A candidate with the costs of a GPU.

    Approximate inverses are trusted there in place of incomplete factors, which have a launch for each level,
    if multigrid is no better choice; where products are short, they get more entries.
    """
    latencies = LATENCIES["cuda"]
    costs, application = candidate.setup_on_gpu, kind_named(candidate.kind).on_gpu
    seconds, is_trusted = application.seconds, candidate.is_trusted
    if candidate.kind == "ilu":
        seconds = 2 * LEVEL_COSTS["cuda"].most_launches * LEVEL_COSTS["cuda"].launch
        is_trusted = _never
    if candidate.name == "approximate_inverse + matching":
        candidate, is_trusted = replace(candidate, reduction=_always(0.25)), _whatever
    if candidate.name == "approximate_inverse":
        costs, is_trusted = costs if hermitian else LEAST_SQUARES, _needs_no_multigrid
        if product <= latencies.short_product:
            call = "lf.approximate_inverse(A)"
            candidate = replace(candidate, call=call, make=_inverse(), reduction=_always(0.35))
    return replace(
        candidate,
        setup_products=costs.products,
        setup_latency=latencies.as_bytes(latencies.start + costs.seconds),
        application_products=candidate.application_products / application.efficiency,
        latency_bytes=latencies.as_bytes(seconds),
        is_trusted=is_trusted,
        comes_last=False,
    )


# How the candidates of a backend differ from those of the CPU.
ADAPTED = {"cuda": _on_gpu}


def candidates_on(backend: str, product: float = math.inf, hermitian: bool = True) -> tuple[Candidate, ...]:
    """The candidates on a backend, from the cheapest setup to the most expensive one.

    `product` has the bytes of a product with A.
    """
    most_rows = affordable_inverse(product, LATENCIES[backend])
    hierarchies = (
        _cycle("multilevel", most_rows, faces()["multilevel"].setup_products, SetupCost(110, 5e-3), 4.5),
        _cycle(
            "multilevel lines",
            most_rows,
            150,
            SetupCost(1000, 1.5e-2),
            5.5,
            smoother="tridiagonal",
            cycle="V",
        ),
    )
    listed = [*_LISTED, _factors(backend), *hierarchies]
    adapted = ADAPTED.get(backend)
    if adapted is not None:
        listed = [adapted(each, product, hermitian) for each in listed]
    return tuple(sorted(listed, key=lambda each: each.setup_products + each.setup_latency / product))


_LISTED = (
    Candidate(
        "jacobi",
        "lf.jacobi(A)",
        lambda A, seed: jacobi(A),
        faces()["jacobi"].setup_products,
        SetupCost(1, 4e-4),
        0.3,
        _always(1.0),
    ),
    Candidate(
        "tridiagonal",
        "lf.tridiagonal(A)",
        _seeded(tridiagonal),
        faces()["tridiagonal"].setup_products,
        SetupCost(10, 1.5e-3),
        0.5,
        _forest(1.0),
    ),
    Candidate(
        "block_tridiagonal",
        "lf.block_tridiagonal(A)",
        _seeded(block_tridiagonal),
        faces()["block_tridiagonal"].setup_products,
        SetupCost(60, 8e-3),
        0.7,
        _forest(0.85),
    ),
    Candidate("ilu ordered", "lf.ilu(A)", _seeded(ilu), 65, SetupCost(1500, 1.2e-2), 1.3, _always(0.25)),
    Candidate(
        "approximate_inverse",
        "lf.approximate_inverse(A, 10)",
        _inverse(entries=10),
        faces()["approximate_inverse"].setup_products,
        SetupCost(120, 2e-3),
        1.5,
        _always(0.45),
    ),
    _matched("ilu", _seeded(ilu, scaling="matching"), 110, SetupCost(220, 1.4e-2)),
    _matched("block_tridiagonal", _seeded(block_tridiagonal, scaling="matching"), 115, SetupCost(115, 9e-3)),
    _matched("approximate_inverse", _inverse(scaling="matching"), 600, SetupCost(600, 4e-3), comes_last=True),
)
CANDIDATES = candidates_on("cpu")
