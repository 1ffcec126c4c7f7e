"""The study of Mlakar et al. (2021): what it consists of."""

from __future__ import annotations

from typing import Any

from linforest_precond.matrices.generators.by_name import generate
from linforest_precond.study.cases import Case
from linforest_precond.study.paper import Paper, Reference
from linforest_precond.study.rcm import measures
from linforest_precond.study.rcm.figures import figures
from linforest_precond.study.rcm.report import findings, method, sections
from linforest_precond.study.rcm.selection import select
from linforest_precond.study.rcm.tables import tables
from linforest_precond.study.settings import Settings


def warm_up(settings: Any) -> None:
    """Compile every method, the timed batches too."""
    case = Case("poisson2d:40", "", "generated")
    for device in {"cpu", settings.device}:
        A = generate(case.name, device=device)
        for part in (measures.orders, measures.times, measures.threads, measures.batches):
            part(A, case, Settings(device=device))


RCM = Paper(
    name="rcm",
    title="Speculative batches for the Cuthill-McKee order",
    reference=Reference(
        "Daniel Mlakar, Martin Winter, Mathias Parger and Markus Steinberger",
        "Speculative Parallel Reverse Cuthill-McKee Reordering on Multi- and Many-core Architectures",
        "IEEE International Parallel and Distributed Processing Symposium (IPDPS), 2021",
    ),
    select=select,
    measures={
        "orders": measures.orders,
        "times": measures.times,
        "threads": measures.threads,
        "batches": measures.batches,
    },
    tables=tables,
    figures=figures,
    sections=sections,
    findings=findings,
    method=method,
    warm_up=warm_up,
)
