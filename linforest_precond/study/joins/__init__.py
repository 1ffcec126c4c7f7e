"""Fuzzy set joins by approximate matchings: the study of chapter 5 of Mandulak (2025)."""

from linforest_precond.study.joins import findings, measures, plots, tables
from linforest_precond.study.joins.measures import quality, shares, times
from linforest_precond.study.paper import by_name, paper_of

JOINS = paper_of("joins", by_name(quality, times, shares), tables, plots, findings, measures)
