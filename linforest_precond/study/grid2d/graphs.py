"""The graphs of the study, and their distribution over a grid of ranks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linforest_precond.distributed.grid2d import Graph2D, Grid
from linforest_precond.study.cases import Case, Source
from linforest_precond.study.scale.graphs import uniform_graph

UNIFORM = re.compile(r"urand:(\d{1,2})")


def own_case(name: str, full: bool) -> Case | None:
    """The case "urand:K", a uniform random graph of 2**K vertices, as the thesis' RAND."""
    return Case(name, name.replace(":", " "), "generated") if UNIFORM.fullmatch(name) else None


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The graph on the host."""
    uniform = UNIFORM.fullmatch(case.name)
    return (case, uniform_graph(int(uniform[1]))) if uniform else source.fetch_on_host(case)


def graph_on(comm: Any, A: Any, shape: tuple[int, int] | None = None) -> Graph2D:
    """The graph of a matrix that all ranks have: each takes every p-th edge."""
    entries = A.tocoo()
    mine = slice(comm.rank, None, comm.size)
    rows, columns = (index[mine] for index in (entries.row, entries.col))
    return Graph2D(Grid(comm, shape), A.shape[0], rows, columns, entries.data[mine])


def hub_of(A: Any) -> int:
    """The vertex of the highest degree."""
    return int(np.diff(A.indptr).argmax())
