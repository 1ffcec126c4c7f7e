"""Pairwise hierarchies over ranks are those of one rank, and so are cycles and iterations."""

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

# Without estimates of eigenvalues, which agree with those of one rank to rounding alone.
EXACT = {"smoother": "l1_jacobi", "max_coarse": 20}
PAIRWISE = {"coarsening": "matching"}
ROUNDING = 1e-12


def hierarchies(A, size, offsets=None, gather_below=60, **options):
    """The hierarchy of one rank, and that of each of several ranks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a stall
        options = {**PAIRWISE, **options}
        one = lf.multilevel(A, **options)
        ranks = simulate(
            size, lambda comm: multilevel(scatter(A, comm, offsets), gather_below=gather_below, **options)
        )
    return one, ranks


def applied(ranks, r, cycle=None, view=None):
    """One cycle, or its view "T" or "H", on a vector of which each rank has its part."""
    operators = [ml.aspreconditioner(cycle) for ml in ranks]
    operators = [M if view is None else getattr(M, view) for M in operators]
    ends = np.cumsum([M.shape[0] for M in operators])
    parts = np.split(r, ends[:-1])
    return joined(len(ranks), lambda comm: operators[comm.rank] @ parts[comm.rank])


def assert_hierarchy_of_one_rank(one, ranks):
    """Aggregates and the entries of all levels have the bits of one rank's."""
    levels = one._part.levels
    assert ranks[0].unknowns == [level.unknowns for level in levels]
    assert ranks[0].entries == [level.entries for level in levels]
    assert (ranks[0].cycle, ranks[0].stalled) == (one.cycle, one.stalled)
    for i in range(len(ranks[0].aggregates)):
        numbers = np.concatenate([ml.aggregates[i] for ml in ranks])
        assert np.array_equal(numbers, levels[i].transfer.numbers)
        data = np.concatenate([ml._part.part.levels[i].csr.data for ml in ranks])
        assert np.array_equal(data, levels[i].csr.data)
    if ranks[0]._part.gathered is not None:
        for mine, level in zip(ranks[-1]._part.part.levels[::-1], levels[::-1]):
            if mine.csr.n == level.csr.n:
                assert np.array_equal(mine.csr.indices, level.csr.indices)
                assert np.array_equal(mine.csr.data, level.csr.data)


@st.composite
def matrices(draw):
    """Diagonally dominant or not, symmetric or not, with empty and long rows and zeros on the diagonal."""
    n, seed = draw(st.integers(0, 70)), draw(st.integers(0, 2**16))
    A = random_matrix(n, draw(st.sampled_from([0.02, 0.1])), seed)
    A = -abs(A) if draw(st.booleans()) else A
    A = A + A.T if draw(st.booleans()) else A
    sums = np.asarray(abs(A).sum(axis=1)).ravel()
    return sp.csr_array(A + draw(st.sampled_from([0, 1, 1.1])) * sp.diags_array(sums, shape=(n, n)))


@given(
    A=matrices(),
    size=st.integers(1, 5),
    seed=st.integers(0, 2**16),
    gather_below=st.sampled_from([0, 15, 40]),
    matchings=st.sampled_from([1, 2]),
    weights=st.sampled_from(["coupling", "magnitude"]),
)
def test_any_matrix(A, size, seed, gather_below, matchings, weights):
    offsets = random_offsets(A.shape[0], size, seed)
    options = {**EXACT, "max_coarse": 8, "seed": seed, "matchings": matchings, "weights": weights}
    one, ranks = hierarchies(A, size, offsets, gather_below, **options)
    assert_hierarchy_of_one_rank(one, ranks)
    r, M = vector(A.shape[0], seed), one.aspreconditioner()
    for view, expected in ((None, M @ r), ("T", M.T @ r)):
        found = applied(ranks, r, view=view)
        if one._part.centered:  # means are summed in another order
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max(initial=0))
        else:
            assert np.array_equal(found, expected, equal_nan=True)


def laplacian_of(A, shift):
    weights = abs(A - sp.diags_array(A.diagonal()))
    return sp.csr_array(sp.diags_array(np.asarray(weights.sum(axis=1)).ravel() + shift) - weights)


