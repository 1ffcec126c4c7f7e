"""The study of chapter 4 of Mandulak (2025): locally dominant matching at scale."""

from __future__ import annotations

from linforest_precond.study.paper import Paper, by_name
from linforest_precond.study.scale import plots
from linforest_precond.study.scale.batches import batches, memory
from linforest_precond.study.scale.findings import findings
from linforest_precond.study.scale.graphs import fetch, generated_case
from linforest_precond.study.scale.optimum import optimum
from linforest_precond.study.scale.tables import TABLES

SCALE = Paper(
    name="scale",
    measures=by_name(optimum, batches, memory),
    listings=TABLES,
    plots=plots,
    findings=findings,
    own_case=lambda name, full: generated_case(name),
    fetch=fetch,
)
