"""The threads of the CPU's batch method: any number of them, and the watchdog for a standstill."""

import itertools
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends.cpu.reordering import rcm_batch, rcm_leveled, rcm_unordered
from linforest_precond.backends.cpu.reordering.batch_state import BROKEN, COUNTED, NOT_MADE, TURN, prepare
from linforest_precond.backends.cpu.reordering.rcm_batch import DEFAULT, run_threads
from linforest_precond.graph import BatchOptions
from linforest_precond.matrix.doors import as_pattern

# The watchdog's limit in rounds of waiting: some tenths of a second, and hardly any time.
PATIENT, IMPATIENT = 2**18, 2**10


@pytest.fixture(scope="module")
def cube():
    pattern = as_pattern(graphs.shuffled(graphs.grid_graph(18, 18, 18)))
    start = int(pattern.degrees.argmin())
    return pattern, np.array([start], np.int32), rcm_leveled.leveled(pattern, np.array([start], np.int32))


PARTS = [
    {"early": early, "concurrent": concurrent, **packing}
    for early, concurrent, packing in itertools.product(
        (True, False), (1, 3), ({"balanced": False}, {}, {"overestimate": True})
    )
]


@pytest.mark.slow  # compiles the workers for threads
@pytest.mark.parametrize("threads", [2, 1, 4])
def test_any_number_of_threads(cube, threads):
    """Every combination of the parts, in batches of every kind of size."""
    pattern, starts, expected = cube
    for parts, (size, capacity) in zip(PARTS, itertools.cycle([(1, 7), (3, 12), (64, 200), (256, 2**20)])):
        options = BatchOptions(workers=threads, size=size, capacity=capacity, **parts)
        np.testing.assert_array_equal(
            rcm_batch.batch(pattern, starts, options), expected, err_msg=str(options)
        )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_levels_by_any_number_of_threads(cube, threads):
    pattern, starts, expected = cube
    np.testing.assert_array_equal(rcm_unordered.unordered(pattern, starts, threads=threads), expected)


def test_hubs_and_many_starts():
    """Rows longer than the capacity for candidates, and batches of starts only."""
    pattern = as_pattern(graphs.rmat_graph(12))
    starts = np.arange(0, pattern.n, 7, dtype=np.int32)
    expected = rcm_leveled.leveled(pattern, starts)
    for threads, parts in itertools.product((1, 3), PARTS):
        options = BatchOptions(workers=threads, size=8, capacity=64, **parts)
        np.testing.assert_array_equal(rcm_batch.batch(pattern, starts, options), expected)


def test_starts_alone():
    pattern = as_pattern(graphs.path_graph(10))
    starts = np.arange(10, dtype=np.int32)
    np.testing.assert_array_equal(rcm_batch.batch(pattern, starts, BatchOptions(workers=3)), starts)
    np.testing.assert_array_equal(rcm_unordered.unordered(pattern, starts, threads=3), starts)


class TestProfile:
    """Counts of batches, as the paper's figure 3 shows them, and times of the parts."""

    def test_of_one_thread(self, cube):
        """Nothing is speculative, so every batch is early and every candidate is a child."""
        pattern, starts, expected = cube
        order, found = rcm_batch.profile(pattern, starts, BatchOptions(workers=1, overestimate=True))
        np.testing.assert_array_equal(order, expected)
        assert found["children"] == found["candidates"] == order.size - 1
        assert found["early"] == found["dequeued"] and found["rediscover"] == 0
        assert found["executed"] < found["dequeued"] <= found["generated"]

    def test_of_balanced_batches(self, cube):
        """No batch is empty unless the number is overestimated."""
        pattern, starts, _ = cube
        _, found = rcm_batch.profile(pattern, starts, BatchOptions(workers=1))
        assert found["executed"] == found["dequeued"]
        assert found["generated"] >= pattern.nnz // BatchOptions().capacity

    def test_of_termination(self):
        """The leaves of a star are in batches that nobody needs to process."""
        pattern = as_pattern(graphs.star_graph(5000))
        _, found = rcm_batch.profile(pattern, np.array([0], np.int32), BatchOptions(workers=1))
        assert found["dequeued"] == 1

    def test_of_several_threads(self, cube):
        pattern, starts, _ = cube
        _, found = rcm_batch.profile(pattern, starts, BatchOptions(workers=3, concurrent=3))
        assert found["candidates"] >= found["children"] == pattern.n - 1
        assert min(found[part] for part in ("discover", "sort", "signal", "output", "stall")) > 0


