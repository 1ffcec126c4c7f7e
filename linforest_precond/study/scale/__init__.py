"""Locally dominant matching at scale: the study of chapter 4 of Mandulak (2025)."""

from linforest_precond.study.paper import by_name, paper_of
from linforest_precond.study.scale import batches, findings, graphs, plots, tables
from linforest_precond.study.scale.measures import optimum, visits

SCALE = paper_of(
    "scale", by_name(optimum, batches.batches, batches.memory, visits), tables, plots, findings, graphs
)
