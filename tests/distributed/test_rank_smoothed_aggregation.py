"""Smoothed aggregation over ranks: levels, prolongators and cycles are those of one rank, bit for bit."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import joined, jumps, random_matrix, random_offsets, vector
from strategies import quick

import linforest_precond as lf
from linforest_precond.distributed import cg, multilevel, scatter, simulate
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.root_aggregates import distance_2_set, strong_couplings

# Without estimates of eigenvalues, which agree with those of one rank to rounding alone.
EXACT = {"coarsening": "smoothed_aggregation", "smoother": "l1_jacobi", "max_coarse": 20}


def hierarchies(A, size, offsets=None, gather_below=60, **options):
    """The hierarchy of one rank, and that of each of several ranks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a stall
        one = lf.multilevel(A, **options)
        ranks = simulate(
            size, lambda comm: multilevel(scatter(A, comm, offsets), gather_below=gather_below, **options)
        )
    return one, ranks


def applied(ranks, r, view=None):
    """One cycle, or its view "T" or "H", on a vector of which each rank has its part."""
    operators = [ml.aspreconditioner() for ml in ranks]
    operators = [M if view is None else getattr(M, view) for M in operators]
    parts = np.split(r, np.cumsum([M.shape[0] for M in operators])[:-1])
    return joined(len(ranks), lambda comm: operators[comm.rank] @ parts[comm.rank])


def assert_hierarchy_of_one_rank(one, ranks):
    """Aggregates, and the matrices and prolongators of all levels, have the bits of one rank's."""
    levels = one._part.levels
    assert ranks[0].unknowns == [level.unknowns for level in levels]
    assert ranks[0].entries == [level.entries for level in levels]
    assert (ranks[0].cycle, ranks[0].stalled) == (one.cycle, one.stalled)
    for i, level in enumerate(levels[: len(ranks[0].aggregates)]):
        mine = [ml._part.part.levels[i] for ml in ranks]
        assert np.array_equal(np.concatenate([each.csr.data for each in mine]), level.csr.data)
        if not hasattr(level.transfer, "prolongator"):  # pairs, where roots stall
            continue
        for name in ("prolongator", "restrictor"):
            data = np.concatenate([getattr(each.transfer, name).data for each in mine])
            assert np.array_equal(data, getattr(level.transfer, name).data)
        if level.transfer.smoothed is not None:
            numbers = np.concatenate([ml.aggregates[i] for ml in ranks])
            assert np.array_equal(numbers, level.transfer.smoothed.numbers)


@st.composite
def matrices(draw):
    """Symmetric or not, with empty and long rows, weak couplings and diagonals of any sign."""
    n, seed = draw(st.integers(0, 80)), draw(st.integers(0, 2**16))
    A = random_matrix(n, draw(st.sampled_from([0.02, 0.05, 0.1])), seed)
    A = -abs(A) if draw(st.booleans()) else A
    A = A + A.T if draw(st.booleans()) else A
    sums = np.asarray(abs(A).sum(axis=1)).ravel()
    if draw(st.booleans()):
        sums *= np.random.default_rng(seed).choice([-1.0, 1.0, 6.0], n)
    return sp.csr_array(A + draw(st.sampled_from([0, 0.5, 1.1])) * sp.diags_array(sums, shape=(n, n)))


@given(
    A=matrices(),
    size=st.integers(1, 5),
    seed=st.integers(0, 2**16),
    gather_below=st.sampled_from([0, 15, 40]),
    weights=st.sampled_from(["coupling", "magnitude"]),
)
def test_any_matrix(A, size, seed, gather_below, weights):
    offsets = random_offsets(A.shape[0], size, seed)
    options = {**EXACT, "max_coarse": 8, "seed": seed, "weights": weights}
    one, ranks = hierarchies(A, size, offsets, gather_below, **options)
    assert_hierarchy_of_one_rank(one, ranks)
    r, M = vector(A.shape[0], seed), one.aspreconditioner()
    for view, expected in ((None, M @ r), ("T", M.T @ r)):
        found = applied(ranks, r, view)
        if one._part.centered:  # means are summed in another order
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max(initial=0))
        else:
            assert np.array_equal(found, expected, equal_nan=True)


