"""`lf.solve`, `lf.Solver` and `lf.auto`: solutions, reports, and the arguments that all solvers share."""

import json
import os
import pickle
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.backends import backend_named
from linforest_precond.chooser import machine
from linforest_precond.chooser.factorization import Factorization
from linforest_precond.chooser.system import Choice, tolerance
from linforest_precond.precond.direct.direct_part import DirectPart
from linforest_precond.solvers import Status

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
    assert info == 0 and isinstance(info, int) and residual(A, b, x) <= 1.01e-8
    assert info.report is report and report.chosen in report.trials and report.chosen.outcome == "converged"
    assert report.seconds == pytest.approx(sum(trial.seconds for trial in report.trials))


def test_an_easy_system_pays_for_nothing(backend):
    A = sp.csr_array(lf.matrices.poisson((120, 120)) + 10 * sp.eye_array(14_400))
    _, _, report = solved(backend, A, noise(14_400))
    assert [trial.name for trial in report.trials] == ["jacobi"] and report.chosen.solver == "cg"


@pytest.mark.slow
def test_multigrid_for_a_large_grid(backend):
    A = lf.matrices.poisson((500, 500))
    _, _, report = solved(backend, A, noise(A.shape[0]))
    assert report.chosen.name == "multilevel" and "multilevel" in str(report)


def test_factors_for_what_iterations_do_not_solve(backend):
    """A saddle point matrix with random blocks."""
    rng = np.random.default_rng(0)
    B = sp.random_array((60, 200), density=0.05, rng=rng) + sp.eye_array(60, 200)
    A = sp.csr_array(sp.block_array([[sp.diags_array(10.0 ** rng.uniform(-6, 6, 200)), B.T], [B, None]]))
    b = noise(260)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and report.chosen.name == "direct"


@pytest.mark.parametrize("lower", [False, True])
def test_triangular_matrices_are_not_eliminated(backend, lower):
    """Of an acyclic graph, in a random order: factors have the entries of A alone, whatever its diagonal."""
    rng, n = np.random.default_rng(1), 3000
    A = sp.triu(sp.random_array((n, n), density=5 / n, rng=rng), 1) + sp.diags_array(
        10.0 ** rng.uniform(-3, 0, n)
    )
    order = rng.permutation(n)
    A = sp.csr_array((A.T if lower else A).tocsr()[order][:, order])
    x = rng.standard_normal(n)
    found, info, report = solved(backend, A, A @ x, method="direct")
    assert info == 0 and residual(A, A @ x, found) <= 1.01e-8
    assert [trial.name for trial in report.trials] == ["direct"]
    assert lf.Solver(A, method="direct").solve(A @ x)[1] == 0


def test_the_host_factors_its_own_matrices_without_a_reason():
    solver = lf.Solver(SYSTEMS["convection"](), method="direct")
    solver.solve(noise(900))
    assert "on the host" not in str(solver.M)


def test_the_choice_is_deterministic(backend):
    A = SYSTEMS["convection"]()
    b = noise(A.shape[0])
    (x, _, first), (y, _, second) = (solved(backend, A, b, seed=3) for _ in range(2))
    assert np.array_equal(x, y) and first.events == second.events
    assert [t.iterations for t in first.trials] == [t.iterations for t in second.trials]


def test_an_indefinite_matrix_is_found_out(backend):
    A = sp.csr_array(lf.matrices.poisson((12, 12)) - 0.3 * sp.eye_array(144))
    b = noise(144)
    x, info, report = solved(backend, A, b, method="jacobi")
    assert info == 0 and residual(A, b, x) <= 1.01e-8
    assert report.chosen.solver == "minres"


def test_rows_are_matched_where_the_diagonal_is_zero(backend):
    A = sp.csr_array(SYSTEMS["convection"]())[np.random.default_rng(4).permutation(900)]
    b = noise(900)
    x, info, report = solved(backend, A, b)
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and report.facts.needs_matching