CASES = {
    "2-D": lambda: lf.matrices.poisson((30, 29)),
    "3-D": lambda: lf.matrices.poisson((10, 9, 11)),
    "jumps": lambda: jumps((30, 30)),
    "Delaunay": lambda: laplacian_of(lf.matrices.delaunay(900), 1e-3),
    "pure Neumann": lambda: laplacian_of(lf.matrices.poisson((30, 30)), 0.0),
    "convection": lambda: lf.matrices.convection_diffusion((30, 30)),
}


def with_slow_ones(*quick):
    """All cases; those that are not named are slow."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("case", with_slow_ones("jumps", "convection"))
def test_iterations_do_not_depend_on_the_ranks(case):
    A = CASES[case]()
    b = A @ vector(A.shape[0], 1)
    one = lf.multilevel(A, coarsening="matching", max_coarse=20)
    expected = []
    one.solve(b, tol=1e-8, residuals=expected)
    found = {}
    for size in (1, 3, 4):

        def solved(comm):
            parts, residuals = scatter(A, comm), []
            ml = multilevel(parts, **PAIRWISE, max_coarse=20, gather_below=50)
            own = slice(parts.first, parts.first + parts.n_local)
            x = ml.solve(b[own], tol=1e-8, residuals=residuals)
            assert len(ml.aggregates) >= 2  # levels over ranks with Krylov steps
            return x, residuals

        results = simulate(size, solved)
        found[size] = np.concatenate([x for x, _ in results]), results[0][1]
        assert len(results[0][1]) == len(expected)
    x, residuals = found[1]
    assert np.linalg.norm(A @ x - b) <= 1.01e-8 * np.linalg.norm(b)
    for other, norms in found.values():
        assert np.array_equal(other, x) and norms == residuals


@pytest.mark.parametrize("cycle", ["V", "W", "F", "K"])
@pytest.mark.parametrize("case", ["jumps", "convection"])
def test_cycles_have_the_bits_of_one_rank(case, cycle):
    A = CASES[case]()
    one, ranks = hierarchies(A, 3, **EXACT, presmooth=2)
    r, M = vector(A.shape[0], 3), one.aspreconditioner(cycle)
    assert np.array_equal(applied(ranks, r, cycle), M @ r)
    assert np.array_equal(applied(ranks, r, cycle, "T"), M.T @ r)


def test_estimated_eigenvalues_agree_to_rounding():
    A = lf.matrices.aniso(2, 25)
    one, ranks = hierarchies(A, 3, max_coarse=20, smoother="chebyshev")
    r = vector(A.shape[0], 3)
    expected = one.aspreconditioner() @ r
    assert abs(applied(ranks, r) - expected).max() <= ROUNDING * abs(expected).max()


def test_ranks_without_rows_and_more_ranks_than_rows():
    A = lf.matrices.poisson((4, 3))
    for size, offsets in ((3, [0, 0, 12, 12]), (15, None)):
        one, ranks = hierarchies(A, size, offsets, 0, **{**EXACT, "max_coarse": 3})
        assert_hierarchy_of_one_rank(one, ranks)
        r = vector(12, size)
        assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)
        parts = np.split(r, ranks[0]._A.offsets[1:-1])
        x = joined(size, lambda comm: ranks[comm.rank].solve(parts[comm.rank], tol=1e-10))  # noqa: B023
        assert np.allclose(A @ x, r)


def complex_entries(A, hermitian):
    """A with phases: Hermitian where A is symmetric, or not."""
    phases = sp.diags_array(np.exp(1j * np.arange(A.shape[0])))
    A = sp.csr_array(phases @ A @ phases.conj())
    return sp.csr_array((A + A.conj().T) / 2 if hermitian else A + 0.1j * sp.triu(A))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("dtype", quick([np.float64, np.complex128]))
def test_adjoints(size, symmetric, dtype):
    """<M x, y> = <x, M^H y>, and the products are those of one rank."""
    A = CASES["2-D" if symmetric else "convection"]()
    if dtype == np.complex128:
        A = complex_entries(A, symmetric)
    offsets, n = random_offsets(A.shape[0], size, size), A.shape[0]
    x, y = vector(n, 1, dtype), vector(n, 2, dtype)
    for sweeps in ({}, {"presmooth": 2}):
        one, ranks = hierarchies(A, size, offsets, **EXACT, **sweeps)
        assert len(ranks[0].aggregates) >= 2 and ranks[0]._part.gathered is not None
        for cycle in ("V", "W", "F"):
            forward, adjoint = applied(ranks, x, cycle), applied(ranks, y, cycle, "H")
            M, scale = one.aspreconditioner(cycle), np.linalg.norm(forward) * np.linalg.norm(y)
            assert abs(np.vdot(forward, y) - np.vdot(x, adjoint)) <= ROUNDING * scale
            for view, found in (("H", adjoint), ("T", applied(ranks, y, cycle, "T"))):
                expected = getattr(M, view) @ y
                assert abs(found - expected).max() <= ROUNDING * abs(expected).max()


@pytest.mark.parametrize("dtype", quick([float, complex]))
def test_views_of_a_cycle(dtype):
    with_phases = complex_entries if dtype is complex else lambda A, _: A
    A = with_phases(CASES["convection"](), False)
    _, ranks = hierarchies(A, 2, **EXACT)
    M, r, own = ranks[0].aspreconditioner(), vector(A.shape[0], 1, dtype), ranks[0].shape[0] // 2
    assert M.H.H is M.T.T is M and M.H.flags == (True, True)
    adjoint = applied(ranks, r, view="H")
    operators = [ml.aspreconditioner() for ml in ranks]
    found = joined(2, lambda comm: operators[comm.rank].rmatvec(np.split(r, [own])[comm.rank]))
    assert np.array_equal(found, adjoint)
    _, hermitian = hierarchies(with_phases(CASES["2-D"](), True), 2, **EXACT)
    r = vector(hermitian[0].shape[0], 1, dtype)
    found = applied(hermitian, r, "V")
    assert np.array_equal(applied(hermitian, r, "V", "H"), found)
    assert np.array_equal(applied(hermitian, r.conj(), "V", "T"), found.conj())


def test_adjoints_of_levels_on_every_rank_and_of_smoothed_coarsest_ones():
    A = CASES["convection"]()
    r = vector(A.shape[0], 1)
    for options in ({"max_coarse": 2000}, {"max_levels": 1, "gather_below": 0}, {"max_levels": 2}):
        one, ranks = hierarchies(A, 3, **{**EXACT, **options})
        assert np.array_equal(applied(ranks, r, view="T"), one.aspreconditioner().T @ r)


def test_a_transposed_cycle_follows_updates_of_the_hierarchy():
    A = CASES["convection"]()
    B = sp.csr_array(A + sp.diags_array(np.arange(A.shape[0]) / A.shape[0]))
    one, ranks = hierarchies(A, 3, **EXACT)
    r = vector(A.shape[0], 3)
    applied(ranks, r, view="T")
    one.update(B)
    simulate(3, lambda comm: ranks[comm.rank].update(scatter(B, ranks[comm.rank]._A.comm)))
    assert np.array_equal(applied(ranks, r, view="T"), one.aspreconditioner().T @ r)


def test_several_columns_and_complex_ones():
    A = lf.matrices.poisson((20, 20))
    one, ranks = hierarchies(A, 3, **EXACT)
    R = np.stack([vector(400, 1), vector(400, 2)], axis=1)
    R = R + 1j * R[:, ::-1]
    M = one.aspreconditioner("V")
    for view in (None, "T", "H"):
        found = applied(ranks, R, "V", view)
        assert np.array_equal(found.real, M @ R.real) and np.array_equal(found.imag, M @ R.imag)


def test_solvers_take_a_hierarchy():
    A = lf.matrices.poisson((20, 20))

    def solved(comm):
        parts = scatter(A, comm)
        return cg(parts, np.ones(parts.n_local), M=multilevel(parts), rtol=1e-8)[0]

    assert np.linalg.norm(A @ joined(2, solved) - 1) <= 1e-7


def test_update_takes_new_values_for_the_same_aggregates():
    A = lf.matrices.poisson((20, 20))
    D = sp.diags_array(1 + np.arange(400) / 400)
    B = sp.csr_array(D @ A @ D)
    one, ranks = hierarchies(A, 3, **EXACT)
    before = [ml.aspreconditioner() for ml in ranks]
    r = vector(400, 3)
    kept = applied(ranks, r)
    one.update(B)
    simulate(3, lambda comm: ranks[comm.rank].update(scatter(B, ranks[comm.rank]._A.comm)))
    assert_hierarchy_of_one_rank(one, ranks)
    assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)
    parts = np.split(r, [133, 266])
    assert np.array_equal(joined(3, lambda comm: before[comm.rank] @ parts[comm.rank]), kept)


def test_update_refuses_another_pattern_on_all_ranks():
    A = lf.matrices.poisson((6, 6))

    def update(comm):
        ml = multilevel(scatter(A, comm), **PAIRWISE, **EXACT)
        ml.update(scatter(A @ A, comm))

    with pytest.raises(ValueError, match="A must have the pattern"):
        simulate(2, update)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_matrices_at_the_edge_of_the_number_range(exponent):
    A = lf.matrices.poisson((20, 20)) * 2.0**exponent
    one, ranks = hierarchies(A, 2, **EXACT)
    r = vector(400, 1)
    assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coarsening": "paths"}, 'coarsening over ranks must be "auto", "smoothed_aggregation"'),
        ({"smoother": "gauss_seidel"}, 'smoother over ranks must be "auto", "jacobi"'),
        ({"cycle": "X"}, "cycle must be"),
        ({"gather_below": -1}, "gather_below must be at least 0"),
        ({"strength": 2}, "strength must lie in"),
    ],
)
def test_options_are_checked_on_all_ranks(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(2, lambda comm: multilevel(scatter(lf.matrices.poisson((4, 4)), comm), **options))


def test_print_tells_where_levels_are():
    A = lf.matrices.poisson((20, 20))
    one, ranks = hierarchies(A, 3, **EXACT)
    shown = str(ranks[1]).splitlines()
    assert shown[0] == "multilevel: K-cycle on 4 levels, over 3 ranks"
    assert shown[-1].split("  ")[-1] == "the first 2 over ranks, the others on every rank"
    assert shown[1:5] == [line for line in str(one).splitlines() if "  level " in line]


def test_a_stall_on_a_large_level_ends_the_hierarchy():
    A = sp.csr_array(sp.eye_array(5000) * 2.0)
    with pytest.warns(RuntimeWarning, match="coarsening stalled at 5000 unknowns"):
        ml = simulate(2, lambda comm: multilevel(scatter(A, comm), **PAIRWISE, gather_below=0))[0]
    assert ml.stalled and ml.unknowns == [5000]


def test_a_stall_on_a_level_that_every_rank_may_have_is_that_of_one_rank():
    # Positive couplings: no pairs, but roots.
    A = abs(lf.matrices.poisson((12, 12)))
    one, ranks = hierarchies(A, 3, **EXACT)
    assert len(one.levels) > 1 and not ranks[0].aggregates
    assert_hierarchy_of_one_rank(one, ranks)
    r = vector(144, 1)
    assert np.array_equal(applied(ranks, r), one.aspreconditioner() @ r)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("case", ["jumps", "pure Neumann", "convection"])
@pytest.mark.parametrize("smoother", ["jacobi", "chebyshev3"])
def test_all_types_and_smoothers(case, dtype, smoother):
    A = CASES[case]()
    if np.dtype(dtype).kind == "c":
        A = complex_entries(A, case != "convection")
    A = sp.csr_array(A.astype(dtype))
    r = vector(A.shape[0], 5, dtype)
    results = []
    for size in (1, 2, 3, 7):
        one, ranks = hierarchies(
            A, size, random_offsets(A.shape[0], size, size), max_coarse=20, smoother=smoother
        )
        assert_hierarchy_of_one_rank(one, ranks)
        M = one.aspreconditioner()
        results.append([applied(ranks, r), applied(ranks, r, view="H")])
        for found, expected in zip(results[-1], (M @ r, M.H @ r)):
            error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
            assert error <= 1e4 * np.finfo(dtype).eps
    assert all(np.array_equal(found, results[0]) for found in results)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["2-D", "3-D", "jumps"])
def test_iterations_of_large_matrices(case):
    A = {
        "2-D": lambda: lf.matrices.poisson((300, 300)),
        "3-D": lambda: lf.matrices.poisson((40, 40, 40)),
        "jumps": lambda: jumps((40, 40, 40)),
    }[case]()
    b, expected = A @ vector(A.shape[0], 1), []
    lf.multilevel(A, coarsening="matching").solve(b, tol=1e-8, residuals=expected)

    def solved(comm):
        parts, residuals = scatter(A, comm), []
        ml = multilevel(parts, **PAIRWISE, gather_below=2000)
        x = ml.solve(b[parts.first : parts.first + parts.n_local], tol=1e-8, residuals=residuals)
        return x, len(residuals)

    results = [simulate(size, solved) for size in (1, 2, 3, 4, 7)]
    solutions = [np.concatenate([x for x, _ in parts]) for parts in results]
    assert {parts[0][1] for parts in results} == {len(expected)}
    assert all(np.array_equal(x, solutions[0]) for x in solutions)


PROGRAM = """
    import numpy as np
    import linforest_precond as lf
    from linforest_precond.distributed import communicator_of, matching, multilevel, scatter

    A = lf.matrices.poisson((30, 30))
    comm = communicator_of()
    parts = scatter(A if comm.rank == 0 else None, comm, [0, 200, 200, 900])
    own = slice(parts.first, parts.first + parts.n_local)
    assert np.array_equal(matching(parts).mate, lf.graph.matching(A).mate[own])
    options = {"coarsening": "matching", "max_coarse": 20, "smoother": "l1_jacobi"}
    ml = multilevel(parts, gather_below=50, **options)
    one = lf.multilevel(A, **options)
    r = np.random.default_rng(0).standard_normal(900)
    assert np.array_equal(ml.aspreconditioner() @ r[own], (one.aspreconditioner() @ r)[own])
    assert len(ml.aggregates) == 3
    residuals, expected = [], []
    ml.solve(r[own], tol=1e-8, residuals=residuals)
    one.solve(r, tol=1e-8, residuals=expected)
    assert len(residuals) == len(expected)
    print("done", flush=True)
