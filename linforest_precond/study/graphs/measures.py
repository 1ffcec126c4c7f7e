"""The four graph problems of the study: their algorithms, times on each device, and checks of answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

import linforest_precond.graph.csgraph.components as weak
import linforest_precond.graph.csgraph.strong_components as strong
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
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

# The arrays of an answer.
Answer: TypeAlias = tuple[Array, ...]


class Algorithm(NamedTuple):
    """A method of a function in `linforest_precond.graph`; `thesis` is its name there."""

    key: str
    title: str
    thesis: str | None = None
    serial: bool = False  # on the CPU


class Family(NamedTuple):
    """Algorithms for one problem."""

    title: str
    algorithms: tuple[Algorithm, ...]
    check: Callable[[Any], Any]  # the checked matrix or pattern that algorithms take; not timed
    call: Callable[[Any, str], Answer]
    size: Callable[[Answer], float]  # a number that describes an answer
    is_valid: Callable[[Any, Answer], bool]
    prepare: Callable[[Any], Any]  # the problem's matrix on the host

    def runs_on(self, graph: Any, key: str) -> bool:
        """Whether the graph's device has the algorithm."""
        backend = graph.backend
        return key != "kruskal" or key in backend.csgraph.spanning_forest.METHODS


def _weak_components(pattern: Pattern, key: str) -> Answer:
    return (weak.weak_components(pattern, key)[1],)


def _strong_components(pattern: Pattern, key: str) -> Answer:
    find = getattr(pattern.backend.csgraph.strong_components, strong.METHODS[key])
    return (find(pattern)[1],)


def _independent_set(pattern: Pattern, key: str) -> Answer:
    module = pattern.backend.csgraph.independent_set
    if key == "greedy":
        return (module.independent_set(pattern, 1, 0),)
    return (module.luby_set(pattern, 0, *selection_rule(pattern, key)),)


def _spanning_forest(csr: CheckedMatrix, key: str) -> Answer:
    return csr.backend.csgraph.spanning_forest.spanning_forest(csr, False, key)


def _is_forest(A: Any, answer: Answer) -> bool:
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
            Algorithm("kruskal", "Kruskal", serial=True),
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


def same_bits(one: Answer, other: Answer) -> bool:
    """Whether two answers are equal, on whatever devices they are."""
    return all(np.array_equal(on_host(a), on_host(b)) for a, b in zip(one, other, strict=True))


T = TypeVar("T")

# Repeats; the study takes their median, the thesis the mean of ten. Calls that take longer are not repeated.
REPEATS = {"quick": 3, "full": 10}
REPEAT_SECONDS = 0.5
# Above this number of edges, a study on the GPU gives the host Kruskal's serial algorithm alone: the other
# spanning forests take 0.9 s for 10^6 edges, on one thread and on 16 together, and the thesis times none.
MOST_EDGES_ON_HOST = 4_000_000


def measured(part: str, A: Any, case: Case, settings: Settings) -> JsonObject:
    """Seconds of every algorithm of a family on every device, as in section 7.5; checked answers."""
    family, repeats = FAMILIES[part], REPEATS[settings.mode]
    problem = family.prepare(A)
    graphs = {"cpu": family.check(problem)}
    if settings.device == "cuda":
        problem = on_device(problem, "cuda")  # answers are checked there
        graphs["gpu"] = family.check(problem)
    reason = _no_host_runs(family, problem, settings)
    records: JsonObject = {}
    known: list[tuple[Answer, bool]] = []
    for algorithm in family.algorithms:
        reference = known[0][0] if reason and not algorithm.serial else None
        times, answers = _timed(family, algorithm, graphs, repeats, reference)
        first = next(iter(answers.values()))
        records[algorithm.key] = times | {
            "size": family.size(first),
            "valid": _is_valid(family, problem, first, known),
            "same": all(same_bits(first, other) for other in answers.values()),
        }
    return {"threads": timing.threads(), "algorithms": records, "reason": reason}


def _no_host_runs(family: Family, problem: Any, settings: Settings) -> str | None:
    """Why the host runs the serial algorithm of a family alone."""
    if settings.device == "cpu" or problem.nnz <= MOST_EDGES_ON_HOST:
        return None
    if not any(algorithm.serial for algorithm in family.algorithms):
        return None
    return f"On the host, graphs of more than {MOST_EDGES_ON_HOST:,} edges have the serial algorithm alone."


def _timed(
    family: Family, algorithm: Algorithm, graphs: dict[str, Any], repeats: int, reference: Answer | None
) -> tuple[JsonObject, dict[str, Answer]]:
    """Seconds and answers by device; a `reference` takes the place of the host's own answer."""
    times: JsonObject = {"cpu": None, "host": None, "gpu": None}
    answers: dict[str, Answer] = {}
    call = partial(family.call, graphs["cpu"], algorithm.key)
    if reference is not None:
        answers["cpu"] = reference
    else:
        with timing.numba_threads(1):
            times["cpu"], answers["cpu"] = _median(call, repeats, "cpu")
        if timing.threads() > 1 and not algorithm.serial:
            times["host"], answers["host"] = _median(call, repeats, "cpu")
    if "gpu" in graphs and family.runs_on(graphs["gpu"], algorithm.key):
        call = partial(family.call, graphs["gpu"], algorithm.key)
        times["gpu"], answers["gpu"] = _median(call, repeats, "cuda")
    return times, answers


def _is_valid(family: Family, problem: Any, answer: Answer, known: list[tuple[Answer, bool]]) -> bool:
    """Whether an answer passes the checker on the problem's device; equal answers are checked once."""
    for other, valid in known:
        if same_bits(answer, other):
            return valid
    xp = xp_of(problem.data)
    known.append((answer, family.is_valid(problem, tuple(xp.asarray(array) for array in answer))))
    return known[-1][1]


def _median(call: Callable[[], T], repeats: int, device: str) -> tuple[float, T]:
    """The median seconds of calls after the first, as many as are short together; its own if it is long."""
    seconds, answer = timing.time_of(call, device)
    if seconds > REPEAT_SECONDS:
        return seconds, answer
    del answer
    return timing.median_time(call, max(1, min(repeats, int(REPEAT_SECONDS / seconds))), device)