def without_full_rank():
    """The last two rows have entries in one and the same column only."""
    A = 4 * np.eye(11)
    A[8:, 8:] = [[1.0, 2.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    return sp.csr_array(A)


def stokes(cells):
    """Stokes' equations on a staggered grid, without slip; constants of the pressure are mapped to 0."""
    inner, one, all_ = sp.eye_array(cells - 1), sp.eye_array(cells), cells * np.ones(cells)
    difference = sp.diags_array([-all_[1:], all_[1:]], offsets=[0, 1], shape=(cells - 1, cells))
    along, across = difference @ difference.T, difference.T @ difference
    u, v = sp.kron(along, one) + sp.kron(inner, across), sp.kron(one, along) + sp.kron(across, inner)
    x, y = sp.kron(difference, one), sp.kron(one, difference)
    return sp.csr_array(sp.block_array([[u, None, x], [None, v, y], [x.T, y.T, None]]))


class TestSingular:
    def test_a_b_in_the_range_of_a_structurally_singular_matrix(self, backend):
        A = without_full_rank()
        b = A @ noise(11)
        x, info, report = solved(backend, A, b)
        assert info == 0 and residual(A, b, x) <= 1.01e-8 and report.facts.structural_rank == 10

    def test_another_b_is_refused_with_the_rank(self, backend):
        with pytest.warns(
            RuntimeWarning, match="structurally singular: its rank is at most 10 of 11; .* row"
        ) as seen:
            x, info, report = solved(backend, without_full_rank(), noise(11))
        assert info == Status.SINGULAR and len(str(seen[0].message)) <= 300 and np.isfinite(x).all()
        # Factors are the proof: few iterations follow them. On a GPU, other runs may come first.
        names = [trial.name for trial in report.trials]
        after = report.trials[names.index("direct") if "direct" in names else 0 :]
        assert sum(trial.iterations for trial in after) <= 300

    @pytest.fixture
    def neumann(self):
        W = abs(lf.matrices.poisson((12, 12)))
        W.setdiag(0)
        return sp.csr_array(sp.diags_array(W.sum(axis=1)) - W)

    def test_a_b_in_the_range_of_a_laplacian(self, backend, neumann):
        b = neumann @ noise(144)
        x, info, report = solved(backend, neumann, b)
        assert info == 0 and residual(neumann, b, x) <= 1.01e-8 and report.facts.centered

    def test_another_b_is_refused_at_once_with_the_cure(self, backend, neumann):
        with pytest.warns(RuntimeWarning, match='constants to 0.*nullspace="constant"') as seen:
            x, info, report = solved(backend, neumann, noise(144))
        assert info == Status.SINGULAR and not report.trials and not x.any()
        assert len(str(seen[0].message)) <= 300

    def test_the_cure(self, backend, neumann):
        b = noise(144)
        x, info, _ = solved(backend, neumann, b, nullspace="constant")
        assert info == 0 and residual(neumann, b - b.mean(), x) <= 1.01e-8

    def test_numerically_singular(self, backend):
        A = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
        with pytest.warns(RuntimeWarning, match="singular to working precision") as seen:
            x, info, report = solved(backend, A, np.array([1.0, 0.0, 0.0]))
        assert info == Status.SINGULAR and report.chosen is None and "not solved" in str(report)
        # The residual is at most that of x = 0, and cannot be below the distance of b from the range of A.
        assert np.sqrt(0.5) - 1e-12 <= np.linalg.norm(np.array([1.0, 0.0, 0.0]) - A @ x) <= 1 + 1e-12
        assert len(str(seen[0].message)) <= 300

    @pytest.fixture(
        params=["a row twice", "a sum of rows", "a part without a boundary", "scaled constants", "Stokes"]
    )
    def dependent(self, request, neumann):
        """A singular matrix, and the rows that cause it."""
        if request.param == "Stokes":  # the backward error of factors is 67 to 165 units of rounding
            return stokes(16), set(range(480, 736))
        A, random = sp.lil_array(lf.matrices.poisson((12, 12))), np.random.default_rng(1)
        if request.param == "a row twice":
            A[[7]] = A[[90]]
            return sp.csr_array(A), {7, 90}
        if request.param == "a sum of rows":
            A[[7]] = A[[90]] + A[[20]]
            return sp.csr_array(A), {7, 90, 20}
        if request.param == "a part without a boundary":
            return sp.csr_array(sp.block_diag([A + sp.eye_array(144, k=1), neumann])), set(range(144, 288))
        D = sp.diags_array(np.exp(random.standard_normal(144)))
        return sp.csr_array(D @ neumann @ D), set(range(144))

    def test_dependent_rows_are_named(self, backend, dependent):
        A, rows = dependent
        b = noise(A.shape[0])
        with pytest.warns(RuntimeWarning, match="singular to working precision, and no x") as seen:
            x, info, report = solved(backend, A, b)
        told = str(seen[0].message)
        named = set(map(int, re.search(r"of it rows ([\d, ]+), is 0", told).group(1).split(", ")))
        assert info == Status.SINGULAR and len(told) <= 300
        assert named <= rows and (len(rows) > 5 or named == rows)
        least = float(re.search(r"is at least ([\de.-]+)\. ", told).group(1))
        # Distances from the range of A are at least the gap, and x = 0 is as good as nothing.
        assert least <= 1.05 * residual(A, b, np.linalg.lstsq(A.toarray(), b, rcond=None)[0])
        assert least <= 1.05 * residual(A, b, x) and residual(A, b, x) <= 1 + 1e-12
        # Factors are the proof: few iterations follow them. On a GPU, other runs may come first.
        names = [trial.name for trial in report.trials]
        after = report.trials[names.index("direct") if "direct" in names else 0 :]
        assert sum(trial.iterations for trial in after) <= 300

    @pytest.fixture(params=[False, True], ids=["columns do not sum to 0", "columns sum to 0"])
    def convection(self, request):
        """Upwind convection and diffusion between insulated walls; periodic in the second case."""
        n = 15
        step = sp.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, -1]).tolil()
        step[0, n - 1 if request.param else 0] = -1.0 if request.param else 0.0
        difference = sp.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
        line, one = difference.T @ difference + 0.7 * step, sp.eye_array(n)
        return sp.csr_array(sp.kron(line, one) + sp.kron(one, line)), request.param

    def test_constants_of_a_nonsymmetric_matrix(self, backend, convection):
        A, is_periodic = convection
        b, x = noise(225), noise(225, seed=1)
        with pytest.warns(RuntimeWarning, match="maps constants to 0") as seen:
            _, info, _ = solved(backend, A, b)
        told = str(seen[0].message)
        assert info == Status.SINGULAR and len(told) <= 300
        assert ('Pass nullspace="constant"' in told) == is_periodic
        assert ('"constant" does not' in told) != is_periodic
        y, info, _ = solved(backend, A, A @ x)
        assert info == 0 and residual(A, A @ x, y) <= 1.01e-8
        if is_periodic:  # the cure
            y, info, _ = solved(backend, A, b, nullspace="constant")
            assert info == 0 and residual(A, b - b.mean(), y) <= 1.01e-8

    def test_a_b_in_the_range_of_dependent_rows(self, backend, dependent):
        A, _ = dependent
        b = A @ noise(A.shape[0])
        x, info, _ = solved(backend, A, b)
        assert info == 0 and residual(A, b, x) <= 1.01e-8

    def test_the_warning_has_the_residual_of_x(self, backend):
        A = SYSTEMS[EASY]()
        with pytest.warns(RuntimeWarning, match="maxiter=2 iterations") as seen:
            x, _, _ = solved(backend, A, noise(A.shape[0]), method="jacobi", maxiter=2)
        told = float(re.search(r"residual is ([\d.e+-]+)\. ", str(seen[0].message)).group(1))
        assert told == pytest.approx(residual(A, noise(A.shape[0]), x), rel=0.06)


