"""The public drawing functions: `lf.plots`."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import linforest_precond as lf

ROWS = {
    "a < b": {("Jacobi", "steps"): 12, ("Jacobi", "ms"): "1.5", ("forest", "steps"): 7},
    "c": {("Jacobi", "steps"): 3, ("forest", "ms"): "0.1"},
}
BOLD = [("a < b", ("forest", "steps"))]


class TestTable:
    def test_html_has_every_cell_in_its_column(self):
        html = lf.plots.table(ROWS, caption="Steps & times", bold=BOLD)._repr_html_()
        table = ElementTree.fromstring(f"<div>{html}</div>").find("table")
        groups, names = ([th.text for th in row] for row in table.find("thead"))
        assert groups == [None, "Jacobi", "forest"] and names == ["steps", "ms", "steps", "ms"]
        cells = [["".join(cell.itertext()) for cell in row] for row in table.find("tbody")]
        assert cells == [["a < b", "12", "1.5", "7", ""], ["c", "3", "", "", "0.1"]]
        assert [strong.text for strong in table.iter("strong")] == ["7"]
        assert table.find("caption").text == "Steps & times"

    def test_style_is_the_tables_own(self):
        """Nothing of the notebook around it is changed."""
        html = lf.plots.table(ROWS)._repr_html_()
        style = html[html.index("<style>") + 7 : html.index("</style>")]
        rules = [rule.partition("{")[0].strip() for rule in style.split("}") if rule.strip()]
        assert rules and all(rule.startswith(".linforest-table") for rule in rules)

    def test_print_aligns(self):
        table = lf.plots.table(ROWS, bold=BOLD)
        lines = str(table).splitlines()
        assert lines[0].split() == ["Jacobi", "forest"] and lines[1].split() == ["steps", "ms"] * 2
        assert lines[2].startswith("a < b") and lines[2].split()[3:] == ["12", "1.5", "7*"]
        assert "\n" not in repr(table)

    def test_plain_columns_and_nothing(self):
        assert str(lf.plots.table({"x": {"n": 1}})).splitlines() == ["   n", "x  1"]
        with pytest.raises(TypeError, match=r"^rows must be a dict of dicts, .* got \[\{'n': 1\}\]$"):
            lf.plots.table([{"n": 1}])
        mixed = lf.plots.table({"x": {("time", "ms"): 1.5, 8: 2}})
        assert "ms" in str(mixed) and "<td>2</td>" in mixed._repr_html_()
        assert "<table" in lf.plots.table({})._repr_html_() and str(lf.plots.table({})) == ""


class TestConvergence:
    matplotlib = pytest.importorskip("matplotlib")

    def history(self, values, errors=None):
        history, values = lf.solvers.History(), np.asarray(values, dtype=float)
        columns = values.reshape(values.shape[0], -1)
        known = None if errors is None else np.ones(columns.shape[1])
        history.begin("cg", 5, columns.shape[1], np.float64, np.ones(columns.shape[1]), known)
        history.add(np.arange(len(values)), np.arange(len(values)), columns, errors)
        return history

    def test_curves_errors_and_tolerance(self):
        histories = {
            "one": self.history([1, 0.1, 0.0], errors=np.array([[1.0], [0.5], [0.2]])),
            "two": self.history([[1, 1], [0.5, np.nan]]),
        }
        ax = lf.plots.convergence(histories, rtol=1e-3)
        assert len(ax.lines) == 2 + 2 + 1 and ax.get_yscale() == "log"
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
        assert [line.get_color() for line in ax.lines[:3:2]] == list(lf.plots.PALETTE[:2])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, 0.1, np.nan])

    def test_an_oscillating_one_is_a_band(self):
        rough = np.exp(np.random.default_rng(0).normal(size=600) * 2)
        ax = lf.plots.convergence({"rough": self.history(rough)})
        assert len(ax.collections) == 1 and ax.lines[0].get_xdata().size < 100

    @pytest.mark.parametrize("wrong", ["one", [lf.solvers.History()], 0])
    def test_what_is_no_history_is_refused(self, wrong):
        with pytest.raises(TypeError, match="^histories must be a History, .* got a (str|list|int)$"):
            lf.plots.convergence(wrong)

    def test_a_file_is_not_axes(self):
        with pytest.raises(TypeError, match="^ax must be None or Matplotlib's axes, got 'x.png'; save by"):
            lf.plots.convergence(self.history([1.0]), "x.png")

    def test_the_axes_of_the_user(self):
        from matplotlib.figure import Figure

        ax = Figure().add_subplot()
        assert lf.plots.convergence({}, ax) is ax

    def test_settings_are_restored(self):
        before = dict(self.matplotlib.rcParams)
        with lf.plots.style():
            assert self.matplotlib.rcParams["axes.spines.top"] is False
        lf.plots.convergence({"one": self.history([1.0])})
        assert dict(self.matplotlib.rcParams) == before


def test_names_are_public_and_lazy():
    assert set(dir(lf.plots)) == set(lf.plots.__all__) and all(
        hasattr(lf.plots, name) for name in dir(lf.plots)
    )
    program = "import sys, linforest_precond as lf; dir(lf); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
