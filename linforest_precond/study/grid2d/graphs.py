"""The graphs of the study, whose sizes grow by four as the ranks do, and their distribution."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed.grid2d import Graph2D, Grid
from linforest_precond.study.cases import Case, Source, named_cases
from linforest_precond.study.scale.graphs import uniform_graph

# Weak scaling needs graphs of one kind, each four times as large as the one before.
QUICK = ("rmat:7", "rmat:9", "rmat:11", "urand:7", "urand:9", "poisson:16x32")
FULL = (
    "rmat:7", "rmat:9", "rmat:11", "rmat:13", "urand:7", "urand:9", "urand:11", "urand:13", "poisson:64x128",
    "rmat:16",
)  # fmt: skip
UNIFORM = re.compile(r"urand:(\d{1,2})")


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; "urand:K" is a uniform random graph of 2**K vertices, as the thesis' RAND."""
    chosen = (FULL if full else QUICK) if names is None else [names] if isinstance(names, str) else names
    return list({str(name): _case(str(name), full) for name in chosen}.values())


def _case(name: str, full: bool) -> Case:
    if UNIFORM.fullmatch(name):
        return Case(name, name.replace(":", " "), "generated")
    return named_cases([name], full)[0]


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The graph on the host."""
    uniform = UNIFORM.fullmatch(case.name)
    if uniform:
        return case, uniform_graph(int(uniform[1]))
    found, A = Source("cpu", source.offline).fetch(case)
    return found, on_host(A)


def graph_on(comm: Any, A: Any, shape: tuple[int, int] | None = None) -> Graph2D:
    """The graph of a matrix that all ranks have: each takes every p-th edge."""
    entries = A.tocoo()
    mine = slice(comm.rank, None, comm.size)
    rows, columns = (index[mine] for index in (entries.row, entries.col))
    return Graph2D(Grid(comm, shape), A.shape[0], rows, columns, entries.data[mine])


def hub_of(A: Any) -> int:
    """The vertex of the highest degree."""
    return int(np.diff(A.indptr).argmax())
