"""Times of the algorithms on one thread, on all threads and on the GPU, and checks of their answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from linforest_precond.backends.annotations import Array
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.graphs.families import FAMILIES, Family, same_bits
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

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