@pytest.mark.parametrize("shape", [(40, 40), (25, 25, 25)])
def test_nothing_meets_a_tolerance_of_zero(backend, shape):
    A = lf.matrices.poisson(shape)
    b = noise(A.shape[0])
    with pytest.warns(RuntimeWarning, match="^The tolerance is below what float64 can verify .* Raise rtol"):
        x, info, report = solved(backend, A, b, rtol=0)
    assert info == Status.UNATTAINABLE and residual(A, b, x) <= 2e-15
    assert sum(trial.iterations for trial in report.trials) <= 300


def test_a_failed_run_is_not_at_rounding_because_nothing_meets_the_tolerance(backend):
    """One iteration with Jacobi reaches no digit; the next candidates follow."""
    A = sp.csr_array(lf.matrices.aniso(2, 30))
    with pytest.warns(RuntimeWarning) as seen:
        _, info, report = solved(backend, A, noise(900), rtol=0, method="jacobi", maxiter=1)
    assert info > 0 and "maxiter=1" in str(seen[0].message)
    assert report.trials[0].last > 0.01 and report.trials[0].first == pytest.approx(1)


def test_rounding_errors_end_all_trials(backend):
    A = SYSTEMS[EASY]()
    with pytest.warns(RuntimeWarning, match="^The tolerance is below what float64 can verify .* Raise rtol"):
        x, info, report = solved(backend, A, noise(900), rtol=1e-18)
    assert info == Status.UNATTAINABLE and residual(A, noise(900), x) < 1e-14


