"""Ranks that make different collective calls, or none: both places are named, and no rank waits for ever."""

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.distributed import RankError, inner, scatter, simulate

ONES = np.ones(4)


def test_different_calls_are_named_on_all_ranks():
    def work(comm):
        try:
            inner(comm, ONES, ONES) if comm.rank else comm.offsets(3)
        except RankError as error:
            return str(error)

    messages = simulate(3, work)
    assert len(set(messages)) == 1
    assert "rank 0 makes allgather, called by" not in messages[0]
    assert "rank 0 makes allgather" in messages[0] and "rank 1 makes allreduce" in messages[0]
    assert "inner (exact_sums.py:" in messages[0] and "called by work (test_deadlocks.py:" in messages[0]


def test_sums_of_different_lengths_are_refused():
    with pytest.raises(RankError, match="allreduce of 8 bytes.* rank 1 makes allreduce of 16 bytes"):
        simulate(2, lambda comm: comm.allreduce(np.ones(1 + comm.rank)))


def test_a_rank_that_does_not_call_is_named_after_the_timeout():
    def work(comm):
        inner(comm, ONES, ONES)
        if comm.rank == 0:
            comm.barrier()

    with pytest.raises(RankError, match="rank 0 makes barrier; rank 1 does not, after allreduce .* in inner"):
        simulate(2, work, timeout=0.2)


def test_the_ranks_go_on_after_a_mismatch():
    def work(comm):
        with pytest.raises(RankError):
            comm.barrier() if comm.rank else comm.allgather(1)
        return scatter(lf.matrices.poisson((3, 3)), comm).n_local

    assert simulate(2, work) == [4, 5]


PROGRAM = """
    import sys, time
    import numpy as np
    import linforest_precond as lf
    from linforest_precond import distributed
    comm = distributed.communicator_of(timeout=2)
    parts = distributed.scatter(lf.matrices.poisson((6, 6)), comm)

    def first():
        {first}

    def second():
        {second}

    first() if comm.rank == 0 else second()
    print("a rank went on", flush=True)
"""


def test_ranks_of_mpi_in_different_calls_end_with_both_places(mpiexec):
    done = mpiexec(2, PROGRAM.format(first="parts.inner(*np.ones((2, 18)))", second="parts @ np.ones(18)"))
    assert done.code != 0 and "went on" not in done.output
    assert "rank 0 makes allreduce" in done.output and "called by first (program.py:" in done.output
    assert "rank 1 makes exchange" in done.output and "called by second (program.py:" in done.output


def test_a_rank_of_mpi_that_does_not_call_ends_after_the_timeout(mpiexec):
    done = mpiexec(2, PROGRAM.format(first="time.sleep(100)", second="parts.inner(*np.ones((2, 18)))"))
    assert done.code != 0 and "went on" not in done.output
    assert "after 2 s rank" in done.output and "called by second (program.py:" in done.output
    assert "rank 0 does not, after " in done.output
