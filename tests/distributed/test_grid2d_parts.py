"""The parts of graphs on R x C ranks: places of vertices, packets, exact sums, and what is sent."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends.cpu.runtime.hashing import is_positive, iteration_keys
from linforest_precond.backends.cpu.runtime.jit import kernel
from linforest_precond.distributed import grid2d, scatter, simulate
from linforest_precond.distributed.grid2d.components import propagate_minima
from linforest_precond.distributed.grid2d.exchange import is_dense
from linforest_precond.distributed.grid2d.fixed_point import total
from linforest_precond.distributed.grid2d.label_propagation import are_positive
from linforest_precond.distributed.grid2d.packets import lookup, swap
from linforest_precond.distributed.grid2d.pagerank import power_iteration
from linforest_precond.distributed.grid2d.vertex_map import VertexMap, windows

NUMBERS = st.floats(0, 1e300, allow_subnormal=True)


@given(n=st.integers(0, 60), rows=st.integers(1, 7), columns=st.integers(1, 7))
def test_every_vertex_has_a_position_in_balanced_groups(n, rows, columns):
    for where in (VertexMap.striped(n, (rows, columns)), VertexMap.in_blocks(n, (rows, columns))):
        positions = where.positions(np.arange(n))
        assert sorted(positions) == list(range(n))
        assert where.vertices(positions).tolist() == list(range(n))
        for offsets, groups in ((where.row_offsets, rows), (where.column_offsets, columns)):
            assert offsets.size == groups + 1 and (offsets[0], offsets[-1]) == (0, n)
            assert np.ptp(np.diff(offsets)) <= math.lcm(rows, columns) // groups
        owners = where.block_owner(positions, positions)
        assert ((owners >= 0) & (owners < rows * columns)).all()


def test_stripes_are_the_groups_of_a_square_grid():
    where = VertexMap.striped(10, (3, 3))
    assert [
        where.vertices(np.arange(a, b)).tolist() for a, b in zip(where.row_offsets, where.row_offsets[1:])
    ] == [
        [0, 3, 6, 9],
        [1, 4, 7],
        [2, 5, 8],
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "starts", "count"),
    [
        ((0, 4), (4, 9), (0, 4), 9),  # type 0: no overlap
        ((6, 9), (0, 4), (0, 3), 7),
        ((2, 8), (4, 6), (0, 2), 6),  # type 1: rows begin first
        ((5, 7), (4, 6), (1, 0), 3),  # type 2: columns begin first
        ((0, 5), (0, 5), (0, 0), 5),
        ((3, 3), (0, 5), (0, 0), 5),  # no rows
    ],
)
def test_local_ids_of_rows_and_columns(rows, columns, starts, count):
    row_window, column_window, found = windows(rows, columns)
    assert (row_window.start, column_window.start, found) == (*starts, count)
    for position in set(range(*rows)) & set(range(*columns)):
        assert row_window.local(position) == column_window.local(position)


@given(rows=st.integers(1, 3), columns=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_packets_arrive_once_by_few_messages(rows, columns, seed):
    size = rows * columns
    rng = np.random.default_rng(seed)
    destinations = [rng.integers(0, size, rng.integers(0, 20)) for _ in range(size)]

    def work(comm):
        grid = grid2d.Grid(comm, (rows, columns))
        own = destinations[comm.rank]
        packets = np.column_stack([np.full(own.size, comm.rank), np.arange(own.size), own])
        comm.counters.reset()
        found = swap(grid, own, packets)
        assert comm.counters.messages <= rows + columns - 2
        assert (found[:, 2] == comm.rank).all()
        return found

    found = np.concatenate(simulate(size, work))
    sent = {(r, k) for r, own in enumerate(destinations) for k in range(own.size)}
    assert {(r, k) for r, k, _ in found.tolist()} == sent and len(found) == len(sent)


def test_values_are_looked_up_at_their_owners():
    offsets = np.array([0, 3, 3, 10, 12, 12, 13])
    squares = np.arange(13) ** 2

    def work(comm):
        ids = np.random.default_rng(comm.rank).integers(0, 13, 5 * comm.rank)
        own = squares[offsets[comm.rank] : offsets[comm.rank + 1]]
        assert lookup(grid2d.Grid(comm, (2, 3)), offsets, own, ids).tolist() == (ids**2).tolist()

    simulate(6, work)


@given(values=st.lists(NUMBERS, max_size=12), seed=st.integers(0, 99))
def test_sums_do_not_depend_on_the_order(values, seed):
    shuffled = np.random.default_rng(seed).permutation(values)
    sums = [
        simulate(size, lambda comm, size=size, part=part: total(comm, np.array(part[comm.rank :: size])))
        for size in (1, 3)
        for part in (values, shuffled)
    ]
    assert len({one for found in sums for one in found}) == 1
    assert sums[0][0] == pytest.approx(math.fsum(values), rel=1e-15, abs=0)


@kernel
def one_charge(v, key, threshold):
    return is_positive(v, key, threshold)


def test_charges_are_those_of_the_kernels():
    vertices, key = np.array([0, 1, 5, 2**31 + 3, 2**40]), iteration_keys(7, 3)[0]
    half = np.uint64(2**52)
    assert are_positive(vertices, key, half).tolist() == [one_charge(v, key, half) for v in vertices]


def test_the_switch_is_at_n_over_the_longer_side():
    assert [is_dense("auto", updates, 60, (2, 6)) for updates in (9, 10, 11)] == [False, True, True]
    assert is_dense("dense", 0, 60, (2, 6)) and not is_dense("sparse", 60, 60, (2, 6))


def counted(p, function, A):
    """(messages and collective calls, bytes) of each rank in `function(graph)` on a square grid."""

    def work(comm):
        graph = grid2d.Graph2D.from_matrix(scatter(A, comm))
        comm.counters.reset()
        function(graph)
        found = comm.counters
        return found.messages + found.collectives, found.message_bytes + found.collective_bytes

    return np.array(simulate(p, work))


def dense_rounds(iterations):
    def ranks(graph):
        uniform = np.full(graph.n_states, 1 / graph.n)
        power_iteration(graph, 0.85, uniform, uniform, uniform, iterations, 0.0)

    return ranks


@pytest.mark.parametrize("p", [1, 4, 9, 16, pytest.param(64, marks=pytest.mark.slow)])
def test_a_dense_round_has_o_p_messages_and_o_n_over_root_p_bytes(p):
    """Section 6.3.2: each rank calls a fixed number of group-wise collectives on n / sqrt(p) states."""
    A = lf.matrices.poisson((24, 24))
    n, side = A.shape[0], math.isqrt(p)
    calls, sent = (counted(p, dense_rounds(5), A) - counted(p, dense_rounds(1), A)).T / 4
    assert calls.tolist() == [3] * p  # allreduce in the column group, broadcast in the row group, totals
    # Two integers a column vertex, one float64 a row vertex, four integers.
    assert sent.max() <= (16 + 8) * math.ceil(n / side) + 32


@pytest.mark.parametrize("p", [4, 9])
def test_the_switch_sends_less_than_either_exchange(p):
    A = lf.matrices.poisson((8, 20))

    def bytes_of(exchange):
        return counted(p, lambda graph: propagate_minima(graph, "push", exchange, True), A)[:, 1].max()

    sparse, switched, dense = map(bytes_of, ("sparse", "auto", "dense"))
    assert switched < min(sparse, dense)


def test_work_falls_with_a_queue():
    def edges(graph):
        return [
            sum(done.edges for done in propagate_minima(graph, direction, "auto", queue)[1])
            for direction in ("push", "pull")
            for queue in (True, False)
        ]

    A = lf.matrices.poisson((6, 30))
    found = simulate(4, lambda comm: edges(grid2d.Graph2D.from_matrix(scatter(A, comm))))
    push, push_all, pull, pull_all = found[0]
    assert push < pull < pull_all and push < push_all == pull_all


def test_the_api_reference_lists_every_public_name():
    page = Path(__file__).resolve().parents[2] / "docs" / "api" / "grid2d.rst"
    if not page.exists():
        pytest.skip("tests run outside a source tree")
    listed = {
        line.strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("   ")
    }
    assert set(grid2d.__all__) == {name for name in listed if name.isidentifier()}
