"""The study of Fagginger Auer & Bisseling (2012): its cases, measurements and report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linforest_precond import matrices
from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.cases import Case, named_cases
from linforest_precond.study.matching.findings import findings
from linforest_precond.study.matching.measures import (
    MatchingSettings,
    arrangement,
    colours,
    quality,
    rounds,
    threads,
    times,
)
from linforest_precond.study.matching.plots import figures
from linforest_precond.study.matching.report import report
from linforest_precond.study.matching.tables import tables
from linforest_precond.study.paper import Paper, Reference

# Meshes, grids with other weights, and a graph of skewed degrees; ecology1 is the paper's own example.
QUICK = ("ecology1", "aniso2:200", "pyamg:bar", "poisson2d:300", "delaunay:30000", "rmat:13")
# Symmetric matrices of the collection, as the paper took them: from structural mechanics to graphs.
COLLECTION = (
    "HB/bcsstk13", "HB/bcsstk14", "HB/bcsstk16", "HB/bcsstk09", "HB/494_bus", "HB/nos7", "HB/sherman1",
    "VDOL/hangGlider_2", "GHS_indef/laser", "Andrews/Andrews", "HB/bcspwr10", "DIMACS10/luxembourg_osm",
    "AG-Monien/brack2", "GHS_psdef/copter2", "AG-Monien/4elt", "DIMACS10/rgg_n_2_15_s0",
)  # fmt: skip


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; by default the quick list, or symmetric matrices of the collection."""
    symmetric = [name for name, matrix in catalogue().items() if matrix.symmetric]
    default = ("ecology1", *symmetric, *COLLECTION) if full else QUICK
    return named_cases(default if names is None else names, full)


def warm_up(settings: MatchingSettings) -> None:
    """Compile by measuring a small matrix."""
    A: Any = matrices.aniso(2, 12, device=settings.device)
    few = MatchingSettings(device=settings.device, permutations=1)
    for part in settings.parts:
        MATCHING.measures[part](A, Case("warm up", "warm up", "generated"), few)


MATCHING = Paper(
    name="matching",
    title="Greedy matching by proposals",
    reference=Reference(
        "Bas O. Fagginger Auer and Rob H. Bisseling",
        "A GPU Algorithm for Greedy Graph Matching",
        "Facing the Multicore-Challenge II, Lecture Notes in Computer Science 7174, 2012",
        "10.1007/978-3-642-30397-5_10",
    ),
    select=select,
    measures={
        "rounds": rounds,
        "colours": colours,
        "quality": quality,
        "arrangement": arrangement,
        "times": times,
        "threads": threads,
    },
    tables=tables,
    figures=figures,
    report=report,
    findings=findings,
    settings=MatchingSettings,
    warm_up=warm_up,
)
