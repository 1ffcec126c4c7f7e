"""BLAS and LAPACK take one thread in setups of small dense matrices, and as many as before afterwards."""

import threading

import pytest

import linforest_precond as lf
from linforest_precond.backends.blas_threads import one_blas_thread
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.multigrid import coarsest

threadpoolctl = pytest.importorskip("threadpoolctl")


@pytest.fixture
def counts():
    """A function that returns the numbers of threads of the loaded libraries; two each at first."""
    pools = threadpoolctl.ThreadpoolController().select(user_api="blas")
    if not pools.lib_controllers:
        pytest.skip("NumPy's BLAS is none that threadpoolctl knows")
    with pools.limit(limits=2):
        yield lambda: {library["num_threads"] for library in pools.info()}


def test_limit_ends_with_the_block(counts):
    assert counts() == {2}
    with one_blas_thread():
        assert counts() == {1}
        with one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


def test_threads_restore_the_number_of_before(counts):
    first, second = threading.Event(), threading.Event()

    def limited():
        with one_blas_thread():
            first.set()
            second.wait(1)

    thread = threading.Thread(target=limited)
    thread.start()
    first.wait()
    threading.Timer(0.05, second.set).start()
    with one_blas_thread():  # waits for the other thread
        assert second.is_set()
    thread.join()
    assert counts() == {2}


@pytest.mark.parametrize(("limit", "expected"), [(200, {1}), (100, {2})])
def test_small_coarsest_levels_are_inverted_by_one_thread(counts, monkeypatch, limit, expected):
    seen = []

    class Recorded(coarsest.Coarsest):
        @classmethod
        def _solver_of(cls, *arguments):
            seen.append(counts())
            return super()._solver_of(*arguments)

    monkeypatch.setattr(coarsest, "ONE_THREAD", limit)
    A = checked(lf.matrices.poisson((12, 12)))
    Recorded.of(A, A.dtype, hermitian=True)
    assert seen == [expected]
    assert counts() == {2}
