"""Figure 4.8: the edges that are visited in each iteration of locally dominant matching."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.cpu.matching.out_of_core_matching import match_mutual, set_batch_pointers
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrix.checked import checked
from linforest_precond.study.cases import Case
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings


def visits(W: Any, case: Case, settings: Settings) -> JsonObject:
    """The entries of the rows that are searched in each round that matches edges; an edge has two.

    ``searched`` are the rows of the vertices that point anew, because their targets were matched: those of
    this package, on every device. ``single`` are the rows of all vertices without a mate, which Algorithm 4.3
    searches.
    """
    graph, key = checked(W).graph, tie_key_of(0)
    degrees = np.diff(graph.indptr)
    mate, pointers = np.full((2, graph.n), -1, graph.indices.dtype)
    active, searched, single = np.ones(graph.n, np.bool_), [], []
    while active.any():
        counts = int(degrees[active].sum(dtype=np.int64)), int(degrees[mate < 0].sum(dtype=np.int64))
        set_batch_pointers(graph.indptr, graph.indices, graph.values, 0, 0, graph.n, key, mate, pointers)
        if not match_mutual(mate, pointers):
            break
        searched.append(counts[0])
        single.append(counts[1])
        active = (mate < 0) & (pointers >= 0) & (mate[pointers] >= 0)
    return {"entries": int(graph.indices.size), "searched": searched, "single": single}
