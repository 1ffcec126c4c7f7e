"""Histories, filled as a solver fills them, and statuses by their numbers."""

import csv
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from linforest_precond.backends import backend_named
from linforest_precond.solvers.history import History
from linforest_precond.solvers.status import Status

CODES = {
    0: "CONVERGED",
    -10: "RHO",
    -11: "OMEGA",
    -12: "INDEFINITE",
    -13: "STAGNATED",
    -14: "DIVERGED",
    -15: "NONFINITE",
    -16: "SINGULAR",
    -18: "UNATTAINABLE",
}


def one_system(history=None):
    """bicgstab on one system: two batches, and a half step at the end."""
    history = History() if history is None else history
    history.begin("bicgstab", 1000, 1, np.float64, np.array([2.0]), 10.0)
    history.add_true(0, 0, 2.0)
    history.add(np.zeros(1), np.zeros(1), np.array([[2.0]]), np.array([[10.0]]))
    steps, seconds = np.array([0.5, 1.0, 1.5]), np.array([0.1, 0.2, 0.3])
    history.add(steps, seconds, np.array([[1.0], [0.4], [0.02]]), np.array([[5.0], [3.0], [1.0]]))
    history.add_true(2, 0, 0.1)
    history.add_replacement(2, 0)
    history.finish(np.array([0]), True)
    return history


def three_systems():
    """cg on three systems: one converges early, one has b = 0."""
    history = History()
    history.begin("cg", 50, 3, np.float32, np.array([2.0, 0.0, 4.0]), None)
    norms = np.array([[2.0, 0.0, 4.0], [1.0, np.nan, 2.0], [np.nan, np.nan, 1.0]])
    history.add(np.arange(3.0), np.arange(3.0) / 10, norms, None)
    history.add_true(1, 0, 1.0)
    history.add_true(2, 2, 3.0)
    history.finish(np.array([0, 0, 2]), False)
    return history


