"""Device memory that runs out at every allocation in turn, and memory after many setups."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

import linforest_precond as lf

pytestmark = pytest.mark.gpu

SIDE = 24  # of the grid: a few levels, and Krylov iterations in a captured graph


class FailingPool:
    """A memory pool of its own whose allocation number `failing` raises; the number None counts alone."""

    def __init__(self, xp, failing=None):
        self.xp, self.failing, self.count = xp, failing, 0
        self.pool = xp.cuda.MemoryPool()

    def malloc(self, size):
        self.count += 1
        if self.count == self.failing:
            raise self.xp.cuda.memory.OutOfMemoryError(size, 0)
        return self.pool.malloc(size)


def system(cuda):
    A = lf.matrices.poisson((SIDE, SIDE), device="cuda")
    return A, cuda.xp.asarray(np.random.default_rng(3).standard_normal(SIDE * SIDE))


def updated(make):
    """A call that updates a preconditioner made beforehand."""

    def prepare(A, b):
        M = make(A)

        def call():
            M.update(2 * A)
            return M @ b

        return call

    return prepare


def solved(solver, make):
    def prepare(A, b):
        M = make(A)
        return lambda: solver(A, b, M=M, rtol=1e-8)[0]

    return prepare


def multilevel(A):
    return lf.multilevel(A, max_coarse=50).aspreconditioner()


CALLS = {
    "jacobi": lambda A, b: lambda: lf.jacobi(A) @ b,
    "tridiagonal": lambda A, b: lambda: lf.tridiagonal(A) @ b,
    "block_tridiagonal": lambda A, b: lambda: lf.block_tridiagonal(A) @ b,
    "rcm": lambda A, b: lambda: lf.tridiagonal(A, ordering="rcm") @ b,
    "multilevel": lambda A, b: lambda: multilevel(A) @ b,
    "lines": lambda A, b: lambda: lf.multilevel(A, smoother="tridiagonal", max_coarse=50).solve(b),
    "update of tridiagonal": updated(lf.tridiagonal),
    "update of multilevel": updated(multilevel),
    "cg": solved(lf.solvers.cg, lf.tridiagonal),
    "bicgstab": solved(lf.solvers.bicgstab, lf.jacobi),
    "fcg": solved(lf.solvers.fcg, multilevel),
    "components": lambda A, b: lambda: lf.graph.connected_components(A)[1],
    "spanning tree": lambda A, b: lambda: lf.graph.minimum_spanning_tree(A).data,
    "breadth-first order": lambda A, b: lambda: lf.graph.breadth_first_order(A, 0)[0],
}


@pytest.mark.parametrize("most", [40, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CALLS)
class TestEveryAllocation:
    def test_the_error_is_clean(self, cuda, name, most):
        """The allocator's error, all memory freed, and the next call gives the same bits.

        Hierarchies allocate a thousand times: a quick run fails `most` of all allocations, evenly spread.
        """
        xp = cuda.xp
        call = CALLS[name](*system(cuda))
        expected = cuda.host(call())
        counting = FailingPool(xp)
        with xp.cuda.using_allocator(counting.malloc):
            call()
        gc.collect()
        held = counting.pool.used_bytes()
        assert counting.count > 0
        places = range(1, counting.count + 1, 1 if most is None else -(-counting.count // most))
        ran_out = [self.runs_out(xp, call, failing, held) for failing in places]
        assert sum(ran_out) > len(places) // 2
        np.testing.assert_array_equal(cuda.host(call()), expected)

    def runs_out(self, xp, call, failing, held):
        """Whether the call raises the allocator's error where this allocation fails; it leaves no memory."""
        pool = FailingPool(xp, failing)
        raised = False
        try:
            with xp.cuda.using_allocator(pool.malloc):
                call()
        except MemoryError:  # the pool's, or the one that Thrust makes of it
            raised = True
        gc.collect()
        assert pool.pool.used_bytes() <= held, failing
        return raised


class TestUpdate:
    @pytest.mark.parametrize("make", [lf.jacobi, lf.tridiagonal, lf.block_tridiagonal, multilevel])
    def test_a_failed_update_leaves_the_operator_unchanged(self, cuda, make):
        xp = cuda.xp
        A, b = system(cuda)
        M = make(A)
        before = cuda.host(M @ b)
        failing = FailingPool(xp, 3)
        with xp.cuda.using_allocator(failing.malloc), pytest.raises(xp.cuda.memory.OutOfMemoryError):
            M.update(3 * A)
        np.testing.assert_array_equal(cuda.host(M @ b), before)


class TestCapturedGraphs:
    @pytest.mark.parametrize("make", [lf.jacobi, lf.tridiagonal, lf.block_tridiagonal, multilevel])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_nothing_is_allocated_while_a_graph_is_captured(self, cuda, monkeypatch, make, dtype):
        """A graph holds addresses: memory allocated in it could be given to others while it is replayed."""
        from linforest_precond.backends.cuda.krylov import vector_space

        xp = cuda.xp
        A, b = system(cuda)
        pool, captures = FailingPool(xp), []
        captured = vector_space._Stream.captured

        def counted(stream, iterate, times):
            def once():
                before = pool.count
                iterate()
                captures.append(pool.count - before)

            return captured(stream, once, times)

        monkeypatch.setattr(vector_space._Stream, "captured", counted)
        M = make(A.astype(dtype))
        with xp.cuda.using_allocator(pool.malloc):
            lf.solvers.fcg(A, b, M=M, rtol=1e-8)
        assert captures, "no graph was captured"
        assert not any(captures)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
class TestManySetups:
    @pytest.mark.parametrize(
        "name, times",
        [
            ("tridiagonal", 10_000),
            ("block_tridiagonal", 2_000),
            ("multilevel", 1_000),
            ("cg", 2_000),
            ("fcg", 1_000),
        ],
    )
    def test_nothing_is_leaked(self, cuda, name, times):
        xp = cuda.xp
        call = CALLS[name](*system(cuda))
        pool = xp.cuda.MemoryPool()
        with xp.cuda.using_allocator(pool.malloc):
            for _ in range(20):
                call()
            gc.collect()
            used, total, resident = pool.used_bytes(), pool.total_bytes(), resident_bytes()
            free = xp.cuda.runtime.memGetInfo()[0]
            for _ in range(times):
                call()
            gc.collect()
            assert pool.used_bytes() <= used
            assert pool.total_bytes() <= total + (16 << 20)  # fragments
        # Blocks of the driver and of the host's allocator come in megabytes.
        if "PYTEST_XDIST_WORKER" not in os.environ:  # other workers use the same device
            assert free - xp.cuda.runtime.memGetInfo()[0] < 64 << 20
        assert resident_bytes() - resident < 64 << 20
