"""The matrices of table I: those of the collection, and generated ones in their place."""

from __future__ import annotations

from linforest_precond.matrices.generators.standins import standins
from linforest_precond.study.cases import Case
from linforest_precond.study.published import named_rows

# Stand-ins of quick studies: (name, whether it has the paper's size, note).
SMALL = {
    "ecology1": ("standin:ecology1", True, "5-point grid 1000 × 1000, the pattern of McRae/ecology1"),
    "CurlCurl_3": ("standin:CurlCurl_3/2", False, "stand-in for Bodendiek/CurlCurl_3, sides divided by 2"),
    "delaunay_n23": ("delaunay:131072", False, "2^17 random points in a square instead of 2^23"),
}
# Stand-ins at the paper's size, for matrices that are not available.
LARGE = {"delaunay_n23": ("delaunay:8388608", True, "2^23 random points in a square")}


def full() -> list[str]:
    """The names of all matrices of table I."""
    return list(named_rows("rcm"))


def own_case(name: str, full: bool) -> Case | None:
    """The case of a matrix of table I."""
    stem = name.rpartition("/")[2].lower()
    known = next((known for known in named_rows("rcm") if known.lower() == stem), None)
    if known is None:
        return None
    if not full and known in SMALL:
        return _generated(known, *SMALL[known])
    full_name = f"{named_rows('rcm')[known]['group']}/{known}"
    fallback = None
    if known in LARGE:
        fallback = _generated(known, *LARGE[known])
    elif known in standins():
        fallback = _generated(known, f"standin:{known}", True, f"stand-in for {full_name}")
    return Case(full_name, known, "collection", paper=known, at_paper_size=True, fallback=fallback)


def _generated(paper: str, name: str, at_paper_size: bool, note: str) -> Case:
    return Case(name, f"{paper} (stand-in)", "stand-in", paper, note, at_paper_size)
