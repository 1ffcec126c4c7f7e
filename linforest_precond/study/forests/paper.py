"""The study of Klein & Strzodka (2022): its cases, measurements and report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.cases import Case, named_cases
from linforest_precond.study.drawing import Figure
from linforest_precond.study.forests import plots
from linforest_precond.study.forests.convergence import convergence
from linforest_precond.study.forests.coverage import coverages
from linforest_precond.study.forests.findings import findings
from linforest_precond.study.forests.performance import performance
from linforest_precond.study.forests.performance_tables import performance_tables
from linforest_precond.study.forests.report import report
from linforest_precond.study.forests.settings import ForestSettings
from linforest_precond.study.forests.tables import tables
from linforest_precond.study.forests.warm import warm_up
from linforest_precond.study.paper import Paper, Reference
from linforest_precond.study.results import JsonObject

ANISO = ("aniso1", "aniso2", "aniso3")
QUICK = (*ANISO, "atmosmodm", "ecology1", "pyamg:airfoil", "pyamg:recirc_flow")


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; by default the quick list, or the paper's 22 matrices."""
    default = tuple(catalogue()) if full else QUICK
    return named_cases(default if names is None else names, full)


def _coverage(A: Any, case: Case, settings: ForestSettings) -> JsonObject:
    # Sums in single precision explain the published values of these grids.
    rounded_sums = case.paper in ANISO and case.origin == "generated"
    return coverages(A, charge=settings.charge, ties=settings.ties, rounded_sums=rounded_sums)


def _convergence(A: Any, case: Case, settings: ForestSettings) -> JsonObject:
    nnz = int(A.nnz)
    return convergence(
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
    return performance(A, charge=settings.charge, ties=settings.ties)


def figures(study: JsonObject) -> dict[str, Figure]:
    """Figures 3 to 6 of the paper."""
    return {
        "propositions": plots.propositions(study),
        "later_propositions": plots.later_propositions(study),
        "proposition_throughput": plots.proposition_throughput(study),
        "convergence": plots.convergence(study),
        "scan_launches": plots.scan_launches(study),
        "scan_times": plots.scan_times(study),
        "setup_breakdown": plots.setup_breakdown(study),
    }


FORESTS = Paper(
    name="forests",
    title="Linear forests as preconditioners",
    reference=Reference(
        "Christoph Klein and Robert Strzodka",
        "Highly Parallel Linear Forest Extraction from a Weighted Graph on GPUs",
        "51st International Conference on Parallel Processing (ICPP\N{NO-BREAK SPACE}’22), 2022",
        "10.1145/3545008.3545035",
    ),
    select=select,
    measures={"coverage": _coverage, "convergence": _convergence, "performance": _performance},
    tables=lambda study: [*tables(study), *performance_tables(study)],
    figures=figures,
    report=report,
    findings=findings,
    settings=ForestSettings,
    warm_up=warm_up,
)
