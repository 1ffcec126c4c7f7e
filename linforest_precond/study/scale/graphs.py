"""Generated graphs of the study, and random weights for graphs without weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import scipy.sparse

from linforest_precond.backends.cpu.runtime.calibration import free_bytes
from linforest_precond.matrices.arrays import from_host
from linforest_precond.matrices.generators.mycielskian import mycielskian
from linforest_precond.matrices.generators.random_graphs import rmat
from linforest_precond.matrix.checked import checked
from linforest_precond.study.cases import Case, Source, size_fields
from linforest_precond.study.matching.algorithms import upper_weights
from linforest_precond.study.results import JsonObject
from linforest_precond.study.scale.large_graphs import bytes_needed, large_graph

SEED = 0
EDGE_FACTOR = 16  # of GAP-kron and GAP-urand


def uniform_graph(scale: int) -> Any:
    """A graph of 2**scale vertices with 16 edges each, ends drawn uniformly: a smaller GAP-urand."""
    vertices = 2**scale
    first, second = np.random.default_rng(SEED).integers(0, vertices, (2, EDGE_FACTOR * vertices))
    first, second = first[first != second], second[first != second]
    ends = np.minimum(first, second), np.maximum(first, second)
    upper = scipy.sparse.coo_array((np.ones(first.size), ends), shape=(vertices, vertices)).tocsr()
    return (upper + upper.T).tocsr()


def queen(side: int) -> Any:
    """A grid of side**3 nodes with 27 neighbours and three unknowns each, as the elements of Queen_4147."""
    path = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(side, side))
    block = scipy.sparse.coo_array(np.ones((3, 3)))
    for _ in range(3):
        block = scipy.sparse.kron(path, block, format="coo")
    return block.tocsr()


GENERATED: dict[str, Callable[[int], Any]] = {
    "mycielskian": mycielskian,
    "urand": uniform_graph,
    "kron": lambda scale: rmat(scale, device="cpu"),
    "queen": queen,
}
# The thesis' graph that a generated one stands for, and its size there.
STANDS_FOR = {
    "mycielskian": ("mycielskian18", 18),
    "urand": ("GAP-urand", 27),
    "kron": ("GAP-kron", 27),
    "queen": ("Queen_4147", 111),
}
# Above this scale these are those of `large_graphs`, which all threads generate: here one thread
# sorts, and weighs the edges.
LARGE, LARGEST_SCALE = ("kron", "urand"), 20

_NOTES = {"queen": "a grid of elements with as many entries in a row as Queen_4147"}


def own_case(name: str, full: bool = False) -> Case | None:
    """The case of a graph that is generated here, None for other names."""
    kind, _, size = name.partition(":")
    if kind not in GENERATED or not size.isdecimal():
        return None
    paper, whole = STANDS_FOR[kind]
    same = int(size) == whole and kind == "mycielskian"
    return Case(
        name,
        title=f"{kind} {size}",
        origin="generated" if same else "stand-in",
        paper=paper,
        note=None if same else _NOTES.get(kind, f"smaller than {paper} and generated likewise"),
        at_paper_size=same,
    )


def why_not(graph: str) -> str:
    """Why the study does not have a graph of the thesis itself."""
    for kind, (name, size) in STANDS_FOR.items():
        if name == graph and kind in LARGE:
            gigabytes = bytes_needed(size, "cuda") / 1e9
            return f"{kind}:{size}, generated likewise, takes {gigabytes:.0f} GB of the host's memory"
    return "a file of the collection, which this run did not have"


def check_memory(name: str, scale: int, device: str) -> None:
    """Raise where the host has less free memory than a large graph takes, before anything is allocated."""
    needed, free = bytes_needed(scale, device), free_bytes()
    if needed > free:
        raise MemoryError(
            f"{name} takes {needed / 1e9:.0f} GB of the host's memory, and {free / 1e9:.0f} GB are free; "
            "each step down in scale takes half as much"
        )


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The graph on the host, with uniform random weights where all of its own are equal, as in the thesis."""
    if own_case(case.name) is not None:
        kind, _, size = case.name.partition(":")
        if kind in LARGE and int(size) > LARGEST_SCALE:
            check_memory(case.name, int(size), source.device)
            return case, large_graph(kind, int(size))
        found, A = case, GENERATED[kind](int(size))
    else:
        found, A = source.fetch_on_host(case)
    W, drawn = weighted(A)
    note = "; ".join(filter(None, (found.note, "uniform random weights" if drawn else None)))
    return replace(found, note=note or None), W


def weighted(A: Any) -> tuple[Any, bool]:
    """A's magnitudes without diagonal, made symmetric; or uniform random numbers in (0, 1], and then True."""
    graph = checked(A).graph
    values = np.abs(graph.values).astype(np.float64, copy=False)
    W = scipy.sparse.csr_array((values, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    if not values.all() or W.diagonal().any():
        upper = upper_weights(graph)
        W = upper + upper.T
    drawn = W.nnz > 0 and bool(np.ptp(W.data) == 0)
    if drawn:
        draws = 1.0 - np.random.default_rng(SEED).random(W.nnz // 2)
        W.data = np.empty(W.nnz)
        spread_draws(W.indptr, W.indices, draws, W.data)
    return from_host(W, np.float64, "cpu", None), drawn


# Sets the weights of a symmetric pattern without diagonal: a draw for each entry above it, row by row. The
# entries below it in a row come in the order of the rows that they mirror.
@numba.njit
def spread_draws(indptr: Any, indices: Any, draws: Any, values: Any) -> None:
    lower, place = indptr[:-1].copy(), 0
    for v in range(lower.size):
        for slot in range(lower[v], indptr[v + 1]):
            w = indices[slot]
            values[slot] = values[lower[w]] = draws[place]
            lower[w] += 1
            place += 1


def properties(W: Any) -> JsonObject:
    """Sizes of a graph; every one of this study is symmetric."""
    return size_fields(W.shape[0], int(W.nnz), True)