"""


ADJOINT = """
    import numpy as np
    import linforest_precond as lf
    from linforest_precond.distributed import communicator_of, multilevel, scatter

    A, comm = lf.matrices.convection_diffusion((30, 30)), communicator_of()
    rng, options = np.random.default_rng(0), {"max_coarse": 20, "smoother": "l1_jacobi", "presmooth": 2}
    options["coarsening"] = "matching"
    for phase in (1.0, np.exp(1j)):
        parts = scatter(phase * A, comm)
        own = slice(parts.first, parts.first + parts.n_local)
        M = multilevel(parts, gather_below=50, **options).aspreconditioner()
        one = lf.multilevel(phase * A, **options).aspreconditioner()
        x, y = (rng.standard_normal(900).astype(parts.dtype) * phase for _ in range(2))
        found = M.T @ y[own]
        assert np.allclose(found, (one.T @ y)[own], rtol=1e-11, atol=0)
        assert phase != 1.0 or np.array_equal(found, (one.T @ y)[own])
        forward, adjoint = M @ x[own], M.H @ y[own]
        assert np.isclose(parts.inner(forward, y[own]), parts.inner(x[own], adjoint), rtol=1e-11)
    print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_adjoints_on_ranks_of_mpi(mpiexec, size):
    outcome = mpiexec(size, ADJOINT)
    assert outcome.code == 0 and outcome.output.count("done") == size, outcome.output


@pytest.mark.slow
def test_ranks_of_mpi(mpiexec):
    outcome = mpiexec(3, PROGRAM)
    assert outcome.code == 0 and outcome.output.count("done") == 3, outcome.output