def test_an_upper_bidiagonal_matrix_with_a_small_diagonal(backend):
    """Residuals grow by a thousand a row: no history ends the choice with an exception."""
    n = 30
    A = backend.csr(sp.diags_array([np.full(n, 1e-3), np.ones(n - 1)], offsets=[0, 1]).tocsr())
    with pytest.warns(RuntimeWarning):
        x, info = lf.solve(A, backend.array(np.ones(n)))
    assert info < 0 and np.isfinite(backend.host(x)).all()
    assert lf.auto(A).shape == (n, n)


def test_several_right_hand_sides(backend):
    A = SYSTEMS["forest"]()
    b = noise(1600, 3)
    b[:, 1] = 0
    x, info, _ = solved(backend, A, b)
    assert info.tolist() == [0, 0, 0] and info.dtype == np.int64 and not x[:, 1].any()
    assert info.report.chosen is not None
    assert residual(A, b[:, ::2], x[:, ::2]).max() <= 1.01e-8


def test_x0_and_tolerances(backend):
    A = SYSTEMS["convection"]()
    x_true = noise(900)
    x, info, report = solved(backend, A, A @ x_true, x0=backend.array(x_true))
    assert info == 0 and not report.trials and np.array_equal(x, x_true)
    b = noise(900)
    x, _, _ = solved(backend, A, b, rtol=0.0, atol=1e-3, method="jacobi")
    assert 1e-7 < np.linalg.norm(b - A @ x) <= 1.01e-3


def test_maxiter_limits_every_trial(backend):
    A = SYSTEMS["forest"]()
    with pytest.warns(RuntimeWarning, match="maxiter=1 iterations did not suffice"):
        _, info, report = solved(backend, A, noise(1600), maxiter=1, method="jacobi")
    assert info == sum(trial.iterations for trial in report.trials) > 0
    assert all(trial.iterations <= 1 for trial in report.trials)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "options", [{}, {"method": "jacobi", "maxiter": 5}, {"method": "jacobi", "rtol": 1e-14}], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_callbacks_see_all_iterations(backend, columns, dtype, options):
    """Those of restarted columns, too, which single precision has."""
    A, b = SYSTEMS["convection"]().astype(dtype), noise(900, *columns).astype(dtype)
    seen = []
    _, info, report = solved(backend, A, b, callback=lambda x: seen.append(x.shape), **options)
    made = sum(trial.iterations for trial in report.trials)
    assert set(seen) == {b.shape} and len(seen) == made
    assert np.max(info) in (0, made) or np.max(info) < 0


def test_errors_are_recorded_where_the_solution_is_known(backend):
    A = SYSTEMS[EASY]()
    x_true = noise(900)
    report = lf.SolveReport(backend.array(x_true))
    lf.solve(backend.csr(A), backend.array(A @ x_true), report=report, method="jacobi")
    assert report.history.errors[0] == 1.0 and report.history.errors[-1] < 1e-6
    assert report.history.status is lf.solvers.Status.CONVERGED


@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize("known", [False, True])
def test_the_history_has_all_runs(backend, columns, known):
    A = lf.matrices.aniso(1, 40) - 0.3 * sp.eye_array(1600)
    x_t = np.random.default_rng(1).standard_normal((1600,) if columns is None else (1600, columns))
    history = lf.solvers.History(backend.array(x_t) if known else None)
    _, info = lf.solve(backend.csr(sp.csr_array(A)), backend.array(A @ x_t), rtol=1e-6, history=history)
    trials = info.report.trials
    assert len(history) == sum(len(trial.history) for trial in trials)
    assert np.ceil(history.iterations.max()) == sum(trial.iterations for trial in trials)
    np.testing.assert_array_equal(history.residuals[-1], info.report.chosen.history.residuals[-1])
    np.testing.assert_array_equal(history.info, info)
    assert history.solver == info.report.chosen.history.solver
    assert (history.errors is not None) == known
    assert not known or history.errors.shape == history.residuals.shape


