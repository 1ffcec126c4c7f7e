"""The sections of the report, in their order."""

from __future__ import annotations

from linforest_precond.study.forests.report.convergence import convergence
from linforest_precond.study.forests.report.coverage import coverages, matrices
from linforest_precond.study.forests.report.performance import performance
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import Section


def sections(study: JsonObject) -> list[Section]:
    return [
        Section("matrices", "Matrices", matrices(study)),
        Section("coverage", "Weight coverage", coverages(study)),
        Section("convergence", "Convergence", convergence(study)),
        Section("performance", "Performance", performance(study)),
    ]
