"""Statistics of traffic matrices: the study of chapter 3 of Mandulak (2025)."""

from linforest_precond.study.paper import by_name, paper_of
from linforest_precond.study.traffic import findings, packets, plots, tables
from linforest_precond.study.traffic.measures import analysis, batches, files, windows

TRAFFIC = paper_of("traffic", by_name(analysis, batches, windows, files), tables, plots, findings, packets)