class TestOptions:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"size": 0}, r"size must lie in \[1, 256\], got 0"),
            ({"capacity": 2**31}, "capacity must lie in"),
            ({"concurrent": 9}, r"concurrent must lie in \[1, 8\], got 9"),
            ({"workers": -1}, "workers must lie in"),
            ({"overestimate": True, "balanced": False}, "overestimate=True needs balanced=True"),
        ],
    )
    def test_outside_their_range(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            BatchOptions(**wrong)

    @pytest.mark.parametrize("wrong", [{"early": 1}, {"size": 2.5}, {"workers": True}])
    def test_of_another_type(self, wrong):
        with pytest.raises(TypeError, match=f"{next(iter(wrong))} must be"):
            BatchOptions(**wrong)

    def test_for_other_methods(self, backend):
        A = backend.csr(graphs.path_graph(5))
        with pytest.raises(ValueError, match=r'batch= is for method="batch", got method=\'auto\''):
            lf.graph.reverse_cuthill_mckee(A, batch=BatchOptions())
        with pytest.raises(TypeError, match="batch must be a lf.graph.BatchOptions"):
            lf.graph.reverse_cuthill_mckee(A, method="batch", batch={"early": False})


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("chain", ["marked", "counted"])
def test_a_broken_chain_is_an_error(cube, chain, threads):
    """Batch 0 waits for a turn that never comes."""
    pattern, starts, _ = cube
    run = prepare(pattern, starts, DEFAULT)
    getattr(run, chain)[TURN] = -1
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, BatchOptions(workers=threads), patience=IMPATIENT)
    assert run.counters[BROKEN]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_that_is_never_made_is_an_error(cube, threads):
    pattern, starts, _ = cube
    run = prepare(pattern, starts, DEFAULT)
    run.ranges[0] = NOT_MADE
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, BatchOptions(workers=threads), patience=IMPATIENT)


def test_a_position_that_is_never_filled_is_an_error(cube):
    pattern, starts, _ = cube
    run = prepare(pattern, starts, DEFAULT)
    run.order[0] = -1
    with pytest.raises(RuntimeError, match="standstill"):
        run_threads(run, pattern, BatchOptions(workers=2), patience=IMPATIENT)


@pytest.mark.slow
def test_patience_while_others_work(cube):
    """The watchdog does not expire while batches are counted, here by hand."""
    pattern, starts, _ = cube
    run = prepare(pattern, starts, DEFAULT)
    run.marked[TURN] = -1
    failures = []

    def waiting():
        try:
            run_threads(run, pattern, BatchOptions(workers=1), patience=PATIENT)
        except RuntimeError as error:
            failures.append(error)

    thread = threading.Thread(target=waiting)
    thread.start()
    for _ in range(100):
        run.counters[COUNTED] -= 1
        time.sleep(0.005)
        assert not failures
    thread.join(timeout=600)  # less than a second on an idle machine
    assert failures and not thread.is_alive()


def test_several_python_threads_at_once(cube):
    """Concurrent calls are independent."""
    pattern, starts, expected = cube
    found = [None] * 4

    def call(place):
        for _ in range(3):
            found[place] = rcm_batch.batch(pattern, starts, BatchOptions(workers=2))

    callers = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for order in found:
        np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_levels_that_are_not_those_of_a_search_are_an_error(monkeypatch, threads):
    pattern, starts = as_pattern(graphs.path_graph(9)), np.zeros(1, np.int32)
    depths, offsets = np.array([0, 1, 1, 1, 1, 1, 1, 1, 2], np.int32), np.array([0, 1, 8, 9])
    monkeypatch.setattr(rcm_unordered, "search", lambda *_: (depths, np.arange(9), offsets))
    with pytest.raises(RuntimeError, match="inconsistent"):
        rcm_unordered.unordered(pattern, starts, threads=threads)


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
    monkeypatch.setattr(cuthill_mckee, "MIN_VERTICES", 2**15)
    monkeypatch.setattr(cuthill_mckee, "MIN_WIDTH", 160)
    wide, narrow = graphs.grid_graph(50, 50, 50), graphs.path_graph(2**16)
    expected = lf.graph.cuthill_mckee(wide, method="serial")
    np.testing.assert_array_equal(lf.graph.cuthill_mckee(wide), expected)
    assert taken == ["batch"]
    lf.graph.cuthill_mckee(narrow)
    lf.graph.cuthill_mckee(graphs.grid_graph(10, 10, 10))
    assert taken == ["batch"]
    # A search from an isolated vertex, which has the lowest degree, would see nothing of the rest.
    with_isolated = sp.block_diag([sp.csr_array((3, 3)), wide], format="csr")
    assert lf.graph.cuthill_mckee(with_isolated).size == wide.shape[0] + 3
    assert taken == ["batch", "batch"]
    monkeypatch.setattr(cuthill_mckee, "available_threads", lambda: 3)
    lf.graph.cuthill_mckee(wide)
    assert taken == ["batch", "batch"]
