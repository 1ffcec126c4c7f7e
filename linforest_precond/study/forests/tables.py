"""Coverages and convergence beside the paper's values, and their CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from linforest_precond.matrices.catalogue import PaperMatrix, catalogue
from linforest_precond.study.forests.coverage import BLOCK_PERIODS, CONFIGURATIONS, DEGREES
from linforest_precond.study.listings import Tables
from linforest_precond.study.number_formats import missing
from linforest_precond.study.results import JsonObject, dig, done, is_standin


class Quantity(NamedTuple):
    """A column of the paper's tables: how to get it from a case, and from the catalogue."""

    key: str
    ours: Callable[[JsonObject], Any]
    published: Callable[[PaperMatrix], Any]
    digits: int | None  # after the point, as the paper prints it; 2 for coverages, None for yes and no


class Comparison(NamedTuple):
    """Our value and the published one."""

    ours: Any
    published: Any
    difference: float | None
    departs: bool  # whether a coverage of the paper's own matrix differs by more than 0.01


def configuration(case: JsonObject, m: int, k_m: int) -> JsonObject | None:
    """The [0,2]-factor of table 4 with the given charging."""
    found = dig(case, "coverage", "configurations") or []
    return next((row for row in found if (row["m"], row["k_m"]) == (m, k_m)), None)


def _covered(key: str, *keys: str, published: Callable[[PaperMatrix], float]) -> Quantity:
    return Quantity(key, lambda case: dig(case, "coverage", *keys), published, 2)


def _configured(m: int, k_m: int) -> list[Quantity]:
    """The three columns of one configuration."""

    def quantity(field: str, published: str, digits: int) -> Quantity:
        return Quantity(
            f"m{m}_k{k_m}_{published}",
            lambda case: dig(configuration(case, m, k_m), field),
            lambda paper: getattr(paper.table4[m, k_m], published),
            digits,
        )

    return [quantity("c5", "c5", 2), quantity("cmax", "cmax", 2), quantity("iterations_max", "M_max", 0)]


def _factors(n: int) -> list[Quantity]:
    """The parallel and the sequential coverage of a [0,n]-factor."""
    return [
        _covered(f"parallel_{n}", "parallel", str(n), published=lambda paper: paper.table5.parallel[n]),
        _covered(f"sequential_{n}", "sequential", str(n), published=lambda paper: paper.table5.sequential[n]),
    ]


def _block(m: int) -> Quantity:
    return _covered(f"block_m{m}", "block", str(m), published=lambda paper: paper.table5.block[m])


TABLE3 = (
    Quantity("symmetric", lambda case: case.get("symmetric"), lambda paper: paper.symmetric, None),
    Quantity("rows", lambda case: case.get("rows"), lambda paper: paper.rows, 0),
    Quantity("nnz", lambda case: case.get("nnz"), lambda paper: paper.nnz, 0),
    Quantity("mean_degree", lambda case: case.get("mean_degree"), lambda paper: paper.mean_degree, 2),
)
TABLE4 = (
    *(quantity for pair in CONFIGURATIONS for quantity in _configured(*pair)),
    _covered("sequential", "sequential", "2", published=lambda paper: paper.table4_sequential),
)
TABLE5 = (
    _covered("c_id", "identity", published=lambda paper: paper.table5.c_id),
    *(quantity for n in DEGREES for quantity in _factors(n)),
    *map(_block, BLOCK_PERIODS),
)
COVERAGES = tuple(quantity for quantity in (*TABLE4, *TABLE5) if quantity.digits == 2)


def published(case: JsonObject) -> PaperMatrix | None:
    """The published values of a case's matrix; None where it is not one of the paper's."""
    return catalogue().get(case.get("paper") or "")


def compare(case: JsonObject, quantity: Quantity) -> Comparison:
    """One value of a case beside the paper's."""
    paper = published(case)
    ours, theirs = quantity.ours(case), quantity.published(paper) if paper else None
    if quantity.digits is None or missing(ours) or theirs is None:
        return Comparison(ours, theirs, None, False)
    # The paper prints two digits, so that a difference of 0.01 is not significant.
    apart = round(abs(round(ours, 2) - theirs), 2) > 0.01
    return Comparison(ours, theirs, ours - theirs, apart and quantity in COVERAGES and of_the_paper(case))


def of_the_paper(case: JsonObject) -> bool:
    """True where the published values are due: the paper's own matrix, at its size."""
    return bool(case.get("paper")) and bool(case.get("at_paper_size")) and not is_standin(case)


# The published coverages of the paper's preconditioners.
PUBLISHED_COVERAGES: dict[str, Callable[[PaperMatrix], float]] = {
    "TriScal": lambda paper: paper.table5.c_id,
    "AlgTriScal": lambda paper: paper.table5.parallel[2],
    "AlgTriBlock m = 1": lambda paper: paper.table5.block[1],
    "AlgTriBlock m = 5": lambda paper: paper.table5.block[5],
}


def published_coverage(case: JsonObject, precond: str) -> float | None:
    """The coverage of a preconditioner in the paper; None where it has none."""
    paper, value = published(case), PUBLISHED_COVERAGES.get(precond)
    return None if paper is None or value is None else value(paper)


TABLES = Tables()
IDENTITY = ("name", "title", "paper", "origin", "at_paper_size")
TIES = ("charge", "ties_parallel", "ties_sequential")


