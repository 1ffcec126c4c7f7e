"""What a user sees of a solve: live lines, Ctrl-C, singular systems, and errors that name the fix."""

import inspect
import io
import logging
import pickle
import sys
from operator import attrgetter

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.sparse.linalg import aslinearoperator, splu
from solver_cases import each_solver, grid

import linforest_precond as lf
from linforest_precond import solvers
from linforest_precond.solvers import History, Interrupted, Status, live_line
from linforest_precond.solvers.live_line import LiveLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Live lines show every report."""
    monkeypatch.setattr(live_line, "TERMINAL_INTERVAL", 0.0)
    monkeypatch.setattr(live_line, "LINE_INTERVAL", 0.0)


class WithMatvec:
    """What SciPy's aslinearoperator takes, without the operator @."""

    shape = 25, 25

    def matvec(self, x):
        return x


def neumann(side):
    """The Laplacian with Neumann conditions on a square: A 1 = 0."""
    ones = np.ones(side)
    T = sp.diags_array([-ones[1:], 2 * ones, -ones[1:]], offsets=[-1, 0, 1]).tolil()
    T[0, 0] = T[-1, -1] = 1
    eye = sp.eye_array(side)
    return sp.csr_array(sp.kron(T, eye) + sp.kron(eye, T))


def solve(solver, A, b, **options):
    return getattr(solvers, solver)(A, b, **options)


