"""The matrices of table I, or generated ones in their place; orders, times, threads and batches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.cpu.reordering.cuthill_mckee import LOOKS, width_near
from linforest_precond.backends.cpu.reordering.rcm_batch import DEFAULT
from linforest_precond.graph import BatchOptions, bandwidth, profile
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.matrices.generators.standins import standins
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.paper import Settings
from linforest_precond.study.published import named_rows
from linforest_precond.study.results import JsonObject

# Stand-ins of quick studies: (name, whether it has the paper's size, note).
SMALL = {
    "ecology1": ("standin:ecology1", True, "5-point grid 1000 × 1000, the pattern of McRae/ecology1"),
    "CurlCurl_3": ("standin:CurlCurl_3/2", False, "stand-in for Bodendiek/CurlCurl_3, sides divided by 2"),
    "delaunay_n23": ("delaunay:131072", False, "2^17 random points in a square instead of 2^23"),
}
# Stand-ins at the paper's size, for matrices that are not available.
LARGE = {
    "delaunay_n23": ("delaunay:8388608", True, "2^23 random points in a square"),
    "gupta3": ("dense_rows:16783", True, "300 random rows with 87 % of the entries each, and a band"),
    "mycielskian18": ("mycielskian:18", True, "generated, and so numbered in the order of its construction"),
}


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


REPEATS = 5
# A study on the GPU measures the host's methods up to this size: on one with 16 cores they took 39 s for an
# R-MAT graph of 31 million entries. SciPy, the base of the speed-ups, then runs once.
MOST_ENTRIES_ON_HOST = 40_000_000
# Variants of the batch method, from Algorithm 4 to the paper's versions for the CPU and for the GPU.
ALGORITHM_4 = "Algorithm 4"
VARIANTS = {
    ALGORITHM_4: BatchOptions(early=False, balanced=False, concurrent=1),
    "early signals": BatchOptions(balanced=False, concurrent=1),
    "balanced": BatchOptions(concurrent=1),
    "overestimated": BatchOptions(overestimate=True, concurrent=1),
    "Algorithm 5": BatchOptions(),
    "Algorithm 5, overestimated": BatchOptions(overestimate=True),
}
# The variant of figure 3, which is the paper's GPU version.
COUNTED = "Algorithm 5, overestimated"
# The stages of figure 6, and the counts of figure 3.
STAGES = ("discover", "sort", "rediscover", "signal", "output", "stall")
COUNTS = ("generated", "dequeued", "executed", "early", "children", "switched")


def orders(A: Any, case: Case, settings: Settings) -> JsonObject:
    """The columns of table I that do not depend on the machine; every method must give the same order."""
    pattern = as_pattern(A)
    backend = pattern.backend
    order = order_pattern(pattern)
    start, fronts = _start_and_fronts(pattern, order)
    others = [order_pattern(pattern, None, method) for method in backend.reordering.cuthill_mckee.METHODS]
    host = _host_matrix(A)
    theirs = csgraph.reverse_cuthill_mckee(host, symmetric_mode=_is_symmetric(pattern, host))
    theirs = backend.xp.asarray(theirs)
    reverse = order[::-1].copy()
    return {
        "start": start,
        "bandwidth": bandwidth(A),
        "reordered_bandwidth": bandwidth(A, reverse),
        "scipy_bandwidth": bandwidth(A, theirs),
        "envelope": profile(A, reverse),
        "scipy_envelope": profile(A, theirs),
        "max_degree": int(pattern.longest_row),  # the diagonal counts, as in the paper
        "levels": int(fronts.size),
        "mean_front": float(fronts.mean()),
        "front": mean_front_of_a_vertex(fronts),
        "identical": all(bool((other == order).all()) for other in others),
    }


def mean_front_of_a_vertex(fronts: np.ndarray) -> float:
    """The mean over vertices of the width of their front, which is the paper's "avg BFS front"."""
    wide = fronts.astype(float)
    return float((wide * wide).sum() / wide.sum())


def _start_and_fronts(pattern: Pattern, order: Any) -> tuple[int, np.ndarray]:
    """The first vertex of the largest component, and the widths of the breadth-first fronts from there."""
    backend = pattern.backend
    count, labels = backend.csgraph.components.weak_components(pattern)
    place = 0
    if count > 1:
        of_position = labels[order]
        sizes = backend.xp.bincount(of_position)
        place = int((of_position == sizes.argmax()).argmax())
    start = int(order[place])
    depths = backend.csgraph.breadth_first.bfs_levels(pattern, start)
    fronts: np.ndarray = on_host(backend.xp.bincount(depths[depths >= 0]))  # stall: a few numbers
    return start, fronts