def test_one_system():
    history = one_system()
    assert len(history) == 4
    np.testing.assert_array_equal(history.iterations, [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(history.residuals, [1, 0.5, 0.2, 0.01])
    np.testing.assert_allclose(history.errors, [1, 0.5, 0.3, 0.1])
    np.testing.assert_array_equal(history.times, [0, 0.1, 0.2, 0.3])
    assert history.true_residuals == [(0, 0, 1.0), (2, 0, 0.05)]
    assert history.replacements == [(2, 0)]
    assert history.status is Status.CONVERGED
    assert history.info == 0 and isinstance(history.info, int)
    assert (history.solver, history.n, history.dtype) == ("bicgstab", 1000, np.float64)


def test_several_systems():
    history = three_systems()
    assert len(history) == 3
    assert history.iterations.shape == history.times.shape == (3,)
    np.testing.assert_array_equal(history.residuals, [[1, 0, 1], [0.5, np.nan, 0.5], [np.nan, np.nan, 0.25]])
    assert history.errors is None
    assert history.true_residuals == [(1, 0, 0.5), (2, 2, 0.75)]
    assert history.status == [Status.CONVERGED, Status.CONVERGED, Status.MAXITER]
    np.testing.assert_array_equal(history.info, [0, 0, 2])


def test_errors_of_x_true_zero_are_absolute():
    history = History(x_true=np.zeros(3))
    history.begin("cg", 3, 2, np.float64, np.ones(2), 0.0)
    history.add(np.zeros(1), np.zeros(1), np.ones((1, 2)), np.array([[0.5, 0.25]]))
    np.testing.assert_array_equal(history.errors, [[0.5, 0.25]])


def test_errors_are_relative_column_by_column():
    history = History()
    history.begin("cg", 3, 2, np.float64, np.ones(2), np.array([2.0, 4.0]))
    history.add(np.zeros(1), np.zeros(1), np.ones((1, 2)), np.ones((1, 2)))
    np.testing.assert_array_equal(history.errors, [[0.5, 0.25]])


@pytest.mark.parametrize("x_true", [np.arange(3), np.arange(3.0)[:, None], np.arange(3, dtype=np.float32)])
def test_x_true_comes_as_b(x_true):
    columns = History(x_true).x_true_of(np.ones((3, 1), np.float32), backend_named("cpu"))
    assert columns.dtype == np.float32
    np.testing.assert_array_equal(columns, [[0], [1], [2]])
    assert History().x_true_of(np.ones((3, 1)), backend_named("cpu")) is None


@pytest.mark.parametrize("x_true", [np.ones(4), np.ones(3), np.ones((3, 1)), np.full((3, 2), np.nan)])
def test_x_true_that_does_not_fit_b(x_true):
    with pytest.raises(ValueError, match="x_true must"):
        History(x_true).x_true_of(np.ones((3, 2)), backend_named("cpu"))


def test_a_complex_x_true_of_a_real_system():
    with pytest.raises(ValueError, match="x_true must be float64"):
        History(np.ones(3, complex)).x_true_of(np.ones((3, 1)), backend_named("cpu"))


def test_records_do_not_change_with_the_arrays_they_came_from():
    history = History()
    arrays = np.zeros(1), np.zeros(1), np.ones((1, 1)), np.ones((1, 1))
    history.begin("cg", 3, 1, np.float64, np.ones(1), 1.0)
    history.add(*arrays)
    for array in arrays:
        array[:] = 7
    assert history.iterations == history.times == [0]
    assert history.residuals == history.errors == [1]


def test_a_history_used_again_starts_anew():
    history = one_system()
    history.begin("cg", 5, 2, np.float32, np.ones(2), None)
    assert len(history) == 0
    assert history.residuals.shape == (0, 2)
    assert history.errors is history.status is history.info is None
    assert history.true_residuals == history.replacements == []
    np.testing.assert_array_equal(one_system(history).residuals, one_system().residuals)


def test_a_new_history_is_empty():
    x_true = np.ones(3)
    history = History(x_true)
    assert history.x_true is x_true
    assert len(history) == history.iterations.size == history.residuals.size == 0
    assert history.status is None
    assert "records" in str(history)


@pytest.mark.parametrize("make", [one_system, three_systems])
def test_csv_round_trip(make, tmp_path):
    history = make()
    history.to_csv(tmp_path / "history.csv")
    with open(tmp_path / "history.csv", newline="") as file:
        names, *rows = csv.reader(file)
    curves = [history.residuals] if history.errors is None else [history.residuals, history.errors]
    expected = np.column_stack([history.iterations, history.times, *curves])
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected)
    residuals = {
        one_system: ["residual", "error"],
        three_systems: ["residual_0", "residual_1", "residual_2"],
    }
    assert names == ["iteration", "seconds", *residuals[make]]


@pytest.mark.parametrize("make", [one_system, three_systems])
def test_pandas_has_the_columns_of_csv(make, tmp_path, monkeypatch):
    """pandas need not be installed for this test: a DataFrame is made from named columns."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    history = make()
    frame = history.to_pandas()
    history.to_csv(tmp_path / "history.csv")
    written = np.genfromtxt(tmp_path / "history.csv", delimiter=",", names=True)
    assert tuple(frame) == written.dtype.names
    for name, values in frame.items():
        np.testing.assert_array_equal(values, written[name])


def test_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = one_system().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.set_index("iteration")["residual"].to_dict() == {0: 1, 0.5: 0.5, 1: 0.2, 1.5: 0.01}


def test_to_pandas_without_pandas_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        one_system().to_pandas()


def lines(text):
    """The rows of a printed table as a dictionary."""
    return dict(line.strip().split("  ", 1) for line in text.splitlines()[1:])


def test_print_one_system():
    history = one_system()
    assert str(history).startswith("history of bicgstab\n")
    assert repr(history) == "<history of bicgstab; rows 1,000, float64; status converged; iterations 2>"
    assert {name: value.strip() for name, value in lines(str(history)).items()} == {
        "rows": "1,000, float64",
        "status": "converged",
        "iterations": "2",
        "first residual": "1.00e+00",
        "last residual": "1.00e-02",
        "true residual": "5.00e-02",
        "replacements": "1",
        "error": "1.00e-01",
        "seconds": "0.3",
        "ms per iteration": "200",
    }


def test_print_several_systems():
    printed = {name: value.strip() for name, value in lines(str(three_systems())).items()}
    assert printed["rows"] == "50, 3 systems, float32"
    assert printed["status"] == "2 converged, 1 maxiter"
    assert printed["iterations"] == "0 to 2"
    assert printed["last residual"] == "0.00e+00 to 5.00e-01"
    assert printed["true residual"] == "5.00e-01 to 7.50e-01"
    assert "error" not in printed


def test_print_before_the_end():
    history = History()
    history.begin("cg", 5, 1, np.float64, np.ones(1), None)
    history.add(np.zeros(1), np.zeros(1), np.full((1, 1), np.nan), None)
    assert "not ended" in str(history) and "none" in str(history)


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = one_system().plot()
    residuals, errors = ax.get_lines()
    np.testing.assert_array_equal(residuals.get_xdata(), [0, 0.5, 1, 1.5])
    np.testing.assert_allclose(errors.get_ydata(), [1, 0.5, 0.3, 0.1])
    assert ax.get_yscale() == "log"
    assert three_systems().plot(ax, label="three") is ax
    assert [line.get_xdata().size for line in ax.get_lines()[2:]] == [2, 1, 3]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:3] == ["bicgstab", "bicgstab, error", "three, column 0"]
    ax.figure.canvas.draw()
    matplotlib.pyplot.close(ax.figure)


def test_plot_of_a_long_oscillating_history():
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    norms = np.exp(np.random.default_rng(1).normal(size=(500, 1)))
    history = History()
    history.begin("bicgstab", 9, 1, np.float64, np.ones(1), None)
    history.add(np.arange(500.0), np.arange(500.0), norms, None)
    ax = history.plot(Figure().add_subplot())
    (line,), (band,) = ax.lines, ax.collections
    assert ax.get_yscale() == "log" and line.get_xdata().size < 100 and line.get_marker() == ""
    assert band.get_facecolor()[0, :3] == pytest.approx(matplotlib.colors.to_rgb(line.get_color()))
    low, high = band.get_paths()[0].get_extents().get_points()[:, 1]
    assert (low, high) == (norms.min(), norms.max())


def test_plot_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"\[study\]"):
        one_system().plot()


@pytest.mark.parametrize("code", CODES)
def test_status_of_every_code(code):
    status = Status.from_info(np.int64(code))
    assert status is Status[CODES[code]]
    assert status == code
    assert str(status) == f"{status}" == CODES[code].lower()


@pytest.mark.parametrize("info", [1, 2, 10**9, np.int32(7)])
def test_positive_info_means_maxiter(info):
    assert Status.from_info(info) is Status.MAXITER


@pytest.mark.parametrize("info", [-1, -9, -19, 0.5, "converged", None, np.array([0, 0])])
def test_no_status_of_other_info(info):
    with pytest.raises(ValueError, match="info must be"):
        Status.from_info(info)


def test_every_status_has_advice():
    assert len({status.advice for status in Status}) == len(Status) == len(CODES) + 2
    assert all(status.advice.endswith(".") for status in Status)


def test_time_per_iteration_leaves_compilation_out():
    history = History()
    history.begin("cg", 10, 1, np.dtype(float), np.ones(1), None)
    seconds = np.array([0.0, 7.0, 7.1, 7.2, 7.3, 12.0, 12.1, 12.2])  # compiling in the first and the fifth
    history.add(np.arange(8.0), seconds, np.ones((8, 1)), None)
    assert history.seconds_per_iteration == pytest.approx(0.1)
    assert "ms per iteration  100" in str(history)


def test_time_per_iteration_counts_half_steps_with_their_iteration():
    history = History()
    assert history.seconds_per_iteration is None
    history.begin("bicgstab", 10, 1, np.dtype(float), np.ones(1), None)
    history.add(np.array([0, 0.5, 1, 1.5, 2, 2.5]), np.arange(6.0), np.ones((6, 1)), None)
    assert history.seconds_per_iteration == pytest.approx(2.0)