@each_solver
def test_verbose_shows_iteration_residual_rate_and_end(solver, backend, impatient, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")  # longer lines are cut
    A = backend.csr(grid(solver))
    solve(solver, A, backend.xp.ones(400), rtol=1e-8, verbose=True)
    states = terminal.getvalue().split("\r")
    rated = [state for state in states if "per iteration" in state]
    assert len(rated) > (5 if backend.name == "cpu" else 0) and all(
        state.startswith(f"{solver}: iteration ") for state in rated
    )
    assert all("left" in state and "residual" in state for state in rated)
    assert states[-1].startswith(f"{solver}: converged after ") and states[-1].endswith("\n")


def test_a_short_solve_is_silent_unless_verbose(capsys):
    solvers.cg(lf.matrices.poisson((5, 5)), np.ones(25))
    assert capsys.readouterr().err == ""
    solvers.cg(lf.matrices.poisson((5, 5)), np.ones(25), verbose=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("cg: converged after ")
    solvers.cg(lf.matrices.poisson((5, 5)), np.ones(25), verbose=1)
    assert capsys.readouterr().err.startswith("cg: converged after ")


def test_logging_at_info_gets_the_same_lines(impatient, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="linforest_precond.solvers"):
        solvers.cg(lf.matrices.poisson((9, 9)), np.ones(81))
    texts = [record.getMessage() for record in caplog.records]
    assert "iteration 2, residual" in "".join(texts) and texts[-1].startswith("cg: converged after ")
    assert capsys.readouterr().err == ""


def test_the_estimated_end_of_linear_convergence_is_exact(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(live_line.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(live_line, "LINE_INTERVAL", 0.0)
    line = LiveLine("cg", np.ones(1), np.array([1e-8]), 10**6, verbose=False)
    for k in range(1, 41):  # a digit in ten iterations, one iteration per second
        line.see(report_of(k, 10 ** (-k / 10)))
    assert line.text() == "cg: iteration 40, residual 1.0e-04, 0.794 per iteration, about 40 s left"
    for k in range(41, 100):
        line.see(report_of(k, 1.0))
    assert "at most" in line.text()


def report_of(iteration, norm):
    norms = np.array([[norm]])
    return live_line.Report(np.ones(1), np.array([iteration]), np.ones(1), np.ones(1), norms, None)


def test_verbose_must_be_a_bool():
    with pytest.raises(TypeError, match="verbose must be True or False, got 'yes'"):
        solvers.cg(lf.matrices.poisson((3, 3)), np.ones(9), verbose="yes")


@each_solver
def test_ctrl_c_keeps_the_iterate(solver, backend):
    A, b = grid(solver), np.ones(400)
    calls = []

    def stop(x):
        calls.append(x)
        if len(calls) == 12:
            raise KeyboardInterrupt

    history = History()
    with pytest.raises(Interrupted) as stopped:
        solve(solver, backend.csr(A), backend.xp.asarray(b), rtol=1e-12, callback=stop, history=history)
    x = backend.host(stopped.value.x)
    residual = np.linalg.norm(b - A @ x) / 20
    assert x.shape == (400,) and history.interrupted and "interrupted" in str(history)
    assert len(history) > 10 and history.true_residuals[-1][2] == pytest.approx(residual, rel=1e-6)
    assert residual <= 2 * history.residuals[-1] * (1 + 1e-6) and isinstance(stopped.value, KeyboardInterrupt)


@each_solver
def test_constants_are_projected_out(solver, backend):
    A = neumann(20)
    b = np.random.default_rng(0).standard_normal(400) + 1
    for M in (None, lf.jacobi(backend.csr(A))):
        x, info = solve(
            solver, backend.csr(A), backend.xp.asarray(b), M=M, rtol=1e-9, maxiter=4000, nullspace="constant"
        )
        x = backend.host(x)
        assert info == 0 and abs(x.mean()) < 1e-12 * abs(x).max()
        expected = np.linalg.lstsq(A.toarray(), b, rcond=1e-10)[0]
        assert np.allclose(x, expected, atol=1e-6 * abs(expected).max())


def test_several_components_are_projected_out():
    A = sp.csr_array(sp.block_diag([neumann(8), neumann(8)]))
    basis = np.kron(np.eye(2), np.ones((64, 1))) @ np.array([[1.0, 1.0], [0.0, 3.0]])
    b = np.random.default_rng(1).standard_normal((128, 2)) + [[1, 2]]
    x, info = solvers.cg(A, b, rtol=1e-10, nullspace=basis)
    assert not info.any() and abs(basis.T @ x).max() < 1e-10
    part = b.reshape(2, 64, 2)
    assert np.allclose(A @ x, (part - part.mean(axis=1, keepdims=True)).reshape(128, 2), atol=1e-8)


def test_a_right_hand_side_in_the_null_space_has_the_solution_zero():
    x, info = solvers.cg(neumann(10), np.full(100, 0.1), nullspace="constant")
    assert info == 0 and not x.any()


# GMRES makes all iterations: its residuals never grow.
@pytest.mark.parametrize("solver", ["cg", "fcg", "bicgstab"])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_singular_is_not_indefinite(solver, shift, backend):
    A, b = backend.csr(neumann(20)), np.ones(400)
    if shift:
        b = np.random.default_rng(0).standard_normal(400) + shift
    history = History()
    with pytest.warns(RuntimeWarning, match=r'singular.*: b must lie in the range.*nullspace="constant"'):
        _, info = solve(solver, A, backend.xp.asarray(b), rtol=1e-9, maxiter=4000, history=history)
    assert info == Status.SINGULAR and history.status is Status.SINGULAR


def test_indefinite_is_not_singular():
    with pytest.warns(RuntimeWarning, match="not positive definite"):
        _, info = solvers.cg(sp.csr_array(sp.diags_array([1.0, -3.0])), np.ones(2))
    assert info == Status.INDEFINITE


def test_nullspace_is_checked():
    A, b = lf.matrices.poisson((5, 5)), np.ones(25)
    with pytest.raises(ValueError, match=r"nullspace must hold vectors that A maps to zero, got norm"):
        solvers.cg(A, b, nullspace="constant")
    with pytest.raises(ValueError, match="nullspace must be None, \"constant\" or an array, got 'constants'"):
        solvers.cg(A, b, nullspace="constants")
    with pytest.raises(ValueError, match=r"nullspace must have the shape \(25,\)"):
        solvers.cg(A, b, nullspace=np.ones(24))


def test_errors_name_the_fix(backend):
    A = backend.csr(lf.matrices.poisson((5, 5)))
    ones = backend.xp.ones
    ml = lf.multilevel(backend.csr(lf.matrices.poisson((3, 3))))
    with pytest.raises(ValueError, match=r"M must have A's shape \(25, 25\), got \(9, 9\)"):
        solvers.cg(A, ones(25), M=ml)
    with pytest.raises(TypeError, match=r"b must be a dense array, got a .*: pass b.toarray\(\)"):
        solvers.cg(A, backend.csr(sp.csr_matrix(np.ones((25, 1)))))
    with pytest.raises(ValueError, match=r"b must have the shape .* got \(1, 25\): pass b.T"):
        solvers.cg(A, ones((1, 25)))
    with pytest.raises(ValueError, match=r"M must be square, .*: pass scipy.sparse.diags_array\(M\) for"):
        solvers.cg(A, ones(25), M=ones(25))
    with pytest.raises(ValueError, match=r"b must have the shape .* got \(2, 24\)$"):
        solvers.cg(A, ones((2, 24)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A, b: solvers.cg(A, b, tol=1e-8), r"^cg\(\) has no argument 'tol': did you mean rtol\?$"),
        (
            lambda A, b: lf.solve(A, b, max_iter=9),
            r"^solve\(\) has no argument 'max_iter': did you mean maxiter",
        ),
        (
            lambda A, b: lf.tridiagonal(A, order="rcm"),
            r"^tridiagonal\(\) .*'order': did you mean ordering\?$",
        ),
        (
            lambda A, b: lf.ilu(A, permutation="colors"),
            r"^ilu\(\) has no argument 'permutation': did you mean ordering\?$",
        ),
        (lambda A, b: lf.Solver(A).solve(b, zzz=1), r"^solve\(\) has no argument 'zzz': it has b, x0, "),
        (lambda A, b: lf.Solver(A).solve(b, rtol=1), r"^solve\(\) .*'rtol': pass rtol= to Solver\(\)$"),
        (lambda A, b: lf.Solver(A).solve(b, tol=1), r"^solve\(\) .*'tol': pass rtol= to Solver\(\)$"),
        (lambda A, b: lf.Solver(A).solve(b, x=b), r"^solve\(\) has no argument 'x': "),
        (lambda A, b: solvers.cg(A, b, residuals=[]), r"^cg\(\) .*'residuals': did you mean history\?$"),
        (lambda A, b: solvers.cg(A, b, history=[]), r"got a list: pass lf.solvers.History\(\)$"),
        (lambda A, b: lf.jacobi(A, zzz=1), r"^jacobi\(\) has no argument 'zzz': it has A, "),
        (lambda A, b: lf.jacobi(A) @ A, r"^r must be a dense array, got a csr_\w+: pass r.toarray\(\)$"),
        (lambda A, b: lf.jacobi(A).T.matvec(A), r"^r must be a dense array, got a csr_\w+: pass r.toarray"),
        (lambda A, b: lf.multilevel(A).solve(b, residuals=b), "^residuals must be a list, .* got a ndarray$"),
        (lambda A, b: lf.graph.fill(A, np.arange(25)).memory(dtype="x"), "^dtype must .* got 'x'$"),
        (lambda A, b: A @ lf.jacobi(A), r"pass aslinearoperator\(A\) @ M$"),
        (lambda A, b: lf.solve(A, b, M=A), r"^solve\(\) has no argument 'M': did you mean method\?$"),
        (lambda A, b: solvers.cg(A, b, None, 1e-8), r"^cg\(\) takes A, b, x0 by position: .* rtol=\.\.\.$"),
        (lambda A, b: lf.Solver(A).solve(b, None, 1), r"^solve\(\) takes b, x0 by position: name the others"),
        (
            lambda A, b: solvers.cg(A, b, M=splu(A.tocsc())),
            r"SuperLU: pass LinearOperator\(\(n, n\), M.solve\)$",
        ),
        (lambda A, b: solvers.cg(A, b, M=lambda r: r), r"function: pass LinearOperator\(\(n, n\), M\)$"),
        (lambda A, b: lf.solve("A.mtx", b), r"got str; read the file by linforest_precond.matrices.load$"),
        (
            lambda A, b: lf.jacobi(aslinearoperator(A)),
            r"pass a matrix that approximates it, and the operator",
        ),
        (lambda A, b: lf.solve(A, None), "^b must be an array of 25 numbers, got None$"),
        (lambda A, b: lf.solve(A, b, "cg"), "^x0 must be an array of 25 numbers, got 'cg'$"),
        (
            lambda A, b: solvers.cg(A, b, M="jacobi"),
            r"got 'jacobi': pass an operator, such as lf.jacobi\(A\)$",
        ),
        (lambda A, b: solvers.cg(A, b, M=lf.ilu), r"function: pass an operator, such as lf.jacobi\(A\)$"),
        (lambda A, b: lf.permute(A, "rcm"), r"integers, got 'rcm': pass lf.graph.order\(A, 'rcm'\)$"),
        (lambda A, b: lf.matrices.poisson(3, 4), r"takes the shape as a tuple: poisson\(\(3, 4\)\)$"),
        (
            lambda A, b: lf.multilevel(A, max_coarse=9).solve(b, return_residuals=True),
            r"^solve\(\) has no argument 'return_residuals': did you mean residuals\?$",
        ),
        (lambda A, b: lf.solve(A, iter(b)), r"^b must be an array of 25 numbers, got <.*iterator"),
        (
            lambda A, b: lf.solve(A.toarray().astype(object), b),
            "ndarray; its values are of type object: conv",
        ),
        (lambda A, b: solvers.cg(WithMatvec(), b), r"a WithMatvec: pass aslinearoperator\(A\)$"),
        (lambda A, b: solvers.cg(A, b, M=WithMatvec()), r"a WithMatvec: pass aslinearoperator\(M\)$"),
        (lambda A, b: lf.solve(A, b, timeout=3), "'timeout': did you mean time_limit"),
        (lambda A, b: lf.solve(A, b, restart=30), r"^solve\(\) has no argument 'restart': it has A, b, x0, "),
        (lambda A, b: lf.Solver(A, b), r"^Solver\(\) takes A by position: name the others"),
        (lambda A, b: lf.tridiagonal(A, random_state=0), r"'random_state': did you mean seed\?$"),
        (lambda A, b: lf.graph.connected_components(csgraph=A), "'csgraph': did you mean A"),
        (lambda A, b: lf.graph.factor(A, 2, maxiter=3), "'maxiter': did you mean iterations"),
        (lambda A, b: lf.graph.factor(A, iters=5), r"^factor\(\) .*'iters': did you mean iterations\?$"),
        (lambda A, b: lf.tridiagonal(A, iter=5), "'iter': did you mean iterations"),
        (lambda A, b: lf.graph.pagerank(A, damping=0.9), "'damping': did you mean alpha"),
        (
            lambda A, b: lf.pipeline.tridiagonal_bands(A, seeds=3),
            r"^tridiagonal_bands\(\) has no argument 'seeds': did you mean seed\?$",
        ),
        (
            lambda A, b: lf.pipeline.block_tridiagonal_bands(A, zzz=3),
            r"^block_tridiagonal_bands\(\) .*'zzz': it has A, block_size, m, iterations, k_m, p, seed, ",
        ),
        (
            lambda A, b: lf.BlockTridiagonalSolver(b, b, b, zzz=True),
            r"^BlockTridiagonalSolver\(\) has no argument 'zzz': it has lower, diagonal, upper, ",
        ),
        (lambda A, b: solvers.cg(A.toarray().tolist(), b), r"got a list: pass numpy.array\(A\)$"),
        (lambda A, b: solvers.cg("A.mtx", b), r"got 'A.mtx': read the file by .*matrices.load$"),
        (
            lambda A, b: lf.jacobi((A.data, A.indices, A.indptr)),
            r"^A must be .* got a tuple of parts of different shapes: pass scipy.sparse.csr_array\(A\) for",
        ),
        (lambda A, b: lf.multilevel(A, dtype="single type"), "^dtype must .* got 'single type'$"),
        (lambda A, b: lf.matrices.poisson((3, 3), dtype="reals"), "^dtype must .* got 'reals'$"),
        (lambda A, b: lf.matrices.poisson((3, 3), index_dtype="u"), "^index_dtype must .* got 'u'$"),
        (lambda A, b: lf.matrices.poisson("3x3"), "^shape must be an integer for each axis, got '3x3'$"),
        (lambda A, b: lf.save_preconditioner(lf.jacobi(A), None), "^path must .* or a path, got None$"),
        (lambda A, b: lf.load_preconditioner(3), "^path must be a string or a path, got 3$"),
        (lambda A, b: lf.permute(A, np.ma.arange(25)), "^ordering must not be a masked array"),
        (lambda A, b: lf.graph.read_traffic(None), "^path must be a string or a path, got None$"),
        (lambda A, b: lf.graph.write_traffic(b, A), "^path must be a string or a path, got a ndarray$"),
        (lambda A, b: lf.similarity.read_sets(3), "^path must be a string or a path, got 3$"),
        (lambda A, b: lf.similarity.join_quality(A, b), "^found must be a JoinResult .* got a csr_"),
        (lambda A, b: lf.memory_estimate(A, kind="tridiagonal", forests="2"), "^forests must be an integer"),
        (lambda A, b: lf.scaling(A, tolerance="tight"), "^tolerance must be a number, got 'tight'$"),
        (lambda A, b: lf.scaling(A, tolerance=b), "^tolerance must be a number, got a ndarray$"),
        (lambda A, b: lf.matrices.rmat(3, seed="a"), "^seed must be an integer, got 'a'$"),
        (lambda A, b: lf.matrices.random_geometric(9, radius="r"), "^radius must be a number, got 'r'$"),
        (lambda A, b: lf.matrices.elasticity((3, 3), poisson_ratio=None), "^poisson_ratio must be a number"),
        (lambda A, b: lf.matrices.packets(4, exponent="2"), "^exponent must be a number, got '2'$"),
    ],
)
def test_habits_of_other_libraries_are_answered(call, message):
    A = lf.matrices.poisson((5, 5))
    with pytest.raises(TypeError, match=message):
        call(A, np.ones(25))


RAGGED = [[1], [2, 3]]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda A: lf.jacobi(RAGGED), "A"),
        (lambda A: solvers.cg(A, RAGGED), "b"),
        (lambda A: solvers.cg(A, np.ones(25), x0=RAGGED), "x0"),
        (lambda A: lf.jacobi(A) @ RAGGED, "r"),
        (lambda A: lf.permute(A, RAGGED), "ordering"),
        (lambda A: lf.multilevel(A, B=RAGGED), "B"),
        (lambda A: lf.tridiagonal(A, values=RAGGED), "values"),
        (lambda A: lf.graph.coarsen(A, RAGGED), "matching"),
        (lambda A: lf.rigid_body_modes(RAGGED), "coordinates"),
        (lambda A: lf.TridiagonalSolver(RAGGED, RAGGED, RAGGED), "lower"),
    ],
)
def test_ragged_lists_are_refused_by_name(call, name):
    with pytest.raises(TypeError, match=f"^{name} must .* got a list of parts of different shapes$"):
        call(lf.matrices.poisson((5, 5)))