def test_the_history_of_a_solve_without_runs(backend):
    A = backend.csr(lf.matrices.poisson((5, 5)))
    history = lf.solvers.History()
    x, _ = lf.solve(A, backend.array(np.ones(25)), rtol=1e-6, history=history)
    lf.solve(A, backend.array(np.ones(25)), x, rtol=1e-6, history=history)
    assert history.status is lf.solvers.Status.CONVERGED and len(history) == 0 and "records" in str(history)


def test_factors_without_interchanges_that_fail_are_made_again(backend):
    """Hermitian, with a positive diagonal that is no pivot: A is not definite."""
    block = np.array([[1e-20, 1.0], [1.0, 1e-20]])
    blocks = sp.block_diag([sp.csr_array(block)] * 20)
    A = sp.csr_array(blocks + 0.01 * lf.matrices.poisson(40) - 0.02 * sp.eye_array(40))
    A.setdiag(1e-20)
    b = noise(40)
    x, info, report = solved(backend, sp.csr_array(A), b, method="direct")
    assert info == 0 and residual(A, b, x) <= 1.01e-8 and [t.name for t in report.trials] == ["direct"] * 2


def test_info_can_be_sent_to_another_process(backend):
    _, info, _ = solved(backend, SYSTEMS[EASY](), noise(900))
    copy = pickle.loads(pickle.dumps(info))
    assert copy == 0 and type(copy) is int
    _, infos, _ = solved(backend, SYSTEMS[EASY](), noise(900, 2))
    assert pickle.loads(pickle.dumps(infos)).tolist() == [0, 0] and infos[:1].report is None


def test_a_time_limit_ends_the_search_for_factors():
    """The order would take longer than what is left: it is not asked for again and again."""
    A = lf.matrices.poisson((40, 40, 40))
    began = time.perf_counter()
    with pytest.warns(RuntimeWarning):
        _, info = lf.solve(A, noise(64000), method="direct", time_limit=0.02)
    assert info != 0 and time.perf_counter() - began < 20


class TestMachine:
    def test_it_is_measured_once_and_kept(self, monkeypatch, tmp_path):
        monkeypatch.delenv("LINFOREST_CALIBRATION", raising=False)
        monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path / "matrices"))
        machine._kept.cache_clear()
        cpu = backend_named("cpu")
        measured = cpu.runtime.calibration.measured
        monkeypatch.setattr(cpu.runtime.calibration, "measured", lambda: (measured()[0], False))
        machine.Machine.of(cpu)
        assert not list(tmp_path.iterdir())  # numbers of a busy machine
        machine._kept.cache_clear()
        monkeypatch.setattr(cpu.runtime.calibration, "measured", lambda: (measured()[0], True))
        found = machine.Machine.of(cpu)
        assert found.bandwidth > 1e8 and 1e-8 < found.call < 1e-3 and found.flops > 1e6
        kept = json.loads((tmp_path / "matrices" / "calibration.json").read_text())
        machine._kept.cache_clear()
        monkeypatch.setattr(cpu.runtime.calibration, "measured", None)
        assert machine.Machine.of(cpu) == found and len(kept) == 1
        machine._kept.cache_clear()

    @pytest.mark.skipif(os.name != "posix", reason="no pipes in the file system")
    def test_a_pipe_is_not_read(self, monkeypatch, tmp_path):
        monkeypatch.delenv("LINFOREST_CALIBRATION", raising=False)
        monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path))
        os.mkfifo(tmp_path / "calibration.json")
        default = backend_named("cpu").runtime.calibration.DEFAULTS
        monkeypatch.setattr(backend_named("cpu").runtime.calibration, "measured", lambda: (default, True))
        machine._kept.cache_clear()
        assert astuple(machine.Machine.of(backend_named("cpu"))) == default
        machine._kept.cache_clear()
        assert (tmp_path / "calibration.json").is_fifo()

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"cpu": 3}', "zeros"])
    def test_a_damaged_file_is_replaced(self, monkeypatch, tmp_path, text):
        monkeypatch.delenv("LINFOREST_CALIBRATION", raising=False)
        monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path / "matrices"))
        default = backend_named("cpu").runtime.calibration.DEFAULTS
        monkeypatch.setattr(backend_named("cpu").runtime.calibration, "measured", lambda: (default, True))
        (tmp_path / "matrices").mkdir()
        if text == "zeros":
            name = f"cpu: {machine._machine_name(backend_named('cpu'))}"
            text = json.dumps({name: {"bandwidth": 0.0, "call": -1.0, "flops": float("nan")}})
        (tmp_path / "matrices" / "calibration.json").write_text(text)
        machine._kept.cache_clear()
        assert astuple(machine.Machine.of(backend_named("cpu"))) == default
        assert "bandwidth" in (tmp_path / "matrices" / "calibration.json").read_text()
        machine._kept.cache_clear()


