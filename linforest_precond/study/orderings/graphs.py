"""The graphs of the study: as they are numbered, or with their vertices shuffled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond.graph.reordering.permute import permute
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study.cases import Case, Source, case_of

SEED = 0
SHUFFLED = "shuffled:"


def own_case(name: str, full: bool) -> Case | None:
    """The case of a graph with shuffled vertices, "shuffled:" and another name."""
    if not name.startswith(SHUFFLED):
        return None
    found = case_of(name.removeprefix(SHUFFLED), full)
    return replace(found, name=SHUFFLED + found.name, title=f"shuffled {found.title}", fallback=None)


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The Laplacian of a graph, with 1 added to the diagonal, so that CG can be timed on it."""
    shuffled = case.name.startswith(SHUFFLED)
    found, A = source.fetch_on_host(replace(case, name=case.name.removeprefix(SHUFFLED)))
    B = shifted_laplacian(A)
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