@pytest.mark.parametrize("view", [lambda M: M, lambda M: M.T], ids=["M", "M.T"])
@pytest.mark.parametrize("make", [lf.jacobi, lf.multilevel])
def test_products_with_other_shapes_name_them(make, view):
    M = view(make(lf.matrices.poisson((5, 5))))
    for r in (np.ones((25, 2, 2)), [[[1.0]]]):
        with pytest.raises(ValueError, match=r"^r must have the shape \(25, k\), got \(\d+, \d, \d\)$"):
            M @ r
    for r in (None, np.array(3.0)):
        with pytest.raises(ValueError, match=r"^r must have the shape \(25,\), .* got \(\)$"):
            M @ r


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lf.multilevel(lf.matrices.poisson((5, 5))).solve(np.ones(25), accel=3),
            '^accel must be None, "auto", .* or a function, got 3$',
        ),
        (lambda: lf.matrices.rmat(3, seed=-1), "^seed must be at least 0, got -1$"),
        (lambda: lf.matrices.rmat(3, probabilities="abcd"), "^probabilities must be four .* got 'abcd'$"),
        (lambda: lf.matrices.packets(4, exponent=1e30), "^exponent must be less far from 1 with offset"),
    ],
)
def test_numbers_that_are_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_advice_is_short():
    assert max(len(status.advice) for status in Status) < 245


