"""The cases of a study: matrices by name, with the source they are loaded from and their stand-ins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrices.catalogue import PaperMatrix, catalogue, find
from linforest_precond.matrices.download.places import MatrixNotAvailable, MatrixOffline, split_name
from linforest_precond.matrices.generators.by_name import is_generator
from linforest_precond.matrices.generators.standins import standin_info, standins
from linforest_precond.matrices.load import is_path, load
from linforest_precond.matrix.checked import checked
from linforest_precond.records.printing import encodable, printable
from linforest_precond.study.results import JsonObject

# Vertices along a side of an ANISO grid.
QUICK_SIDE, PAPER_SIDE = 200, 2500
# Divisors of the sides of stand-ins in quick studies, by the number of dimensions.
QUICK_SHRINK = {2: 10, 3: 4}
LONGEST_SLUG = 60


@dataclass(frozen=True)
class Case:
    """A matrix of a study; `fallback` replaces it where it is not available."""

    name: str  # for `matrices.load`
    title: str
    origin: str  # "file", "collection", "gallery", "generated" or "stand-in"
    paper: str | None = None  # the paper's matrix that this is, or stands for
    note: str | None = None
    at_paper_size: bool = False
    fallback: Case | None = None

    def record(self) -> JsonObject:
        """The fields of the case in a study that are known before it runs."""
        names = ("title", "paper", "origin", "note", "at_paper_size")
        return {"name": encodable(self.name), **{name: getattr(self, name) for name in names}}


class Missing(Exception):  # noqa: N818
    """The matrix of a case is not available; the message says what to do."""


def named_cases(
    names: Iterable[str], full: bool = False, own_case: Callable[[str, bool], Case | None] | None = None
) -> list[Case]:
    """The cases of the given names, without duplicates: those of `own_case` where it knows a name."""
    listed = [str(name) for name in ([names] if isinstance(names, str) else names)]
    cases = [own_case and own_case(name, full) or case_of(name, full) for name in listed]
    return _told_apart(list({case.name: case for case in cases}.values()))


def _told_apart(cases: list[Case]) -> list[Case]:
    """Titles made unique: those of files with equal names get the last folders of their paths."""
    titles = Counter(case.title for case in cases)
    for depth in range(2, 2 + max((len(Path(case.name).parts) for case in cases), default=0)):
        for place, case in enumerate(cases):
            if case.origin == "file" and titles[case.title] > 1:
                end = Path(*Path(case.name).parts[-depth:]).as_posix()
                cases[place] = replace(case, title=printable(end))
        titles = Counter(case.title for case in cases)
    return cases


def case_of(name: str, full: bool) -> Case:
    """The case of one name."""
    if is_path(name) or (Path(name).suffix and Path(name).is_file()):
        return Case(name, title=printable(Path(name).name), origin="file")
    try:
        paper = find(name)
    except LookupError:
        if is_generator(name):
            return _generated(name)
        split_name(name)  # no matrix has such a name: an error before any work
        return Case(name, title=name, origin="collection")
    if paper.group is None:
        return _generated(f"{paper.name}:{PAPER_SIDE if full else QUICK_SIDE}")
    has_standin = paper.name in standins()
    if has_standin and not full:
        return _standin(paper, shrink=QUICK_SHRINK[len(standin_info(paper.name).shape)])
    return Case(
        paper.full_name,
        title=paper.name,
        origin="collection",
        paper=paper.name,
        at_paper_size=True,
        fallback=_standin(paper) if has_standin else None,
    )


def _generated(name: str) -> Case:
    kind, _, argument = name.partition(":")
    kind = kind.lower()
    if kind == "pyamg":
        return Case(name, title=f"{argument} (PyAMG)", origin="gallery")
    if kind == "standin":
        return _named_standin(name, argument)
    if kind not in catalogue():
        return Case(name, title=name.replace(":", " "), origin="generated")
    side = argument or str(PAPER_SIDE)
    return Case(
        f"{kind}:{side}",
        title=f"{kind.upper()} {side} × {side}",
        origin="generated",
        paper=kind,
        at_paper_size=side == str(PAPER_SIDE),
    )


def _named_standin(name: str, argument: str) -> Case:
    stem, _, shrink = argument.partition("/")
    try:
        return _standin(find(stem), int(shrink or 1))
    except (LookupError, ValueError):  # `load` raises the error, with the reason
        return Case(name, title=name, origin="stand-in")


def _standin(paper: PaperMatrix, shrink: int = 1) -> Case:
    reduced = f", sides divided by {shrink}" if shrink > 1 else ""
    return Case(
        f"standin:{paper.name}" + (f"/{shrink}" if shrink > 1 else ""),
        title=f"{paper.name} (stand-in)",
        origin="stand-in",
        paper=paper.name,
        note=f"stand-in for {paper.full_name}{reduced}",
        at_paper_size=shrink == 1,
    )


class Source:
    """Loads the matrices of cases; after one failed download it stays offline."""

    def __init__(self, device: str, offline: bool = False):
        self.device, self.offline = device, offline

    def fetch(self, case: Case) -> tuple[Case, Any]:
        """The case or its fallback, with the matrix in double precision; raises `Missing`."""
        try:
            return case, self._load(case.name)
        except (MatrixNotAvailable, FileNotFoundError, ImportError) as error:
            if case.fallback is None:
                raise Missing(str(error)) from error
            note = f"{case.fallback.note}, which is not available"
            return replace(case.fallback, note=note), self._load(case.fallback.name)

    def fetch_on_host(self, case: Case) -> tuple[Case, Any]:
        """As `fetch`, with the matrix on the host."""
        host = Source("cpu", self.offline)
        found = host.fetch(case)
        self.offline = host.offline
        return found

    def _load(self, name: str) -> Any:
        try:
            A = load(name, device=self.device, offline=self.offline or None)
        except MatrixOffline:
            self.offline = True
            raise
        return A.astype(np.result_type(A.dtype, np.float64), copy=False)


def properties(A: Any) -> JsonObject:
    """The columns of the paper's table 3: size and symmetry of a matrix."""
    return size_fields(A.shape[0], int(A.nnz), is_symmetric(A))


def size_fields(rows: int, nnz: int, symmetric: bool | None) -> JsonObject:
    return {"rows": rows, "nnz": nnz, "symmetric": symmetric, "mean_degree": nnz / max(rows, 1)}


def is_symmetric(A: Any) -> bool:
    """Whether A equals its transpose."""
    csr = checked(A)
    if not csr.symmetric:  # the magnitudes differ already
        return False
    transposed = checked(A.T.tocsr())
    return bool(xp_of(csr.data).array_equal(transposed.data, csr.data))


def slug(name: str) -> str:
    """A name made fit for a file name: short and ASCII."""
    return re.sub(r"[^\w.+]+", "-", name, flags=re.ASCII).strip("-.")[:LONGEST_SLUG] or "matrix"
