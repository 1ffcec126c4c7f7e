"""The study of Mlakar et al. (2021): its cases, measurements and report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linforest_precond.matrices.generators.by_name import generate
from linforest_precond.matrices.generators.standins import standins
from linforest_precond.study.cases import Case, case_of, named_cases
from linforest_precond.study.paper import Paper, Reference
from linforest_precond.study.published import rcm_table
from linforest_precond.study.rcm import measures
from linforest_precond.study.rcm.findings import findings
from linforest_precond.study.rcm.plots import figures
from linforest_precond.study.rcm.report import report
from linforest_precond.study.rcm.tables import tables
from linforest_precond.study.settings import Settings

# A power network, a 1000 x 1000 grid, narrow and wide fronts, and a graph with hubs.
QUICK = ("bcspwr10", "ecology1", "CurlCurl_3", "delaunay_n23", "poisson3d:40", "rmat:15")
# Stand-ins of quick studies: (name, whether it has the paper's size, note).
SMALL = {
    "ecology1": ("standin:ecology1", True, "5-point grid 1000 × 1000, the pattern of McRae/ecology1"),
    "CurlCurl_3": ("standin:CurlCurl_3/2", False, "stand-in for Bodendiek/CurlCurl_3, sides divided by 2"),
    "delaunay_n23": ("delaunay:131072", False, "2^17 random points in a square instead of 2^23"),
}
# Stand-ins at the paper's size, for matrices that are not available.
LARGE = {"delaunay_n23": ("delaunay:8388608", True, "2^23 random points in a square")}


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; by default the quick list, or the paper's 26 matrices."""
    default = tuple(rcm_table()) if full else QUICK
    return named_cases(default if names is None else names, full, _case)


def _case(name: str, full: bool) -> Case:
    stem = name.rpartition("/")[2].lower()
    known = next((known for known in rcm_table() if known.lower() == stem), None)
    if known is None:
        return case_of(name, full)
    if not full and known in SMALL:
        return _generated(known, *SMALL[known])
    fallback = None
    if known in LARGE:
        fallback = _generated(known, *LARGE[known])
    elif known in standins():
        fallback = _generated(known, f"standin:{known}", True, f"stand-in for {_full_name(known)}")
    return Case(
        _full_name(known),
        title=known,
        origin="collection",
        paper=known,
        at_paper_size=True,
        fallback=fallback,
    )


def _full_name(name: str) -> str:
    return f"{rcm_table()[name].group}/{name}"


def _generated(paper: str, name: str, at_paper_size: bool, note: str) -> Case:
    return Case(name, f"{paper} (stand-in)", "stand-in", paper, note, at_paper_size)


def warm_up(settings: Any) -> None:
    """Compile every method, the timed batches too."""
    case = Case("poisson2d:40", "", "generated")
    for device in {"cpu", settings.device}:
        A = generate(case.name, device=device)
        for part in (measures.orders, measures.times, measures.threads, measures.batches):
            part(A, case, Settings(device=device))


RCM = Paper(
    name="rcm",
    title="Speculative batches for the Cuthill-McKee order",
    reference=Reference(
        "Daniel Mlakar, Martin Winter, Mathias Parger and Markus Steinberger",
        "Speculative Parallel Reverse Cuthill-McKee Reordering on Multi- and Many-core Architectures",
        "IEEE International Parallel and Distributed Processing Symposium (IPDPS), 2021",
    ),
    select=select,
    measures={
        "orders": measures.orders,
        "times": measures.times,
        "threads": measures.threads,
        "batches": measures.batches,
    },
    tables=tables,
    figures=figures,
    report=report,
    findings=findings,
    warm_up=warm_up,
)