def test_arrays_are_shown_by_their_type():
    A = lf.matrices.poisson((5, 5))
    with pytest.raises(ValueError, match=r'^ordering must be "auto", .* got a ndarray$'):
        lf.ilu(A, ordering=np.arange(25))
    with pytest.raises(ValueError, match=r"or a MatrixScaling, got a ndarray$"):
        lf.jacobi(A, scaling=np.ones(25))


def test_a_graph_is_no_matrix():
    graph = pytest.importorskip("networkx").path_graph(3)
    for function in (lf.linear_forest, lf.jacobi, lf.graph.connected_components):
        with pytest.raises(TypeError, match=r"^A must .* pass networkx.to_scipy_sparse_array\(A\)$"):
            function(graph)


@pytest.mark.parametrize(
    "module", [lf, lf.graph, lf.matrices, lf.similarity, solvers], ids=lambda module: module.__name__
)
def test_every_function_names_itself_and_an_unknown_argument(module):
    functions = [found for name in dir(module) if inspect.isfunction(found := getattr(module, name))]
    assert functions
    for function in functions:
        takes_others = any(
            each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values()
        )
        given, called = ((lf.matrices.poisson(4),), ".*") if takes_others else ((), function.__name__)
        with pytest.raises(TypeError, match=rf"^{called}\(\) has no argument 'zzz': "):
            function(*given, zzz=1)
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("spilu", "ilu"),
        ("pcg", "solvers.cg"),
        ("Jacobi", "jacobi"),
        ("tridiag", "tridiagonal"),
        ("AMG", "multilevel"),
        ("matching", "graph.matching"),
        ("pagerank", "graph.pagerank"),
        ("fuzzy_join", "similarity.fuzzy_join"),
        ("gmres", "solvers.gmres"),
        ("solvers.lgmres", "solvers.gmres"),
        ("graph.rcm", "graph.reverse_cuthill_mckee"),
        ("graph.match", "graph.matching"),
        ("matrices.poisson2d", "matrices.poisson"),
    ],  # fmt: skip
)
def test_names_of_other_libraries_are_answered(name, meant):
    last = name.rpartition(".")[2]
    with pytest.raises(AttributeError, match=rf"'{last}': did you mean linforest_precond.{meant}\?$"):
        attrgetter(name)(lf)


