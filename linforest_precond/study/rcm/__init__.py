"""The study of Mlakar et al. (2021): the batch Cuthill-McKee order."""

from linforest_precond.study.paper import by_name, paper_of
from linforest_precond.study.rcm import findings, measures, plots, tables
from linforest_precond.study.rcm.measures import batches, orders, threads, times

RCM = paper_of("rcm", by_name(orders, times, threads, batches), tables, plots, findings, measures)
