"""Tridiagonal systems over ranks: the findings of one rank, and its solutions up to rounding."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from parallel_cases import random_offsets
from rank_tridiagonal_cases import (
    FINDINGS,
    KINDS,
    dense,
    magnitudes_of_rows,
    solved_by_one,
    solved_by_ranks,
    system,
)
from strategies import slow

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.distributed.tridiagonal import band_partition

pytestmark = pytest.mark.filterwarnings("ignore:.*numerically singular")


def assert_like_one_rank(bands, offsets, magnitudes=None, **options):
    """The same findings; solutions of the same accuracy."""
    b = 1 if bands[1].ndim == 1 else bands[1].shape[1]
    rng = np.random.default_rng(1)
    right = rng.standard_normal((bands[1].shape[0] * b, 2)).astype(bands[1].dtype)
    one, *wanted = solved_by_one(bands, right, magnitudes, **options)
    solvers, *found = solved_by_ranks(bands, right, offsets, magnitudes, **options)
    for solver in solvers:
        assert {name: getattr(solver, name) for name in FINDINGS} == {
            name: getattr(one, name) for name in FINDINGS
        }
    if one.repaired is not None:
        assert np.array_equal(np.concatenate([solver.repaired for solver in solvers]), one.repaired)
    if solvers[0]._solver.partition.by_messages:
        exact = not one.pivoted or b == 1  # LAPACK's banded solver may use its vector units in another way
        assert not exact or all(np.array_equal(x, y) for x, y in zip(found, wanted))
    elif one.pivoted and one.lifted and (b > 1 or not options.get("perturb", True)):
        return  # a pivot that vanishes may be another one: a nearby system is solved in either case
    condition = 1 if one.clipped or one.repaired_paths or one.lifted else np.linalg.cond(dense(bands))
    tolerance = 1e4 * np.finfo(bands[1].dtype).eps * max(1, condition)
    for x, y in zip(found, wanted):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * abs(y).max())


@given(
    n=st.integers(1, 40),
    b=st.sampled_from((1, 2)),
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 7),
    seed=st.integers(0, 2**32 - 1),
    repaired=st.booleans(),
    most=st.sampled_from((0, 3, 8)),
)
def test_any_system_and_partition(n, b, kind, size, seed, repaired, most):
    bands = system(n, b, kind, seed, breaks=(0, 0.1, 0.4)[seed % 3])
    magnitudes = magnitudes_of_rows(bands, seed) if repaired else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(band_partition, "MOST_LINKED", most)
        assert_like_one_rank(bands, random_offsets(n, size, seed), magnitudes)


@pytest.mark.slow
@given(
    n=st.integers(1, 80),
    b=st.sampled_from((1, 2, 4)),
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from((np.float64, np.float32, np.complex128, np.complex64)),
    definite=st.booleans(),
    perturb=st.booleans(),
    most=st.sampled_from((0, 3, 8)),
)
# The rows that LAPACK's gttrs writes out are rounded otherwise than those of its loop where compilers fuse
# multiplications and additions.
@example(7, 1, "general", 3, 152, np.complex128, True, True, 8)
def test_any_type_and_option(n, b, kind, size, seed, dtype, definite, perturb, most):
    bands = system(n, b, kind, seed, dtype, breaks=(0, 0.1, 0.4)[seed % 3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(band_partition, "MOST_LINKED", most)
        options = {"make_definite": definite, "perturb": perturb}
        assert_like_one_rank(bands, random_offsets(n, size, seed), **options)


@pytest.mark.parametrize("most", [0, 8])
@pytest.mark.parametrize("b", [1, slow(2)])
def test_stretch_that_is_singular_while_the_path_is_not(b, most, monkeypatch):
    monkeypatch.setattr(band_partition, "MOST_LINKED", most)
    # The middle rows of ((0, 1), (1, 0)) blocks along a path: each stretch of one or three rows is singular.
    n = 12
    eye = np.ones(n) if b == 1 else np.tile(np.eye(b), (n, 1, 1))
    bands = [eye.copy(), 0 * eye, eye.copy()]
    bands[0][0] = bands[2][-1] = 0
    for offsets in ([0, 3, 6, 9, 12], [0, 1, 2, 12], [0, 5, 5, 6, 12], [0, *range(1, 13)]):
        assert_like_one_rank(tuple(bands), np.array(offsets))


@pytest.mark.parametrize("most", [0, 8])
@pytest.mark.parametrize("kind", ["tridiagonal", "block_tridiagonal"])
def test_products_send_no_pickled_arrays(kind, most, monkeypatch):
    """Arrays of known lengths alone: `allgather` of MPI pickles."""
    monkeypatch.setattr(band_partition, "MOST_LINKED", most)
    A = lf.matrices.aniso(1, 14)

    def gathered(comm):
        M = getattr(distributed, kind)(distributed.scatter(A, comm))
        r, called = np.ones(M.shape[0]), []
        M.T @ r  # sets up the spikes of the transpose
        comm._allgather = lambda value, gather=comm._allgather: called.append(value) or gather(value)
        M @ r, M.T @ r
        return called

    assert distributed.simulate(4, gathered) == [[], [], [], []]


def test_path_over_many_ranks_and_none_for_some():
    bands = system(9, 1, "path", 0)
    for size in (4, 9, 20):
        offsets = equal_shares(9, size)
        solvers = solved_by_ranks(bands, np.ones((9, 1)), offsets)[0]
        assert {solver.cuts for solver in solvers} == {min(size, 9) - 1}
        assert_like_one_rank(bands, offsets)


def test_spikes_are_as_long_as_the_crossing_paths(monkeypatch):
    """Memory: two numbers for each row of a path that crosses a cut, none for other rows."""
    monkeypatch.setattr(band_partition, "MOST_LINKED", 0)
    lower, diagonal, upper = system(300, 1, "path", 0)
    lower[[20, 90, 160, 280]] = upper[[19, 89, 159, 279]] = 0
    solvers = solved_by_ranks((lower, diagonal, upper), np.ones((300, 1)), np.array([0, 100, 200, 300]))[0]
    spikes = [solver._solver.spikes[False] for solver in solvers]
    assert [s.left.size for s in spikes] == [0, 60, 80] and [s.right.size for s in spikes] == [10, 40, 0]


def test_no_row_and_one_right_side():
    def lengths(bands, offsets):
        return solved_by_ranks(bands, np.ones(bands[1].size), offsets)[1].shape

    nothing = (np.empty(0), np.empty(0), np.empty(0))
    assert lengths(nothing, np.zeros(4, np.int64)) == (0,)
    assert lengths(system(3, 1, "definite", 0), np.array([0, 3, 3])) == (3,)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 7])
def test_long_systems(kind, size):
    bands = system(20_000, 1, kind, 5, breaks=1e-4)
    right = np.random.default_rng(0).standard_normal((20_000, 1))
    one, wanted, _ = solved_by_one(bands, right)
    solvers, found, _ = solved_by_ranks(bands, right, equal_shares(20_000, size))
    assert [getattr(solvers[0], name) for name in FINDINGS] == [getattr(one, name) for name in FINDINGS]
    if not (one.lifted or kind in ("general", "indefinite", "zero diagonal")):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * abs(wanted).max())
    elif not one.lifted:  # residuals, since conditions are unknown
        lower, diagonal, upper = bands
        for x in (found[:, 0], wanted[:, 0]):
            product = diagonal * x
            product[1:] += lower[1:] * x[:-1]
            product[:-1] += upper[:-1] * x[1:]
            assert abs(product - right[:, 0]).max() <= 1e-12 * max(1, abs(x).max())
