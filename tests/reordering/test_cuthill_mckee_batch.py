"""The threads of the CPU's batch method: any number of them, and the watchdog for a standstill."""

import threading
import time

import numpy as np
import pytest
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends.cpu.reordering import rcm_batch, rcm_leveled
from linforest_precond.backends.cpu.reordering.rcm_batch import BROKEN, COUNTED, TURN, prepare, run_threads
from linforest_precond.gate import as_pattern

# The watchdog's limit: some tenths of a second.
IMPATIENT = 2**18


@pytest.fixture(scope="module")
def cube():
    pattern = as_pattern(graphs.shuffled(graphs.grid_graph(18, 18, 18)))
    start = int(pattern.degrees.argmin())
    return pattern, np.array([start], np.int32), rcm_leveled.leveled(pattern, np.array([start], np.int32))


@pytest.mark.parametrize("threads", range(1, 9))
def test_any_number_of_threads(cube, threads):
    pattern, starts, expected = cube
    for repeat in range(13):
        size = (1, 3, 16, 64, 1000)[repeat % 5]
        found = rcm_batch.batch(pattern, starts, threads=threads, size=size)
        np.testing.assert_array_equal(found, expected)


def test_hubs_and_many_starts():
    """Rows longer than the capacity for candidates, and batches of starts only."""
    pattern = as_pattern(graphs.rmat_graph(12))
    starts = np.arange(0, pattern.n, 7, dtype=np.int32)
    expected = rcm_leveled.leveled(pattern, starts)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(rcm_batch.batch(pattern, starts, threads=threads, size=8), expected)


def test_starts_alone():
    pattern = as_pattern(graphs.path_graph(10))
    starts = np.arange(10, dtype=np.int32)
    np.testing.assert_array_equal(rcm_batch.batch(pattern, starts, threads=3), starts)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("chain", ["marked", "counted"])
def test_a_broken_chain_is_an_error(cube, chain, threads):
    """Batch 0 waits for a turn that never comes."""
    pattern, starts, _ = cube
    run = prepare(pattern, starts)
    getattr(run, chain)[TURN] = -1
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, threads, patience=IMPATIENT)
    assert run.counters[BROKEN]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_that_is_never_made_is_an_error(cube, threads):
    pattern, starts, _ = cube
    run = prepare(pattern, starts)
    run.ends[0] = -1
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, threads, patience=IMPATIENT)


def test_a_position_that_is_never_filled_is_an_error(cube):
    pattern, starts, _ = cube
    run = prepare(pattern, starts)
    run.order[0] = -1
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, 2, patience=IMPATIENT)


def test_patience_while_others_work(cube):
    """The watchdog does not expire while batches are counted, here by hand."""
    pattern, starts, _ = cube
    run = prepare(pattern, starts)
    run.marked[TURN] = -1
    failures = []

    def waiting():
        try:
            run_threads(run, pattern, 1, patience=IMPATIENT)
        except RuntimeError as error:
            failures.append(error)

    thread = threading.Thread(target=waiting)
    thread.start()
    for _ in range(100):
        run.counters[COUNTED] -= 1
        time.sleep(0.005)
        assert not failures
    thread.join(timeout=60)
    assert failures and not thread.is_alive()


def test_several_python_threads_at_once(cube):
    """Concurrent calls are independent."""
    pattern, starts, expected = cube
    found = [None] * 4

    def call(place):
        for _ in range(3):
            found[place] = rcm_batch.batch(pattern, starts, threads=2)

    callers = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for order in found:
        np.testing.assert_array_equal(order, expected)


@pytest.mark.slow
def test_a_hundred_runs():
    A = graphs.shuffled(graphs.grid_graph(40, 40, 40))
    expected = lf.graph.cuthill_mckee(A, method="serial")
    for _ in range(100):
        np.testing.assert_array_equal(lf.graph.cuthill_mckee(A, method="batch"), expected)


def test_auto_takes_batches_for_wide_graphs(monkeypatch):
    """The choice depends on the number of threads and the width of the frontiers; the order does not."""
    from linforest_precond.backends.cpu.reordering import cuthill_mckee

    taken = []

    def noted(*arguments):
        taken.append("batch")
        return rcm_batch.batch(*arguments)

    monkeypatch.setitem(cuthill_mckee.PARALLEL, "batch", noted)
    monkeypatch.setattr(cuthill_mckee, "available_threads", lambda: 4)
    wide, narrow = graphs.grid_graph(40, 40, 40), graphs.path_graph(2**16)
    expected = lf.graph.cuthill_mckee(wide, method="serial")
    np.testing.assert_array_equal(lf.graph.cuthill_mckee(wide), expected)
    assert taken == ["batch"]
    lf.graph.cuthill_mckee(narrow)
    lf.graph.cuthill_mckee(graphs.grid_graph(10, 10, 10))
    assert taken == ["batch"]