def test_other_names_mean_what_there_is():
    for name in lf.OTHER_NAMES.values():
        assert callable(attrgetter(name)(lf)) or name == "matrices"
    for module, names in {
        lf.graph: lf.graph._OTHER_NAMES, lf.matrices: lf.matrices.OTHER_NAMES, solvers: solvers.OTHER_NAMES
    }.items():  # fmt: skip
        assert not set(names) & set(module.__all__) and set(names.values()) <= set(module.__all__)
    M = lf.jacobi(lf.matrices.poisson((5, 5)))
    with pytest.raises(AttributeError, match="^a preconditioner has no 'solve': write M @ r$"):
        _ = M.solve
    assert not hasattr(M, "toarray") and not hasattr(M, "nothing")


def test_errors_inside_a_function_are_its_own():
    with pytest.raises(TypeError, match="^A must be"):
        lf.jacobi("A")


def test_columns_of_pandas_are_right_hand_sides():
    """Also with its own types, which NumPy does not know."""
    pandas = pytest.importorskip("pandas")
    A = lf.matrices.poisson((5, 5))
    wanted, _ = lf.solve(A, np.ones(25), calibration="default")
    for dtype in ("float64", "Float64", "Int64", "Sparse[float]"):
        x, info = lf.solve(A, pandas.Series(np.ones(25), dtype=dtype), calibration="default")
        assert info == 0 and np.array_equal(x, wanted)
    with pytest.raises(TypeError, match=r"^b must hold float32, .* got datetime64\[s\]; convert it"):
        lf.solve(A, np.ones(25, "datetime64[s]"))


