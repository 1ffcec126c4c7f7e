"""The cost model: what is counted, how it is fitted, and what follows for many ranks."""

import numpy as np

from linforest_precond.distributed.cost_model import (
    Counts,
    Fit,
    Machine,
    counted,
    coupling_seconds,
    splitting_point,
)

MACHINE = Machine(latency=1e-6, overhead=1e-7, bandwidth=1e9, unknown=1e-8)


def test_counts_are_those_of_the_busiest_rank():
    def work(comm, part):
        with part("ring"):
            parts = {r: np.ones(3) for r in range(comm.size) if comm.rank == 1 and r != 1}
            comm.exchange_known(parts, {1: 3} if comm.rank != 1 else {}, np.empty(0))
        with part("sums"):
            comm.allreduce(np.ones(2))
            comm.allgather(np.ones(5))
        comm.allreduce(0.0)  # outside of the parts

    found = counted(4, work)
    assert found["ring"] == Counts(rounds=1, messages=3, message_bytes=72)
    assert found["sums"] == Counts(allreduces=1, allreduce_bytes=16, allgathers=1, allgather_bytes=40)


def test_seconds_by_hand():
    counts = Counts(rounds=2, messages=10, message_bytes=1000, allgathers=1, allgather_bytes=8)
    assert np.isclose(counts.seconds(8, MACHINE), 2e-6 + 1e-6 + 1e-6 + 3e-6 + 56e-9)
    assert Counts().seconds(1, MACHINE) == 0


def test_fit_keeps_what_was_counted_and_extends_powers():
    fit = Fit({p: Counts(rounds=5, messages=2 * p, message_bytes=100 * p**0.5) for p in (4, 8, 16)})
    assert fit(8).messages == 16
    many = fit(1024)
    assert np.isclose(many.rounds, 5) and np.isclose(many.messages, 2048)
    assert np.isclose(many.message_bytes, 3200)
    assert Fit({2: Counts(rounds=1, messages=9)})(4).messages <= 3  # no more than other ranks


def test_reduced_system_is_split_where_it_takes_too_long():
    assert coupling_seconds(4096, MACHINE) > 5 * coupling_seconds(4096, MACHINE, way="two levels")
    assert coupling_seconds(4096, MACHINE, way="neighbours") == coupling_seconds(2, MACHINE, way="neighbours")
    points = [splitting_point(MACHINE, work) for work in (1e-4, 1e-3, 1e-2)]
    assert points == sorted(points) and points[0] < points[-1]
    share = coupling_seconds(points[1], MACHINE) / 1e-3
    assert coupling_seconds(points[1] // 2, MACHINE) <= 1e-4 < share * 1e-3
