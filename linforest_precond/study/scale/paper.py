"""The study of chapter 4 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from collections.abc import Iterable

from linforest_precond import matrices
from linforest_precond.study.cases import Case, case_of, named_cases
from linforest_precond.study.paper import Paper, mandulak
from linforest_precond.study.scale.batches import batches, memory
from linforest_precond.study.scale.findings import findings
from linforest_precond.study.scale.graphs import fetch, generated_case, weighted
from linforest_precond.study.scale.optimum import optimum
from linforest_precond.study.scale.plots import figures
from linforest_precond.study.scale.report import report
from linforest_precond.study.scale.tables import tables
from linforest_precond.study.settings import Settings

# Small graphs for the optimum, and larger ones for the rates.
QUICK = (
    "mycielskian:8", "urand:6", "kron:8", "delaunay:600", "poisson2d:100", "kron:14", "urand:14",
    "delaunay:60000",
)  # fmt: skip
# The thesis' graphs that one device can hold, and generated ones.
FULL = (
    *QUICK, "kron:20", "urand:20", "Belcastro/mouse_gene", "GenBank/kmer_V2a", "GenBank/kmer_U1a",
    "SNAP/com-Orkut", "Fluorem/HV15R", "Janna/Queen_4147", "kron:22", "urand:22", "mycielskian:18",
)  # fmt: skip


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; by default generated graphs, or the thesis' too."""
    default = FULL if full else QUICK
    return named_cases(default if names is None else names, full, _case)


def _case(name: str, full: bool) -> Case:
    return generated_case(name) or case_of(name, full)


def warm_up(settings: Settings) -> None:
    """Compile by measuring a small graph."""
    W, _ = weighted(matrices.poisson((8, 8)))
    for part in settings.parts:
        SCALE.measures[part](W, Case("warm up", "warm up", "generated"), settings)


SCALE = Paper(
    name="scale",
    title="Locally dominant matching at scale",
    reference=mandulak(4),
    select=select,
    measures={"optimum": optimum, "batches": batches, "memory": memory},
    tables=tables,
    figures=figures,
    report=report,
    findings=findings,
    fetch=fetch,
    warm_up=warm_up,
)