def with_hub():
    """An unknown is coupled to all others: a smoothed prolongator would fill up the coarse matrix."""
    hub = 900
    A = sp.lil_array((904, 904))
    A[:hub, :hub] = lf.matrices.poisson((30, 30))
    A[hub, :] = A[:, hub] = -1e-3
    A.setdiag([*[4.0] * hub, 1.0, *[1e-3] * 3])  # strong for the last three alone
    return sp.csr_array(A)


CASES = {
    "2-D": lambda: lf.matrices.poisson((30, 29)),
    "3-D": lambda: lf.matrices.poisson((10, 9, 11)),
    "ANISO2": lambda: lf.matrices.aniso(2, 30),
    "jumps": lambda: jumps((30, 30)),
    "hub": with_hub,
    "convection": lambda: lf.matrices.convection_diffusion((30, 30)),
    "positive couplings": lambda: abs(lf.matrices.poisson((25, 25))),
    "dominant": lambda: sp.csr_array(lf.matrices.poisson((20, 20)) + 100 * sp.eye_array(400)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_cycles_have_the_bits_of_one_rank(case, size):
    A = CASES[case]()
    one, ranks = hierarchies(A, size, random_offsets(A.shape[0], size, size), **EXACT)
    assert_hierarchy_of_one_rank(one, ranks)
    r, M = vector(A.shape[0], 3), one.aspreconditioner()
    assert np.array_equal(applied(ranks, r), M @ r)
    assert np.array_equal(applied(ranks, r, "T"), M.T @ r)


@pytest.mark.parametrize("case", ["2-D", "ANISO2", "jumps"])
def test_iterations_are_those_of_one_rank(case):
    A = CASES[case]()
    b, options = A @ vector(A.shape[0], 1), {"max_coarse": 20}
    history = lf.solvers.History()
    M = lf.multilevel(A, smoother="chebyshev", **options).aspreconditioner()
    lf.solvers.cg(A, b, rtol=1e-8, M=M, history=history)

    def solved(comm):
        parts, own = scatter(A, comm), lf.solvers.History()
        ml = multilevel(parts, gather_below=50, **options)
        assert ml._part.part.options.smoother == "chebyshev" and len(ml.aggregates) >= 2
        part = b[parts.first : parts.first + parts.n_local]
        x, _ = cg(parts, part, rtol=1e-8, M=ml.aspreconditioner(), history=own)
        return x, len(own)

    results = [simulate(size, solved) for size in (1, 2, 3, 4)]
    solutions = [np.concatenate([x for x, _ in parts]) for parts in results]
    assert {parts[0][1] for parts in results} == {len(history)}
    assert all(np.array_equal(x, solutions[0]) for x in solutions)


@pytest.mark.parametrize("dtype", quick([np.float64, np.float32, np.complex64, np.complex128]))
def test_types(dtype):
    A = CASES["2-D"]()
    if np.dtype(dtype).kind == "c":
        phases = sp.diags_array(np.exp(1j * np.arange(A.shape[0])))
        A = phases @ A @ phases.conj()
        A = (A + A.conj().T) / 2
    A = sp.csr_array(A.astype(dtype))
    one, ranks = hierarchies(A, 3, **EXACT)
    assert_hierarchy_of_one_rank(one, ranks)
    r, M = vector(A.shape[0], 5, dtype), one.aspreconditioner()
    for view, expected in ((None, M @ r), ("T", M.T @ r), ("H", M.H @ r)):
        error = abs(applied(ranks, r, view) - expected).max()
        assert error <= 1e2 * np.finfo(dtype).eps * abs(expected).max()


def test_single_precision_for_a_matrix_of_double_precision():
    one, ranks = hierarchies(CASES["2-D"](), 3, **EXACT, dtype=np.float32)
    r = vector(870, 1)
    assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)


@pytest.mark.parametrize("case", ["jumps", "hub", "convection"])
def test_update_takes_new_values_for_the_same_aggregates(case):
    A = CASES[case]()
    D = sp.diags_array(1 + np.arange(A.shape[0]) / A.shape[0])
    B = sp.csr_array(D @ A @ D)
    one, ranks = hierarchies(A, 3, **EXACT)
    one.update(B)
    simulate(3, lambda comm: ranks[comm.rank].update(scatter(B, ranks[comm.rank]._A.comm)))
    assert_hierarchy_of_one_rank(one, ranks)
    r = vector(A.shape[0], 3)
    assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)


