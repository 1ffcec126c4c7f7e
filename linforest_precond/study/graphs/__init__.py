"""Components, independent sets and spanning forests of random graphs: the study of Cichra's thesis (2024)."""

from functools import partial

from linforest_precond.study.graphs import findings, graphs, plots, tables
from linforest_precond.study.graphs.measures import FAMILIES, measured
from linforest_precond.study.paper import Measure, paper_of

PARTS: dict[str, Measure] = {part: partial(measured, part) for part in FAMILIES}
GRAPHS = paper_of("graphs", PARTS, tables, plots, findings, graphs)
