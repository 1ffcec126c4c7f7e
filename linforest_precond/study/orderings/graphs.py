"""The graphs of the study: as they are numbered, or with their vertices shuffled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study.cases import Case, Source, named_cases

SEED = 0
SHUFFLED = "shuffled:"
# One is small enough for the reference of Louvain.
QUICK = (
    "poisson2d:200", "shuffled:poisson2d:200", "shuffled:poisson3d:30", "shuffled:delaunay:30000", "rmat:13",
    "shuffled:delaunay:3000",
)  # fmt: skip
FULL = (
    "shuffled:delaunay:3000", "poisson2d:1000", "shuffled:poisson2d:1000",
    "shuffled:poisson3d:80", "shuffled:delaunay:262144", "rmat:18",
    "NotreDame_www", "luxembourg_osm", "wing", "brack2", "xenon1", "Andrews", "hypre_tucker21935",
    "shuffled:poisson2d:4000", "rmat:22",
)  # fmt: skip


def select(names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
    """The named cases; by default generated graphs, or larger and real ones too. `SHUFFLED` is a prefix."""
    chosen = (FULL if full else QUICK) if names is None else [names] if isinstance(names, str) else names
    return list({name: _case(str(name), full) for name in chosen}.values())


def _case(name: str, full: bool) -> Case:
    if not name.startswith(SHUFFLED):
        return named_cases([name], full)[0]
    found = named_cases([name.removeprefix(SHUFFLED)], full)[0]
    return replace(found, name=SHUFFLED + found.name, title=f"shuffled {found.title}", fallback=None)


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The Laplacian of a graph, with 1 added to the diagonal, so that CG can be timed on it."""
    shuffled = case.name.startswith(SHUFFLED)
    found, A = Source("cpu", source.offline).fetch(replace(case, name=case.name.removeprefix(SHUFFLED)))
    B = shifted_laplacian(on_host(A))
    if shuffled:
        B = permute(B, np.random.default_rng(SEED).permutation(B.shape[0]))
        found = replace(found, name=SHUFFLED + found.name)
    return found, on_device(B, source.device)


def shifted_laplacian(A: Any) -> Any:
    """I + D - (adjacency of the pattern of A + A.T), D the degrees: symmetric positive definite."""
    edges = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    edges = sp.csr_array(edges + edges.T)
    edges.setdiag(0)
    edges.eliminate_zeros()
    edges.data[:] = -1.0
    return sp.csr_array(sp.diags_array(1.0 - edges.sum(axis=1)) + edges)
