"""Linear forests as preconditioners: the study of Klein & Strzodka (2022)."""

from typing import Any

from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.cases import Case
from linforest_precond.study.forests import (
    convergence,
    coverage,
    findings,
    performance,
    performance_tables,
    plots,
    report,
    tables,
)
from linforest_precond.study.forests.settings import ForestSettings
from linforest_precond.study.forests.warm import warm_up
from linforest_precond.study.paper import paper_of
from linforest_precond.study.results import JsonObject

ANISO = ("aniso1", "aniso2", "aniso3")


def _coverage(A: Any, case: Case, settings: ForestSettings) -> JsonObject:
    # Sums in single precision explain the published values of these grids.
    rounded_sums = case.paper in ANISO and case.origin == "generated"
    return coverage.coverages(A, charge=settings.charge, ties=settings.ties, rounded_sums=rounded_sums)


def _convergence(A: Any, case: Case, settings: ForestSettings) -> JsonObject:
    nnz = int(A.nnz)
    return convergence.convergence(
        A,
        rtol=settings.rtol,
        maxiter=settings.maxiter_for(nnz),
        permutations=settings.permutations_for(nnz),
        charge=settings.charge,
        ties=settings.ties,
        repair=settings.repair,
        further=settings.precond,
        multigrid=settings.multigrid,
    )


def _performance(A: Any, case: Case, settings: ForestSettings) -> JsonObject:
    return performance.performance(A, charge=settings.charge, ties=settings.ties)


FORESTS = paper_of(
    "forests",
    {"coverage": _coverage, "convergence": _convergence, "performance": _performance},
    tables,
    plots,
    findings,
    report,
    listings=[*tables.TABLES, *performance_tables.TABLES],
    full=catalogue,
    settings=ForestSettings,
    compile=warm_up,
)
