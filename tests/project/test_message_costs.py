"""The model of message costs: what is counted, how it is fitted, and what follows for many ranks."""

import numpy as np
import pytest


@pytest.fixture
def costs(bench):
    return bench("pages.message_costs")


@pytest.fixture
def machine(costs):
    return costs.Machine(latency=1e-6, overhead=1e-7, bandwidth=1e9, unknown=1e-8)


def test_counts_are_those_of_the_busiest_rank(costs):
    def work(comm, part):
        with part("ring"):
            parts = {r: np.ones(3) for r in range(comm.size) if comm.rank == 1 and r != 1}
            comm.exchange_known(parts, {1: 3} if comm.rank != 1 else {}, np.empty(0))
        with part("sums"):
            comm.allreduce(np.ones(2))
            comm.allgather(np.ones(5))
        comm.allreduce(0.0)  # outside of the parts

    found = costs.counted(4, work)
    assert found["ring"] == costs.Counts(rounds=1, messages=3, message_bytes=72)
    assert found["sums"] == costs.Counts(allreduces=1, allreduce_bytes=16, allgathers=1, allgather_bytes=40)


def test_seconds_by_hand(costs, machine):
    counts = costs.Counts(rounds=2, messages=10, message_bytes=1000, allgathers=1, allgather_bytes=8)
    assert np.isclose(counts.seconds(8, machine), 2e-6 + 1e-6 + 1e-6 + 3e-6 + 56e-9)
    assert costs.Counts().seconds(1, machine) == 0


def test_fit_keeps_what_was_counted_and_extends_powers(costs):
    found = {p: costs.Counts(rounds=5, messages=2 * p, message_bytes=100 * p**0.5) for p in (4, 8, 16)}
    fit = costs.Fit(found)
    assert fit(8).messages == 16
    many = fit(1024)
    assert np.isclose(many.rounds, 5) and np.isclose(many.messages, 2048)
    assert np.isclose(many.message_bytes, 3200)
    assert costs.Fit({2: costs.Counts(rounds=1, messages=9)})(4).messages <= 3  # no more than other ranks


def test_reduced_system_is_split_where_it_takes_too_long(costs, machine):
    seconds = costs.coupling_seconds
    assert seconds(4096, machine) > 5 * seconds(4096, machine, way="two levels")
    assert seconds(4096, machine, way="neighbours") == seconds(2, machine, way="neighbours")
    points = [costs.splitting_point(machine, work) for work in (1e-4, 1e-3, 1e-2)]
    assert points == sorted(points) and points[0] < points[-1]
    share = seconds(points[1], machine) / 1e-3
    assert seconds(points[1] // 2, machine) <= 1e-4 < share * 1e-3
    assert [costs.splitting_point(costs.Machine(), work) for work in (1e-4, 1e-3)] == [64, 4096]