def test_info_names_where_residuals_are():
    A = lf.matrices.poisson((5, 5))
    _, info = lf.solve(A, np.ones(25), calibration="default")
    with pytest.raises(AttributeError, match="has no 'residuals': see info.report, info.report.history$"):
        _ = info.residuals
    assert info.report.history.residuals[0] == 1 and pickle.loads(pickle.dumps(info)) == 0


def test_levels_print_their_sizes():
    ml = lf.multilevel(lf.matrices.poisson((10, 10)), max_coarse=30)
    assert repr(ml.levels[0]) == "<level; unknowns 100; entries 460; matrices A, P, R>"
    assert repr(ml.levels[-1]).endswith("matrices A>")


def test_a_hierarchy_is_a_preconditioner(backend):
    A, b = backend.csr(lf.matrices.poisson((30, 30))), backend.xp.ones(900)
    ml = lf.multilevel(A, max_coarse=50)
    wanted, info = solvers.cg(A, b, M=ml.aspreconditioner(), rtol=1e-8)
    found, same = solvers.cg(A, b, M=ml, rtol=1e-8)
    assert info == same == 0
    np.testing.assert_array_equal(backend.host(found), backend.host(wanted))
    np.testing.assert_array_equal(backend.host(ml @ b), backend.host(ml.aspreconditioner() @ b))
    x = ml.solve(b, rtol=1e-10)
    assert np.linalg.norm(backend.host(b - A @ x)) <= 1e-10 * 30


def test_scipy_takes_a_hierarchy():
    A, b = lf.matrices.poisson((30, 30)), np.ones(900)
    ml, iterates = lf.multilevel(A, max_coarse=50), []
    x, info = scipy.sparse.linalg.cg(A, b, M=ml, rtol=1e-8, callback=iterates.append)
    assert info == 0 and len(iterates) < 40 and np.linalg.norm(b - A @ x) <= 1e-8 * 30
    M = ml.aspreconditioner()
    np.testing.assert_array_equal(aslinearoperator(ml).rmatvec(b), M.rmatvec(b))
    np.testing.assert_array_equal(ml.T @ b, M.T @ b)
    assert not hasattr(ml, "toarray")


def test_scipy_takes_a_solver_for_an_inverse():
    A, n = lf.matrices.poisson(20), 20
    solver = lf.Solver(A, rtol=1e-12, calibration="default")
    values = scipy.sparse.linalg.eigsh(A, 2, sigma=0, OPinv=solver, v0=np.ones(n))[0]
    angles = np.arange(1, 4) * np.pi / (n + 1)
    assert np.abs(values - (2 - 2 * np.cos(angles))[:2]).max() < 1e-9 and solver.dtype == np.float64
