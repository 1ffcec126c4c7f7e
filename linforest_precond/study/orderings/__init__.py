"""Vertex orderings, gap metrics, and times of graph algorithms: the study of chapter 2 of Mandulak (2025)."""

from linforest_precond.study.orderings import findings, measures, plots, tables
from linforest_precond.study.orderings.measures import orderings, refinement
from linforest_precond.study.paper import by_name, paper_of

ORDERINGS = paper_of("orderings", by_name(orderings, refinement), tables, plots, findings, measures)