def identity(case: JsonObject) -> JsonObject:
    """The fields that identify a case."""
    return {field: case.get(field) for field in IDENTITY}


def _compared(case: JsonObject, quantities: Iterable[Quantity]) -> JsonObject:
    """Ours, the paper's and the difference of each quantity."""
    row = identity(case)
    for quantity in quantities:
        row |= dict(zip(_triple(quantity), compare(case, quantity)))
    return row


def _triple(quantity: Quantity) -> tuple[str, ...]:
    """The names of its columns; yes and no have no difference."""
    names = (quantity.key, f"{quantity.key}_paper", f"{quantity.key}_difference")
    return names[:2] if quantity.digits is None else names


def _triples(quantities: Iterable[Quantity]) -> list[str]:
    return [name for quantity in quantities for name in _triple(quantity)]


@TABLES.listing(*IDENTITY, "status error note seconds", *_triples(TABLE3))
def coverage_table3(study: JsonObject) -> list[JsonObject]:
    """Every matrix with its size, as in table 3."""
    return [case | _compared(case, TABLE3) for case in study["cases"]]


def _coverage_rows(study: JsonObject, quantities: Iterable[Quantity]) -> list[JsonObject]:
    """Coverages beside the paper's, with the configuration that is compared."""
    return [
        {"charge": case["coverage"].get("charge")}
        | {f"ties_{kind}": dig(case, "coverage", "ties", kind) for kind in ("parallel", "sequential")}
        | _compared(case, quantities)
        for case in done(study, "coverage")
    ]


@TABLES.listing(*IDENTITY, *TIES, *_triples(TABLE4))
def coverage_table4(study: JsonObject) -> list[JsonObject]:
    """Coverages of the [0,2]-factors, as in table 4."""
    return _coverage_rows(study, TABLE4)


@TABLES.listing(*IDENTITY, *TIES, *_triples(TABLE5))
def coverage_table5(study: JsonObject) -> list[JsonObject]:
    """Coverages of the [0,n]-factors and the 2×2 blocks, as in table 5."""
    return _coverage_rows(study, TABLE5)


def by_rule(case: JsonObject, rule: str) -> JsonObject:
    """The case as measured with one order among equal weights."""
    measured = dig(case, "coverage", "rules", rule) or {}
    return case | {"coverage": {"identity": dig(case, "coverage", "identity"), **measured}}


def rules(case: JsonObject) -> list[str]:
    """The orders among equal weights that were measured, the compared one of the parallel algorithm first."""
    measured = dig(case, "coverage", "rules") or {}
    compared = dig(case, "coverage", "ties", "parallel")
    return sorted(measured, key=lambda rule: rule != compared)


@TABLES.listing("name ties", *dict.fromkeys(quantity.key for quantity in (*TABLE4, *TABLE5)))
def coverage_ties(study: JsonObject) -> list[JsonObject]:
    """The same for each order among equal weights."""
    return [
        {"name": case, "ties": rule}
        | {quantity.key: quantity.ours(by_rule(case, rule)) for quantity in (*TABLE4, *TABLE5)}
        for case in done(study, "coverage")
        for rule in rules(case)
    ]


@TABLES.listing("name charge seed", *(f"parallel_{n}" for n in DEGREES))
def coverage_charges(study: JsonObject) -> list[JsonObject]:
    """Coverages by the hash of the charges and the seed."""
    return [
        {"name": case, "charge": charge, "seed": seed}
        | {f"parallel_{n}": values[seed] for n, values in by_degree.items()}
        for case in done(study, "coverage")
        for charge, by_degree in (case["coverage"].get("charges") or {}).items()
        for seed in range(min(map(len, by_degree.values()), default=0))
    ]


@TABLES.listing("name parts identity scale")
def coverage_single_precision(study: JsonObject) -> list[JsonObject]:
    """Coverages of the ANISO grids with sums in single precision."""
    return [
        {"name": case, **row}
        for case in done(study, "coverage")
        for row in case["coverage"].get("single_precision") or []
    ]


def runs(study: JsonObject) -> list[tuple[JsonObject, JsonObject]]:
    """(case, run) of every solve."""
    return [(case, run) for case in done(study, "convergence") for run in case["convergence"]["runs"]]


@TABLES.listing(
    *IDENTITY,
    "rtol maxiter precond status info iterations median_iterations permuted_iterations",
    "setup_seconds solve_seconds residual error coverage coverage_paper",
)
def convergence_summary(study: JsonObject) -> list[JsonObject]:
    """One row for each matrix and preconditioner."""
    return [
        identity(case)
        | {option: case["convergence"].get(option) for option in ("rtol", "maxiter")}
        | run
        | {"coverage_paper": published_coverage(case, run["precond"])}
        for case, run in runs(study)
    ]


@TABLES.listing("name precond iteration residual error")
def convergence_histories(study: JsonObject) -> list[JsonObject]:
    """Residual and error by iteration: the curves of figure 4."""
    return [
        {
            "name": case,
            "precond": run["precond"],
            "iteration": iteration,
            "residual": residual,
            "error": error,
        }
        for case, run in runs(study)
        for iteration, residual, error in history(run)
    ]


def history(run: JsonObject) -> list[tuple[Any, ...]]:
    """(iteration, residual, error) of a run; an error that was not recorded is None."""
    record = run.get("history") or {}
    iterations = record.get("iterations") or []
    nothing = [None] * len(iterations)
    return list(zip(iterations, record.get("residuals") or nothing, record.get("errors") or nothing))
