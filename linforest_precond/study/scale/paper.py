"""The study of chapter 4 of Mandulak (2025): locally dominant matching at scale."""

from __future__ import annotations

from linforest_precond.study.paper import by_name, paper_of
from linforest_precond.study.scale import findings, graphs, plots, tables
from linforest_precond.study.scale.batches import batches, memory
from linforest_precond.study.scale.optimum import optimum
from linforest_precond.study.scale.visits import visits

SCALE = paper_of("scale", by_name(optimum, batches, memory, visits), tables, plots, findings, graphs)
