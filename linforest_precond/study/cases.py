"""The matrices of a study: which ones, what they stand for, and where they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr
from linforest_precond.matrices.catalogue import PaperMatrix, catalogue, find
from linforest_precond.matrices.errors import MatrixNotAvailable, MatrixOffline
from linforest_precond.matrices.generators import is_generator
from linforest_precond.matrices.load import is_path, load
from linforest_precond.matrices.standins import standin_info, standins

# Vertices along a side of the ANISO grids.
QUICK_SIDE, PAPER_SIDE = 300, 2500
# What the sides of stand-ins are divided by where it shall be quick: by their number of dimensions.
QUICK_SHRINK = {2: 10, 3: 4}
QUICK = ("aniso1", "aniso2", "aniso3", "atmosmodm", "ecology1", "pyamg:airfoil", "pyamg:recirc_flow")


@dataclass(frozen=True)
class Case:
    """A matrix to be studied; `fallback` takes its place where it cannot be had."""

    name: str  # as `matrices.load` takes it
    title: str
    origin: str
    paper: str | None = None
    note: str | None = None
    at_paper_size: bool = False
    fallback: Case | None = None

    def record(self) -> dict:
        """The first fields of the case in a study, for a case that was not run yet."""
        names = ("name", "title", "paper", "origin", "note", "at_paper_size")
        return {name: getattr(self, name) for name in names}


class Missing(Exception):  # noqa: N818
    """A case's matrix cannot be had; the message says what to do."""


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """
    The cases that names stand for, each once; without names the quick list, or the paper's 22 matrices.

    Examples
    --------
    >>> from linforest_precond.study.cases import select
    >>> [case.name for case in select(["aniso2", "Ecology1", "poisson2d:50"])]
    ['aniso2:300', 'standin:ecology1/10', 'poisson2d:50']
    >>> select(["ecology1"], full=True)[0].name
    'McRae/ecology1'
    >>> len(select()), len(select(full=True))
    (7, 22)
    """
    if names is None:
        names = tuple(catalogue()) if full else QUICK
    elif isinstance(names, str):
        names = [names]
    found = {case.name: case for case in (case_of(str(name), full) for name in names)}
    return list(found.values())


def case_of(name: str, full: bool) -> Case:
    """The case that one name stands for."""
    if is_path(name):
        return Case(name, Path(name).name, "file")
    try:
        paper = find(name)
    except LookupError:
        return _generated(name) if is_generator(name) else Case(name, name, "collection")
    if paper.group is None:
        return _generated(f"{paper.name}:{PAPER_SIDE if full else QUICK_SIDE}")
    has_standin = paper.name in standins()
    if has_standin and not full:
        return _standin(paper, QUICK_SHRINK[len(standin_info(paper.name).shape)])
    fallback = _standin(paper, 1) if has_standin else None
    return Case(paper.full_name, paper.name, "collection", paper.name, None, True, fallback)


def _generated(name: str) -> Case:
    kind, _, argument = name.partition(":")
    kind = kind.lower()
    if kind == "pyamg":
        return Case(name, f"{argument} (PyAMG)", "gallery")
    if kind == "standin":
        return _named_standin(name, argument)
    if kind not in catalogue():
        return Case(name, name.replace(":", " "), "generated")
    side = argument or str(PAPER_SIDE)
    at_paper_size = side == str(PAPER_SIDE)
    title = f"{kind.upper()} {side} × {side}"
    return Case(f"{kind}:{side}", title, "generated", kind, None, at_paper_size)


def _named_standin(name: str, argument: str) -> Case:
    stem, _, shrink = argument.partition("/")
    try:
        return _standin(find(stem), int(shrink or 1))
    except (LookupError, ValueError):  # loading it will say what is wrong
        return Case(name, name, "stand-in")


def _standin(paper: PaperMatrix, shrink: int) -> Case:
    reduced = f", sides divided by {shrink}" if shrink > 1 else ""
    name = f"standin:{paper.name}" + (f"/{shrink}" if shrink > 1 else "")
    note = f"stand-in for {paper.full_name}{reduced}"
    return Case(name, f"{paper.name} (stand-in)", "stand-in", paper.name, note, shrink == 1)


class Source:
    """Where the matrices come from; a network that was down once is not asked again."""

    def __init__(self, device: str, offline: bool = False):
        self.device, self.offline = device, offline

    def fetch(self, case: Case) -> tuple[Case, Any]:
        """The case, or what takes its place, and its matrix in double precision; raises `Missing`."""
        try:
            return case, self._load(case.name)
        except (MatrixNotAvailable, FileNotFoundError, ImportError) as error:
            if case.fallback is None:
                raise Missing(str(error)) from error
            note = f"{case.fallback.note}, which is not at hand"
            return replace(case.fallback, note=note), self._load(case.fallback.name)

    def _load(self, name: str) -> Any:
        try:
            A = load(name, device=self.device, offline=self.offline or None)
        except MatrixOffline:
            self.offline = True
            raise
        return A.astype(np.result_type(A.dtype, np.float64), copy=False)


def properties(A: Any) -> dict:
    """What table 3 of the paper tells of a matrix."""
    rows, nnz = A.shape[0], int(A.nnz)
    return {"rows": rows, "nnz": nnz, "symmetric": is_symmetric(A), "mean_degree": nnz / max(rows, 1)}


def is_symmetric(A: Any) -> bool:
    """
    Whether A equals its transpose.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.cases import is_symmetric
    >>> A = lf.matrices.poisson((4, 4))
    >>> is_symmetric(A), is_symmetric(lf.matrices.stencil(4, [1, 4, -1]))
    (True, False)
    """
    csr = as_csr(A)
    if not csr.symmetric:  # not even the magnitudes
        return False
    transposed = as_csr(A.T.tocsr())
    return bool(backend_of(csr.data).xp.array_equal(transposed.data, csr.data))


def slug(name: str) -> str:
    """
    A name as a part of a file's name.

    Examples
    --------
    >>> from linforest_precond.study.cases import slug
    >>> slug("standin:atmosmodm/4"), slug("../a b.mtx")
    ('standin-atmosmodm-4', 'a-b.mtx')
    """
    return re.sub(r"[^\w.+]+", "-", name).strip("-.") or "matrix"
