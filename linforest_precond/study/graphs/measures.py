"""The four graph problems of the study: their algorithms, times on each device, and checks of answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

import linforest_precond.graph.csgraph.components as weak
import linforest_precond.graph.csgraph.strong_components as strong
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.graph.csgraph.checks import (
    is_component_labelling,
    is_maximal_independent_set,
    is_spanning_forest,
)
from linforest_precond.graph.csgraph.independent_set import selection_rule
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.conversion import csr_sparse_like
from linforest_precond.matrix.doors import as_csgraph, as_pattern
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.graphs.graphs import directed, undirected, weighted
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject


class Algorithm(NamedTuple):
    """A method of a function in `linforest_precond.graph`; `thesis` is its name there."""

    key: str
    title: str
    thesis: str | None = None


class Family(NamedTuple):
    """Algorithms for one problem."""

    title: str
    algorithms: tuple[Algorithm, ...]
    check: Callable[[Any], Any]  # the checked matrix or pattern that algorithms take; not timed
    call: Callable[[Any, str], tuple[Array, ...]]  # the arrays of an answer
    size: Callable[[tuple[Array, ...]], float]  # a number that describes an answer
    is_valid: Callable[[Any, tuple[Array, ...]], bool]
    prepare: Callable[[Any], Any]  # the problem's matrix on the host

    def runs_on(self, graph: Any, key: str) -> bool:
        """Whether the graph's device has the algorithm."""
        backend = graph.backend
        return key != "kruskal" or key in backend.csgraph.spanning_forest.METHODS


def _weak_components(pattern: Pattern, key: str) -> tuple[Array, ...]:
    return (weak.weak_components(pattern, key)[1],)


def _strong_components(pattern: Pattern, key: str) -> tuple[Array, ...]:
    find = getattr(pattern.backend.csgraph.strong_components, strong.METHODS[key])
    return (find(pattern)[1],)


def _independent_set(pattern: Pattern, key: str) -> tuple[Array, ...]:
    module = pattern.backend.csgraph.independent_set
    if key == "greedy":
        return (module.independent_set(pattern, 1, 0),)
    return (module.luby_set(pattern, 0, *selection_rule(pattern, key)),)


def _spanning_forest(csr: CheckedMatrix, key: str) -> tuple[Array, ...]:
    return csr.backend.csgraph.spanning_forest.spanning_forest(csr, False, key)


def _is_forest(A: Any, answer: tuple[Array, ...]) -> bool:
    indptr, indices, data = answer
    return is_spanning_forest(A, csr_sparse_like(A, data, indices, indptr, A.shape))


FAMILIES = {
    "components": Family(
        "Connected components",
        (
            Algorithm("union", "Afforest"),
            Algorithm("fastsv", "FastSV", "CC_opt2"),
            Algorithm("fastsv_vertices", "FastSV over vertices", "CC_base"),
        ),
        check=as_pattern,
        call=_weak_components,
        size=lambda answer: int(answer[0].max()) + 1,
        is_valid=lambda A, answer: is_component_labelling(A, answer[0]),
        prepare=undirected,
    ),
    "strong": Family(
        "Strongly connected components",
        (Algorithm("auto", "Pearce, ECL-SCC"), Algorithm("coloring", "forward-backward", "SCC")),
        check=partial(as_pattern, directed=True),
        call=_strong_components,
        size=lambda answer: int(answer[0].max()) + 1,
        is_valid=lambda A, answer: is_component_labelling(A, answer[0], connection="strong"),
        prepare=directed,
    ),
    "independent_sets": Family(
        "Maximal independent sets",
        (
            Algorithm("greedy", "greedy"),
            Algorithm("luby", "Luby", "MIS_base"),
            Algorithm("luby_lexicographic", "Luby, lexicographic", "MIS_lex3"),
            Algorithm("luby_optimized", "Luby, optimized", "MIS_opt3"),
        ),
        check=as_pattern,
        call=_independent_set,
        size=lambda answer: int(answer[0].sum()),
        is_valid=lambda A, answer: is_maximal_independent_set(A, answer[0]),
        prepare=undirected,
    ),
    "spanning_forests": Family(
        "Minimum spanning forests",
        (
            Algorithm("kruskal", "Kruskal"),
            Algorithm("boruvka", "Borůvka"),
            Algorithm("awerbuch_shiloach", "Awerbuch-Shiloach"),
        ),
        check=as_csgraph,
        call=_spanning_forest,
        size=lambda answer: float(answer[2].sum()),
        is_valid=_is_forest,
        prepare=weighted,
    ),
}


def same_bits(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    """Whether two answers are equal, on whatever devices they are."""
    return all(np.array_equal(on_host(a), on_host(b)) for a, b in zip(one, other, strict=True))


T = TypeVar("T")

# Repeats; the study takes their median, the thesis the mean of ten.
REPEATS = {"quick": 3, "full": 10}


def measured(part: str, A: Any, case: Case, settings: Settings) -> JsonObject:
    """Seconds of every algorithm of a family on every device, as in section 7.5; checked answers."""
    family, repeats = FAMILIES[part], REPEATS[settings.mode]
    problem = family.prepare(A)
    graphs = {"cpu": family.check(problem)}
    if settings.device == "cuda":
        graphs["gpu"] = family.check(on_device(problem, "cuda"))
    records = {
        algorithm.key: _record(family, algorithm.key, problem, graphs, repeats)
        for algorithm in family.algorithms
    }
    return {"threads": timing.threads(), "algorithms": records}


def _record(family: Family, key: str, problem: Any, graphs: dict[str, Any], repeats: int) -> JsonObject:
    times: dict[str, float | None] = {"cpu": None, "host": None, "gpu": None}
    answers: dict[str, tuple[Array, ...]] = {}
    call = partial(family.call, graphs["cpu"], key)
    with timing.numba_threads(1):
        times["cpu"], answers["cpu"] = _median(call, repeats, "cpu")
    if timing.threads() > 1:
        times["host"], answers["host"] = _median(call, repeats, "cpu")
    if "gpu" in graphs and family.runs_on(graphs["gpu"], key):
        call = partial(family.call, graphs["gpu"], key)
        times["gpu"], answers["gpu"] = _median(call, repeats, "cuda")
    first = answers["cpu"]
    return {
        **times,
        "size": family.size(first),
        "valid": family.is_valid(problem, first),
        "same": all(same_bits(first, other) for other in answers.values()),
    }


def _median(call: Callable[[], T], repeats: int, device: str) -> tuple[float, T]:
    """The median seconds of calls after the first, as many as are short together; its own if it is long."""
    seconds, answer = timing.time_of(call, device)
    if seconds > timing.LONG_SECONDS:
        return seconds, answer
    del answer
    return timing.median_time(call, max(1, min(repeats, int(timing.LONG_SECONDS / seconds))), device)