class TestSolver:
    def test_the_choice_is_kept_for_other_right_hand_sides(self, backend):
        A = SYSTEMS["convection"]()
        solver = lf.Solver(backend.csr(A))
        assert solver.M is None and solver.method == "auto"
        first = solver.solve(backend.array(noise(900)))[1]
        M = solver.M
        b = noise(900, seed=1)
        x, info = solver.solve(backend.array(b))
        assert first == info == 0 and residual(A, b, backend.host(x)) <= 1.01e-8
        assert solver.M is M and info.report.trials[0].setup == 0.0 and solver.method in str(solver)
        again = backend.host(solver @ backend.array(b))
        if solver.M is M:  # on a GPU factors take over soon
            assert np.array_equal(again, backend.host(x))
        assert residual(A, b, again) <= 1.01e-8
        b = noise(900, 2)
        x, info = solver.solve(backend.array(b))
        assert not info.any() and residual(A, b, backend.host(x)).max() <= 1.01e-8

    def test_factors_for_the_next_side_when_iterations_have_taken_as_long(self):
        A = lf.matrices.poisson((120, 120))
        solver, methods = lf.Solver(A, calibration="default"), []
        for seed in range(5):
            solver.solve(noise(14_400, seed=seed))
            methods.append(solver.method)
        assert methods == 3 * ["multilevel with cg"] + 2 * ["direct"]
        solver = lf.Solver(A, calibration="default", method="multilevel")
        for seed in range(5):
            solver.solve(noise(14_400, seed=seed))
        assert solver.method == "multilevel with cg"

    def test_options_are_not_assigned_later(self):
        with pytest.raises(AttributeError, match="rtol"):
            lf.Solver(SYSTEMS[EASY]()).rtol = 1e-4

    def test_threads_factor_once(self, monkeypatch):
        made = []
        monkeypatch.setattr(
            Factorization, "made", lambda self, own=Factorization.made: made.append(1) or own(self)
        )
        solver = lf.Solver(lf.matrices.poisson((120, 120)), calibration="default")
        for seed in range(3):
            solver.solve(noise(14_400, seed=seed))
        assert not made
        with ThreadPoolExecutor(4) as pool:
            infos = list(pool.map(lambda seed: solver.solve(noise(14_400, seed=seed))[1], range(4)))
        assert made == [1] and not any(infos)

    @pytest.mark.parametrize("method", ["direct", "ilu", "multilevel", "jacobi"])
    def test_updates(self, backend, method):
        A = SYSTEMS["convection"]()
        solver = lf.Solver(backend.csr(A), method=method)
        b = noise(900)
        solver.solve(backend.array(b))
        for scale in (1.01, 50.0):
            B = A.copy()
            B.data *= scale ** np.random.default_rng(3).random(B.nnz)
            B = sp.csr_array(B + sp.diags_array(abs(B).sum(axis=1)))
            B.sort_indices()
            solver.update(backend.csr(B))
            x, info = solver.solve(backend.array(b))
            assert info == 0 and residual(B, b, backend.host(x)) <= 1.01e-8

    def test_factors_of_the_old_values_precondition_the_new_ones(self, backend):
        A = SYSTEMS["convection"]()
        solver = lf.Solver(backend.csr(A), method="direct")
        solver.solve(backend.array(noise(900)))
        M = solver.M
        solver.update(backend.csr(sp.csr_array(A * 1.001)))
        _, info = solver.solve(backend.array(noise(900)))
        assert info == 0 and solver.M is M

    @pytest.mark.parametrize("name", ["convection", "bad diagonal"])
    def test_updated_factors_keep_their_analysis(self, backend, monkeypatch, name):
        """Values that the old factors do not precondition: these are updated, and only then made anew."""
        A = SYSTEMS["convection"]()
        solver = lf.Solver(backend.csr(A), method="direct")
        b, B = noise(900), A.copy()
        solver.solve(backend.array(b))
        analyzed = []
        monkeypatch.setattr(
            DirectPart,
            "of",
            lambda *given, of=DirectPart.of, **more: analyzed.append(1) or of(*given, **more),
        )
        B.data = np.random.default_rng(3).standard_normal(B.nnz)
        if name == "bad diagonal":
            B.setdiag(1e-13)
        x, info = solver.update(backend.csr(B)).solve(backend.array(b))
        assert info == 0 and residual(B, b, backend.host(x)) <= 1.01e-8
        assert solver.method == "direct" and (not analyzed or name == "bad diagonal")

    def test_an_update_with_another_pattern_chooses_again(self, backend):
        solver = lf.Solver(backend.csr(SYSTEMS["convection"]()))
        solver.solve(backend.array(noise(900)))
        solver.update(backend.csr(SYSTEMS["forest"]()))
        assert solver.M is None and solver.solve(backend.array(noise(1600)))[1] == 0

    def test_a_choice_that_new_values_would_not_lead_to(self, backend):
        """A permuted matrix needs matched rows; with the same pattern and a heavy diagonal it does not."""
        A, b = SYSTEMS["convection"](), noise(900)
        weak = sp.csr_array(A - sp.diags_array(A.diagonal() * (1 - 1e-12)))
        solver = lf.Solver(backend.csr(weak))
        matched = next(each for each in solver._system.candidates("auto") if "matching" in each.name)
        M = lf.ilu(backend.csr(weak), scaling="matching")
        solver._system = solver._system.chosen(Choice(matched, M, "bicgstab", 9))
        solver.update(backend.csr(A))
        assert matched.name not in [each.name for each in solver._system.candidates("auto")]
        x, info = solver.solve(backend.array(b))
        assert info == 0 and residual(A, b, backend.host(x)) <= 1.01e-8

    def test_pickled(self, backend):
        A = SYSTEMS["convection"]()
        solver = lf.Solver(backend.csr(A), rtol=1e-6)
        b = backend.array(noise(900))
        x = solver @ b
        other = pickle.loads(pickle.dumps(solver))
        assert other.method == solver.method
        np.testing.assert_allclose(backend.host(other @ b), backend.host(x), rtol=1e-9)

    def test_a_file_takes_its_preconditioner(self, tmp_path):
        A = SYSTEMS["convection"]()
        solver = lf.Solver(A)
        with pytest.raises(ValueError, match="has not solved"):
            lf.save_preconditioner(solver, tmp_path / "M.npz")
        solver.solve(noise(900))
        lf.save_preconditioner(solver, tmp_path / "M.npz")
        M = lf.load_preconditioner(tmp_path / "M.npz")
        assert np.array_equal(M @ noise(900), solver.M @ noise(900))

    def test_threads_share_it(self):
        A = SYSTEMS["convection"]()
        solver, found = lf.Solver(A), {}

        def work(seed):
            found[seed] = solver.solve(noise(900, seed=seed))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(residual(A, noise(900, seed=s), found[s][0]) <= 1.01e-8 for s in range(6))

    def test_a_solve_meets_one_matrix_while_others_update(self):
        """Each answer solves the system of one of the matrices, whatever thread came between."""
        A = SYSTEMS["convection"]()
        matrices = [sp.csr_array(A * scale) for scale in (1.0, 2.0, 4.0)]
        solver, b, found = lf.Solver(A), noise(900), []

        def solve():
            found.extend(solver.solve(b) for _ in range(20))

        def update():
            for k in range(60):
                solver.update(matrices[k % 3])

        threads = [threading.Thread(target=work) for work in (solve, update, solve)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for x, info in found:
            assert info == 0 and min(residual(B, b, x) for B in matrices) <= 1.01e-8

    def test_a_time_limit_ends_with_the_best_x(self):
        A = lf.matrices.poisson((60, 60))
        b = noise(3600)

        def slow(x):
            time.sleep(0.01)

        with pytest.warns(RuntimeWarning, match="time_limit has passed"):
            x, info = lf.solve(A, b, method="jacobi", rtol=1e-12, time_limit=0.3, callback=slow)
        assert info == Status.TIME_LIMIT and 0 < residual(A, b, x) < 1

    def test_a_time_limit_counts_measured_seconds(self):
        """The callback makes iterations 100 times as long as they are predicted to be."""
        A = lf.matrices.poisson((60, 60))
        solver = lf.Solver(A, method="jacobi", time_limit=0.5)
        b = noise(3600)
        solver.solve(b)
        began = time.perf_counter()
        with pytest.warns(RuntimeWarning, match="time_limit has passed"):
            solver.solve(b, callback=lambda x: time.sleep(0.01))
        assert time.perf_counter() - began < 1.0

    @pytest.mark.parametrize("verbose", [True, 1])
    def test_verbose_leaves_a_line_for_each_run(self, capsys, verbose):
        lf.solve(SYSTEMS[EASY](), noise(900), verbose=verbose)
        assert "converged after" in capsys.readouterr().err

    def test_verbose_tells_of_a_factorization_before_it_begins(self, capsys):
        lf.solve(SYSTEMS["convection"](), noise(900), method="direct", verbose=True)
        told = capsys.readouterr().err
        assert 0 <= told.index("direct: a factorization of about") < told.index("converged after")

    def test_arguments_are_checked(self):
        A = SYSTEMS[EASY]()
        for words, options in (
            ("method", {"method": "magic"}),
            ("time_limit", {"time_limit": -1}),
            ("time_limit", {"time_limit": True}),
            ("calibration", {"calibration": "guessed"}),
        ):
            with pytest.raises(ValueError, match=words):
                lf.solve(A, noise(900), **options)


@pytest.mark.parametrize("n", [0, 1])
def test_smallest_systems(backend, n):
    A = sp.csr_array(4.0 * sp.eye_array(n))
    x, info, report = solved(backend, A, np.full(n, 2.0))
    assert info == 0 and np.allclose(x, 0.5) and "trials" in str(report) or n
    assert lf.auto(backend.csr(A)).kind in ("jacobi", "direct")


def test_dense_arrays(backend):
    A = SYSTEMS["convection"]().toarray()
    b = noise(900)
    x, info = lf.solve(backend.array(A), backend.array(b))
    assert info == 0 and residual(A, b, backend.host(x)) <= 1.01e-8


def test_arguments_are_checked(backend):
    A, b = backend.csr(sp.csr_array(lf.matrices.poisson(5))), backend.array(np.ones(5))
    for words, error, options in (
        ("report", TypeError, {"report": 3}),
        ("history", TypeError, {"history": []}),
        ("verbose", TypeError, {"verbose": "yes"}),
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
        assert "tried" in M.choice and "chosen" in str(M)
        b = noise(A.shape[0])
        history = lf.solvers.History()
        x, info = lf.solvers.cg(backend.csr(A), backend.array(b), rtol=1e-8, M=M, history=history)
        assert info == 0 and len(history) < 120

    def test_an_easy_matrix_gets_the_diagonal(self, backend):
        assert lf.auto(backend.csr(SYSTEMS[EASY]())).kind == "jacobi"

    def test_a_singular_matrix(self, backend):
        W = abs(lf.matrices.poisson((20, 20)))
        W.setdiag(0)
        assert lf.auto(backend.csr(sp.csr_array(sp.diags_array(W.sum(axis=1)) - W))).choice

    def test_a_singular_matrix_that_its_library_cannot_multiply(self):
        A = sp.dia_array((np.ones((1, 30)), [1]), shape=(30, 30))
        A.offsets = A.offsets.astype(np.uint64)
        with pytest.raises(ValueError, match="unsupported"):
            A @ np.ones(30)
        assert lf.auto(A).choice

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


def test_the_tolerance_is_of_the_type():
    assert tolerance(None, np.float64, np.complex64) == tolerance(None, np.int64, np.float64) == 1e-8
    assert tolerance(None, np.float32, np.complex64) == 1e-5 and tolerance(0, np.float32) == 0


@pytest.mark.slow
def test_single_precision_is_solved_by_default(backend):
    A = backend.csr(lf.matrices.poisson((10, 10), dtype=np.float32))
    b = backend.xp.ones(100, np.float32)
    x, info = lf.solve(A, b)
    assert info == 0 and x.dtype == np.float32 and float(abs(b - A @ x).max()) < 1e-4


@pytest.mark.slow
def test_64_bit_indices_and_extreme_scales(backend):
    A = sp.csr_array(SYSTEMS["convection"]())
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    b = noise(900)
    for factor in (1e-250, 1e250):
        x, info, _ = solved(backend, sp.csr_array(A * factor), b * factor)
        assert info == 0 and residual(A, b, x) <= 1.01e-8