def times(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Seconds of the orders of a checked pattern from a given start, and of SciPy's order.

    `reason` says why there are none of the host's methods.
    """
    host, checked = _host_matrix(A), as_pattern(A)
    start = _start_and_fronts(checked, order_pattern(checked))[0]
    theirs = partial(csgraph.reverse_cuthill_mckee, host, symmetric_mode=_is_symmetric(checked, host))
    reason = _no_host_methods(A, settings)
    found: JsonObject = {"threads": timing.threads(), "reason": reason}
    if reason:
        found |= {"scipy": timing.time_of(theirs, "cpu")[0], "cpu": None}
    else:
        pattern = as_pattern(host)
        found |= {"scipy": _seconds(theirs), "cpu": _methods(pattern, start, "cpu")}
    if settings.device == "cuda":
        found["cuda"] = _methods(checked, start, "cuda") | {"transfer": _transfer(checked)}
    return found


def _no_host_methods(A: Any, settings: Settings) -> str | None:
    """Why the host's methods are not run."""
    if settings.device == "cpu" or A.nnz <= MOST_ENTRIES_ON_HOST:
        return None
    return f"not run on more than {MOST_ENTRIES_ON_HOST:,} entries in a study on the GPU"


def _is_symmetric(pattern: Pattern, host: Any) -> bool:
    """Whether the pattern is that of A; otherwise it is that of A + A.T."""
    return pattern.nnz == host.nnz


def _transfer(there: Pattern) -> float:
    """Seconds to copy a pattern to the device, and an order back."""
    xp, order = there.backend.xp, order_pattern(there)
    arrays = on_host(there.indptr), on_host(there.indices)

    def copies() -> None:
        for array in arrays:
            xp.asarray(array)
        on_host(order)

    return _seconds(copies, "cuda")


def _methods(pattern: Pattern, start: int, device: str) -> JsonObject:
    methods = ("auto", *pattern.backend.reordering.cuthill_mckee.METHODS)
    calls: dict[str, timing.Call] = {
        method: partial(order_pattern, pattern, start, method) for method in methods
    }
    calls["start searched for"] = partial(order_pattern, pattern)
    return timing.medians_in_turn(calls, REPEATS, device)


def threads(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Batches by numbers of threads of the host: seconds, and the shares of the stages.

    By `width`, and `default_seconds` of each number of threads, the rule of the default can be chosen again.
    """
    reason = _no_host_methods(A, settings)
    if reason:
        return {"serial": None, "runs": [], "reason": reason}
    pattern = as_pattern(_host_matrix(A))
    start = _start_and_fronts(pattern, order_pattern(pattern))[0]
    serial = _seconds(partial(order_pattern, pattern, start, "serial"))
    runs = [_threaded(pattern, start, count) for count in _thread_counts()]
    widths = [width_near(pattern, start, pattern.n // share) for share in LOOKS]
    return {"serial": serial, "runs": runs, "width": max(widths), "reason": None}


def _thread_counts() -> list[int]:
    """1, 2, 4 ... and all of them."""
    most = timing.threads()
    return sorted({min(2**i, most) for i in range(most.bit_length() + 1)})


def _threaded(pattern: Pattern, start: int, count: int) -> JsonObject:
    options = BatchOptions(workers=count)
    seconds, default = (
        _seconds(partial(order_pattern, pattern, start, "batch", each))
        for each in (options, replace(DEFAULT, workers=count))
    )
    stages = _profile(pattern, start, options, STAGES)
    return {"threads": count, "seconds": seconds, "default_seconds": default, "stages": stages}


def batches(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Each part of the batch method switched on: seconds, and counts of batches; on the study's device."""
    pattern = as_pattern(A)
    start = _start_and_fronts(pattern, order_pattern(pattern))[0]
    return {name: _variant(pattern, start, options, settings) for name, options in VARIANTS.items()}


def _variant(pattern: Pattern, start: int, options: BatchOptions, settings: Settings) -> JsonObject:
    seconds = _seconds(partial(order_pattern, pattern, start, "batch", options), settings.device)
    return {"seconds": seconds, **_profile(pattern, start, options, (*COUNTS, *STAGES))}


def _profile(pattern: Pattern, start: int, options: BatchOptions, names: tuple[str, ...]) -> JsonObject:
    _, found = pattern.backend.reordering.cuthill_mckee.batch_profile(pattern, start, options)
    return {name: found[name] for name in names if name in found}


def _seconds(call: timing.Call, device: str = "cpu") -> float:
    return timing.median_time(call, REPEATS, device)[0]


def _host_matrix(A: Any) -> Any:
    return sp.csr_matrix(on_host(A))
