"""Computations that run in lockstep."""

import pytest

from linforest_precond.precond.parts.lockstep import completed, in_lockstep


def counting(name, stalls, log):
    for step in range(stalls):
        log.append((name, step))
        yield
    return name


def test_each_computation_runs_up_to_its_next_stall():
    log = []
    tasks = counting("a", 1, log), counting("b", 3, log), counting("c", 0, log)
    assert in_lockstep(tasks) == ["a", "b", "c"]
    assert log == [("a", 0), ("b", 0), ("b", 1), ("b", 2)]
    log.clear()
    assert in_lockstep(counting(name, 2, log) for name in "ab") == ["a", "b"]
    assert log == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert in_lockstep([]) == []


def test_one_computation():
    assert completed(counting("a", 2, [])) == "a"


def test_exceptions_reach_the_caller():
    def fail():
        yield
        raise ValueError("overflow")

    with pytest.raises(ValueError, match="overflow"):
        in_lockstep([counting("a", 5, []), fail()])