def test_auto_is_that_of_one_rank():
    for case, coarsening in (("2-D", "smoothed_aggregation"), ("convection", "smoothed_aggregation")):
        one, ranks = hierarchies(CASES[case](), 2, max_coarse=20)
        assert ranks[0]._part.part.options.coarsening == one._part.options.coarsening == coarsening
    A = sp.csr_array(lf.matrices.poisson((20, 20)) + 3 * sp.eye_array(400, k=1))
    one, ranks = hierarchies(A, 2, max_coarse=20)
    assert one._part.options.coarsening == "paths"
    assert ranks[0]._part.part.options.coarsening == "matching"
    assert hierarchies(CASES["2-D"](), 2, matchings=1)[1][0]._part.part.options.coarsening == "matching"


def test_roots_are_more_than_two_strong_couplings_apart():
    A = CASES["2-D"]()

    def roots(comm):
        return distance_2_set(strong_couplings(RankLevelMatrix(scatter(A, comm)), 0.4, True), 7)

    members = np.flatnonzero(joined(5, roots))
    reach = sp.csr_array(A @ A)[members]
    assert (reach[:, members].astype(bool).sum(axis=1) == 1).all()
    assert np.unique(reach.indices).size == A.shape[0]


def test_a_prolongator_that_would_fill_up_is_not_smoothed():
    one, ranks = hierarchies(with_hub(), 3, **EXACT)
    assert one._part.levels[0].transfer.smoothed is None
    assert not ranks[0]._part.coarsenings[0].is_smoothed


def test_ranks_without_rows_and_more_ranks_than_rows():
    A = lf.matrices.poisson((4, 3))
    for size, offsets in ((3, [0, 0, 12, 12]), (15, None)):
        one, ranks = hierarchies(A, size, offsets, 0, **{**EXACT, "max_coarse": 3})
        assert_hierarchy_of_one_rank(one, ranks)
        r = vector(12, size)
        assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)


def test_cycles_send_no_pickled_arrays():
    """Arrays of known lengths alone: `allgather` of MPI pickles."""
    A = CASES["2-D"]()

    def gathered(comm):
        M = multilevel(scatter(A, comm), max_coarse=20, gather_below=100).aspreconditioner()
        r, called = np.ones(M.shape[0]), []
        comm._allgather = lambda value, gather=comm._allgather: called.append(value) or gather(value)
        M @ r
        return called

    assert simulate(3, gathered) == [[], [], []]


PROGRAM = """
    import numpy as np
    import linforest_precond as lf
    from linforest_precond.distributed import communicator_of, multilevel, scatter

    A, comm = lf.matrices.aniso(2, 30), communicator_of()
    parts = scatter(A if comm.rank == 0 else None, comm, [0, 200, 200, 900])
    own = slice(parts.first, parts.first + parts.n_local)
    options = {"max_coarse": 20, "smoother": "l1_jacobi"}
    ml, one = multilevel(parts, gather_below=50, **options), lf.multilevel(A, **options)
    r = np.random.default_rng(0).standard_normal(900)
    assert len(ml.aggregates) >= 2
    assert np.array_equal(ml.aspreconditioner() @ r[own], (one.aspreconditioner() @ r)[own])
    print("done", flush=True)
"""


@pytest.mark.slow
def test_ranks_of_mpi(mpiexec):
    outcome = mpiexec(3, PROGRAM)
    assert outcome.code == 0 and outcome.output.count("done") == 3, outcome.output
