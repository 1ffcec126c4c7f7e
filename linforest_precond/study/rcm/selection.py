"""The matrices of the study."""

from __future__ import annotations

from collections.abc import Iterable

from linforest_precond.matrices.generators.standins import standins
from linforest_precond.study.cases import Case, case_of
from linforest_precond.study.rcm.published import name_in_table, published

# A power network of the paper, its 1000 x 1000 grid, a narrow and a wide front, hubs.
QUICK = ("bcspwr10", "ecology1", "CurlCurl_3", "delaunay_n23", "poisson3d:40", "rmat:15")
# In quick studies: a stand-in with the pattern of ecology1 itself, and smaller ones.
SMALL = {
    "ecology1": ("standin:ecology1", True, "5-point grid 1000 × 1000, the pattern of McRae/ecology1"),
    "CurlCurl_3": ("standin:CurlCurl_3/2", False, "stand-in for Bodendiek/CurlCurl_3, sides divided by 2"),
    "delaunay_n23": ("delaunay:131072", False, "2^17 random points in a square instead of 2^23"),
}
# Stand-ins at the size of the paper where a matrix is not available.
LARGE = {"delaunay_n23": ("delaunay:8388608", True, "2^23 random points in a square")}


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """
    The named cases; by default the quick list, or the paper's 26 matrices.

    Examples
    --------
    >>> from linforest_precond.study.rcm.selection import select
    >>> len(select()), len(select(full=True)), select(["Bodyy4", "aniso2:50"])[0].name
    (6, 26, 'Pothen/bodyy4')
    """
    chosen = (tuple(published()) if full else QUICK) if names is None else names
    listed = [chosen] if isinstance(chosen, str) else chosen
    found = {case.name: case for case in (_case(str(name), full) for name in listed)}
    return list(found.values())


def _case(name: str, full: bool) -> Case:
    known = name_in_table(name)
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
    return f"{published()[name].group}/{name}"


def _generated(paper: str, name: str, at_paper_size: bool, note: str) -> Case:
    return Case(name, f"{paper} (stand-in)", "stand-in", paper, note, at_paper_size)
