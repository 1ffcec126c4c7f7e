"""Greedy matching by proposals: the study of Fagginger Auer & Bisseling (2012)."""

from linforest_precond.study.matching import findings, measures, plots, tables
from linforest_precond.study.matching.measures import arrangement, colours, quality, rounds, threads, times
from linforest_precond.study.paper import by_name, paper_of

PARTS = by_name(rounds, colours, quality, arrangement, times, threads)
MATCHING = paper_of("matching", PARTS, tables, plots, findings, settings=measures.MatchingSettings)
