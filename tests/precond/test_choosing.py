"""`lf.solve` and `lf.auto`: solutions, reports, and the arguments that all solvers share."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.chooser.candidates import CANDIDATES

EASY = "small time step"
SYSTEMS = {
    EASY: lambda: sp.csr_array(lf.matrices.poisson((30, 30)) + 10 * sp.eye_array(900)),
    "elliptic": lambda: lf.matrices.poisson((100, 100)),
    "forest": lambda: lf.matrices.anisotropic_diffusion((40, 40), 0.0, 1e-4, scheme="differences"),
    "convection": lambda: lf.matrices.convection_diffusion((30, 30), (3.0, 1.0)),
}


def noise(n, *shape, seed=0):
    return np.random.default_rng(seed).standard_normal((n, *shape))


def solved(backend, A, b, **options):
    """(x, info, report) on the host."""
    report = lf.SolveReport()
    x, info = lf.solve(backend.csr(A), backend.array(b), report=report, **options)
    return backend.host(x), info, report


def residual(A, b, x):
    return np.linalg.norm(b - A @ x, axis=0) / np.linalg.norm(b, axis=0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_are_solved(backend, name):
    A = sp.csr_array(SYSTEMS[name]())
    b = noise(A.shape[0])
    x, info, report = solved(backend, A, b)
    assert info == 0 and type(info) is int and residual(A, b, x) <= 1.01e-8
    assert report.chosen in report.trials and report.chosen.outcome == "converged"
    assert report.work == pytest.approx(sum(trial.work for trial in report.trials))


def test_an_easy_system_pays_for_nothing(backend):
    A = SYSTEMS[EASY]()
    _, _, report = solved(backend, A, noise(900))
    assert [trial.name for trial in report.trials] == ["jacobi"] and report.chosen.solver == "cg"


def test_multigrid_for_a_large_grid(backend):
    A = SYSTEMS["elliptic"]()
    _, _, report = solved(backend, A, noise(A.shape[0]))
    assert report.chosen.name == "multilevel" and "multilevel" in str(report)


def test_a_run_that_takes_over_starts_from_the_present_x():
    """Of a Hermitian matrix without boundaries that would tell its iterations; small for a GPU, where levels
    of factors have a latency."""
    A, report = lf.matrices.elasticity((24, 8))[0], lf.SolveReport()
    b = noise(A.shape[0])
    x, info = lf.solve(A, b, report=report)
    jacobi, ilu = report.trials
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and report.chosen is ilu and ilu.name == "ilu"
    seen = jacobi.history.residuals
    assert seen[0] == pytest.approx(1.0) and np.isclose(seen[1:], ilu.first, rtol=1e-6).any()
    assert ilu.rate == pytest.approx(np.log10(ilu.first / ilu.last) / ilu.iterations)


def test_the_choice_is_deterministic(backend):
    A = SYSTEMS["convection"]()
    b = noise(A.shape[0])
    (x, _, first), (y, _, second) = (solved(backend, A, b, seed=3) for _ in range(2))
    assert np.array_equal(x, y) and first.events == second.events
    assert [t.iterations for t in first.trials] == [t.iterations for t in second.trials]


def test_an_indefinite_matrix_is_found_out(backend):
    A = sp.csr_array(lf.matrices.poisson((12, 12)) - 0.3 * sp.eye_array(144))
    b = noise(144)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8
    assert "minres" in {trial.solver for trial in report.trials}


def test_rows_are_matched_where_the_diagonal_is_zero(backend):
    A = sp.csr_array(SYSTEMS["convection"]())[np.random.default_rng(4).permutation(900)]
    b = noise(900)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and "matching" in report.chosen.call


def test_a_structurally_singular_matrix_is_solved_without_matching(backend):
    """The last two rows have entries in one and the same column only."""
    A = 4 * np.eye(11)
    A[8:, 8:] = [[1.0, 2.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    b = A @ noise(11)
    A = sp.csr_array(A)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and "matching" not in report.chosen.call


def test_a_singular_consistent_system(backend):
    W = abs(lf.matrices.poisson((12, 12)))
    W.setdiag(0)
    A = sp.csr_array(sp.diags_array(W.sum(axis=1)) - W)
    b = A @ noise(144)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and report.facts.centered


def test_what_cannot_be_solved(backend):
    A = sp.csr_array(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.warns(RuntimeWarning, match="jacobi .* direct solver") as warned:
        x, info, report = solved(backend, A, np.array([1.0, 0.0]))
    assert len(warned) == 1 and info > 0 and report.chosen is None and "not solved" in str(report)
    # The residual is at most that of x = 0, and cannot be below the distance of b from the range of A.
    assert np.sqrt(0.5) - 1e-12 <= np.linalg.norm(np.array([1.0, 0.0]) - A @ x) <= 1 + 1e-12
    assert len(report.trials) >= len(CANDIDATES) - 1


def test_rounding_errors_end_all_trials(backend):
    A = SYSTEMS[EASY]()
    with pytest.warns(RuntimeWarning, match="Rounding errors"):
        x, info, report = solved(backend, A, noise(900), rtol=1e-18)
    assert info > 0 and len(report.trials) == 1 and residual(A, noise(900), x) < 1e-14


def test_several_right_hand_sides(backend):
    A = SYSTEMS["forest"]()
    b = noise(1600, 3)
    b[:, 1] = 0
    x, info, _ = solved(backend, A, b)
    assert info.tolist() == [0, 0, 0] and info.dtype == np.int64 and not x[:, 1].any()
    assert residual(A, b[:, ::2], x[:, ::2]).max() <= 1.01e-8


def test_x0_and_tolerances(backend):
    A = SYSTEMS["convection"]()
    x_true = noise(900)
    x, info, report = solved(backend, A, A @ x_true, x0=backend.array(x_true))
    assert info == 0 and report.trials[0].iterations == 0 and np.array_equal(x, x_true)
    b = noise(900)
    x, _, _ = solved(backend, A, b, rtol=0.0, atol=1e-3)
    assert 1e-7 < np.linalg.norm(b - A @ x) <= 1.01e-3


def test_maxiter_limits_every_trial(backend):
    A = SYSTEMS["forest"]()
    with pytest.warns(RuntimeWarning, match="maxiter"):
        _, info, report = solved(backend, A, noise(1600), maxiter=1)
    assert info == sum(trial.iterations for trial in report.trials) > 0
    assert all(trial.iterations <= 1 for trial in report.trials)


def test_callbacks_see_all_iterations(backend):
    A = SYSTEMS["convection"]()
    seen = []
    _, _, report = solved(backend, A, noise(900), callback=lambda x: seen.append(x.shape))
    assert set(seen) == {(900,)} and len(seen) == sum(trial.iterations for trial in report.trials)


def test_errors_are_recorded_where_the_solution_is_known(backend):
    A = SYSTEMS[EASY]()
    x_true = noise(900)
    report = lf.SolveReport(backend.array(x_true))
    lf.solve(backend.csr(A), backend.array(A @ x_true), report=report)
    assert report.history.errors[0] == 1.0 and report.history.errors[-1] < 1e-6
    assert report.history.status is lf.solvers.Status.CONVERGED


def test_times_can_be_compared(backend):
    A = SYSTEMS["elliptic"]()
    x, info, report = solved(backend, A, noise(A.shape[0]), tune=True)
    assert info == 0 and all(trial.work > 0 for trial in report.trials)


@pytest.mark.parametrize("n", [0, 1])
def test_smallest_systems(backend, n):
    A = sp.csr_array(4.0 * sp.eye_array(n))
    x, info, report = solved(backend, A, np.full(n, 2.0))
    assert info == 0 and np.allclose(x, 0.5) and "trials" in str(report) or n
    assert lf.auto(backend.csr(A)).kind == "jacobi"


def test_dense_arrays(backend):
    A = SYSTEMS["convection"]().toarray()
    b = noise(900)
    x, info = lf.solve(backend.array(A), backend.array(b))
    assert info == 0 and residual(A, b, backend.host(x)) <= 1.01e-8


def test_arguments_are_checked(backend):
    A, b = backend.csr(sp.csr_array(lf.matrices.poisson(5))), backend.array(np.ones(5))
    for words, error, options in (
        ("report", TypeError, {"report": 3}),
        ("rtol", ValueError, {"rtol": -1}),
        ("maxiter", TypeError, {"maxiter": 1.5}),
        ("callback", TypeError, {"callback": 1}),
        ("seed", TypeError, {"seed": "a"}),
        ("x0", ValueError, {"x0": backend.array(np.ones(4))}),
    ):
        with pytest.raises(error, match=words):
            lf.solve(A, b, **options)
    with pytest.raises(ValueError, match="b must"):
        lf.solve(A, backend.array(np.ones(4)))
    with pytest.raises(ValueError, match="finite"):
        lf.solve(A, backend.array(np.full(5, np.nan)))
    with pytest.raises(ValueError, match="square"):
        lf.solve(backend.csr(sp.csr_array(np.ones((2, 3)))), b)


def test_the_matrix_is_not_modified(backend):
    A = sp.csr_array(SYSTEMS["forest"]())
    copies = [array.copy() for array in (A.data, A.indices, A.indptr)]
    given = backend.csr(A)
    lf.solve(given, backend.array(noise(1600)))
    for copy, array in zip(copies, (given.data, given.indices, given.indptr)):
        assert np.array_equal(copy, backend.host(array))


class TestAuto:
    def test_it_solves_with_the_named_method(self, backend):
        A = SYSTEMS["elliptic"]()
        M = lf.auto(backend.csr(A))
        assert M.kind == "multilevel" and "lf.solvers.cg" in M.choice and "chosen" in str(M)
        b = noise(A.shape[0])
        history = lf.solvers.History()
        x, info = lf.solvers.cg(backend.csr(A), backend.array(b), rtol=1e-8, M=M, history=history)
        assert info == 0 and len(history) < 40

    def test_an_easy_matrix_gets_the_diagonal(self, backend):
        assert lf.auto(backend.csr(SYSTEMS[EASY]())).kind == "jacobi"

    def test_a_singular_matrix(self, backend):
        W = abs(lf.matrices.poisson((20, 20)))
        W.setdiag(0)
        assert lf.auto(backend.csr(sp.csr_array(sp.diags_array(W.sum(axis=1)) - W))).choice

    def test_it_is_pickled_without_its_choice(self, backend):
        M = lf.auto(backend.csr(SYSTEMS[EASY]()))
        assert pickle.loads(pickle.dumps(M)).kind == "jacobi"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("name", SYSTEMS)
def test_other_types(backend, name, dtype):
    A = sp.csr_array(SYSTEMS[name]()).astype(dtype)
    b = noise(A.shape[0]).astype(dtype)
    b = b * np.array(1 + 1j, dtype) if b.dtype.kind == "c" else b
    rtol = 1e-4 if dtype in (np.float32, np.complex64) else 1e-8
    x, info, _ = solved(backend, A, b, rtol=rtol)
    assert info == 0 and x.dtype == dtype
    assert np.linalg.norm(b.astype(complex) - A.astype(complex) @ x) <= 1.1 * rtol * np.linalg.norm(b)


@pytest.mark.slow
def test_64_bit_indices_and_extreme_scales(backend):
    A = sp.csr_array(SYSTEMS["convection"]())
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    b = noise(900)
    for factor in (1e-250, 1e250):
        x, info, _ = solved(backend, sp.csr_array(A * factor), b * factor)
        assert info == 0 and residual(A, b, x) <= 1.01e-8
