"""CSV tables, findings and figures of a study."""

import csv

import pytest
import study_cases
from study_cases import case, gallery, standin, study

from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.forests import FORESTS
from linforest_precond.study.forests.findings import findings
from linforest_precond.study.forests.performance_tables import Timings
from linforest_precond.study.listings import CsvTable, write_tables


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    return None if text == "" else float(text)


def test_coverage_csv_reads_back_equal(tmp_path):
    write_tables(FORESTS.tables(study()), tmp_path)
    done = [c for c in study()["cases"] if c["coverage"]]
    for row, made in zip(read(tmp_path / "coverage_table5.csv"), done, strict=True):
        paper = catalogue()[made["paper"]].table5
        assert row["name"] == made["name"] and row["origin"] == made["origin"]
        assert number(row["c_id"]) == made["coverage"]["identity"] and number(row["c_id_paper"]) == paper.c_id
        assert number(row["parallel_3"]) == made["coverage"]["parallel"]["3"]
        assert number(row["block_m5_difference"]) == made["coverage"]["block"]["5"] - paper.block[5]
    for row, made in zip(read(tmp_path / "coverage_table4.csv"), done, strict=True):
        third = made["coverage"]["configurations"][2]
        assert [number(row[f"m5_k1_{key}"]) for key in ("c5", "cmax", "M_max")] == [
            third["c5"], third["cmax"], third["iterations_max"],
        ]  # fmt: skip
        assert number(row["sequential_paper"]) == catalogue()[made["paper"]].table4_sequential


def test_matrices_csv_has_every_case(tmp_path):
    write_tables(FORESTS.tables(study()), tmp_path)
    rows = read(tmp_path / "coverage_table3.csv")
    assert [row["name"] for row in rows] == [made["name"] for made in study()["cases"]]
    assert [number(row["rows"]) for row in rows] == [made["rows"] for made in study()["cases"]]
    assert rows[4]["error"] == "ValueError: A has a NaN at (3, 4)" and rows[4]["status"] == "failed"


def test_convergence_csvs_read_back_equal(tmp_path):
    write_tables(FORESTS.tables(study()), tmp_path)
    runs = [(c, run) for c in study()["cases"] if c["convergence"] for run in c["convergence"]["runs"]]
    columns = (
        "iterations",
        "median_iterations",
        "setup_seconds",
        "solve_seconds",
        "residual",
        "error",
        "coverage",
    )
    for row, (made, run) in zip(read(tmp_path / "convergence_summary.csv"), runs, strict=True):
        assert (row["name"], row["precond"], row["status"]) == (made["name"], run["precond"], run["status"])
        assert [number(row[column]) for column in columns] == [run[column] for column in columns]
    points = [
        (made["name"], run["precond"], *point)
        for made, run in runs
        for point in zip(*(run["history"][key] for key in ("iterations", "residuals", "errors")))
    ]
    rows = read(tmp_path / "convergence_histories.csv")
    assert [
        (r["name"], r["precond"], number(r["iteration"]), number(r["residual"]), number(r["error"]))
        for r in rows
    ] == points


def test_performance_csv_reads_back_equal(tmp_path):
    write_tables(FORESTS.tables(study([case(), gallery()])), tmp_path)
    row, without = read(tmp_path / "performance.csv")
    timings = case()["performance"]
    assert number(row["spmv_seconds"]) == timings["spmv"]["float32"]["seconds"]
    assert number(row["srcsr_seconds"]) == timings["spmv"]["float32"]["srcsr"]["seconds"]
    assert number(row["bidirectional_scan_seconds"]) == timings["scans"]["seconds"]["bidirectional_scan"]
    assert number(row["setup_paper_factor_seconds"]) == timings["setups"]["paper"][1]["seconds"]
    assert without["sequential_scan_seconds"] == without["copy_gb_per_s"] == ""
    rows = read(tmp_path / "performance_propositions.csv")
    assert len(rows) == 2 * 24 and rows[3]["n"] == "4"
    assert number(rows[3]["seconds"]) == timings["propositions"][3]["seconds"]
    assert number(rows[1]["per_spmv"]) == rows_per_spmv(timings, 1)
    assert number(rows[1]["srcsr_gb_per_s"]) == timings["spmv"]["float32"]["srcsr"]["gb_per_s"]
    assert len(read(tmp_path / "performance_launches.csv")) == 2 * 6


def rows_per_spmv(timings, place):
    return timings["propositions"][place]["seconds"] / timings["spmv"]["float32"]["seconds"]


def test_rules_charges_and_sums_have_csv_files(tmp_path):
    write_tables(FORESTS.tables(study([case()])), tmp_path)
    rows = read(tmp_path / "coverage_ties.csv")
    assert [row["ties"] for row in rows] == ["index", "random", "auto"] and rows[2]["sequential_1"] == ""
    assert number(rows[0]["parallel_2"]) == case()["coverage"]["parallel"]["2"]
    charges = read(tmp_path / "coverage_charges.csv")
    assert [(row["charge"], row["seed"]) for row in charges[:3]] == [
        ("md5", "0"),
        ("md5", "1"),
        ("splitmix64", "0"),
    ]
    assert read(tmp_path / "coverage_single_precision.csv")[0]["parts"] == "4"
    assert read(tmp_path / "coverage_table4.csv")[0]["ties_sequential"] == "random"


def test_text_that_spreadsheets_take_for_a_formula_is_escaped(tmp_path):
    changes = {"=1+1": -0.5, "-A.mtx": None, "a=b": 1}
    rows = [{"name": name, "change": change} for name, change in changes.items()]
    write_tables([CsvTable("t", ("name", "change"), rows, "")], tmp_path)
    found = [(row["name"], row["change"]) for row in read(tmp_path / "t.csv")]
    assert found == [("'=1+1", "-0.5"), ("'-A.mtx", ""), ("a=b", "1")]


def sentences(*cases):
    return {finding.topic: finding.sentence for finding in findings(study(list(cases)))}


def test_findings_about_convergence():
    fast, slow = case(), case("b", title="B", convergence=study_cases.convergence())
    assert (
        sentences(fast, slow)["Fewest iterations"]
        == "AlgTriBlock+ needed the fewest iterations on 2 of 2 matrices."
    )
    slow["convergence"]["runs"][0]["median_iterations"] = 3.0
    assert sentences(fast, slow)["Fewest iterations"] in (
        "AlgTriBlock+ needed the fewest iterations on 1 of 2 matrices, Jacobi on 1.",
    )
    assert "0.39 times" in sentences(fast)["Against Jacobi"]
    slow["convergence"]["runs"][0]["solve_seconds"] = 1e-6
    assert "Jacobi on 1" in sentences(fast, slow)["Fastest"]


def test_names_are_explained_before_they_are_used():
    first, *others = findings(study([case()]))
    assert first.topic == "Preconditioners"
    for name in ("Jacobi", "TriScal", "AlgTriScal", "AlgTriBlock+"):
        assert f"{name} is " in first.sentence
    assert any("AlgTriScal" in finding.sentence for finding in others)


def test_a_slowdown_is_called_one():
    made = case()
    assert "Slower than Jacobi" not in sentences(made)
    algebraic = made["convergence"]["runs"][2]
    algebraic["solve_seconds"] = 9.0
    algebraic["median_iterations"] = 9999.0
    found = sentences(made)
    assert "; it needed more on ANISO2 2500 × 2500." in found["Against Jacobi"]
    assert "longer than with Jacobi: AlgTriScal on 1 of 1 (at worst" in found["Slower than Jacobi"]


def test_ties_count_for_each():
    tied = case()
    for run in tied["convergence"]["runs"]:
        run["median_iterations"] = 50.0
    text = sentences(tied, case("b"))["Fewest iterations"]
    assert text == (
        "AlgTriBlock+ needed the fewest iterations on 2 of 2 matrices, Jacobi on 1, TriScal on 1, "
        "AlgTriScal on 1 (ties count for each)."
    )


def test_solves_that_did_not_converge_do_not_win():
    made = case()
    made["convergence"]["runs"][3]["status"] = "MAXITER"
    found = sentences(made)
    assert found["Fewest iterations"].startswith("AlgTriScal")
    assert found["Convergence"] == (
        "1 of 4 solves did not reach the tolerance: AlgTriBlock+ on ANISO2 2500 × 2500."
    )
    for run in made["convergence"]["runs"]:
        run["status"] = "MAXITER"
    assert "Fewest iterations" not in sentences(made) and "Against Jacobi" not in sentences(made)


def test_medians_decide_where_permuted_systems_were_solved():
    made = case()
    made["convergence"]["runs"][3]["median_iterations"] = None  # half of them did not converge
    made["convergence"]["runs"][1]["iterations"] = 1.0
    assert sentences(made)["Fewest iterations"].startswith("AlgTriScal")
    made["convergence"]["permutations"] = 0
    assert sentences(made)["Fewest iterations"].startswith("TriScal")


def test_findings_about_coverage():
    assert "0.13 to 0.67" in sentences(case())["Weight coverage"]
    worse = case(coverage=study_cases.coverage() | {"identity": 0.9})
    assert "on 0 of 1 matrix." in sentences(worse)["Weight coverage"]
    assert "18 of 18 published coverages" in sentences(case())["The paper"]
    off = study_cases.coverage()
    off["block"]["5"] += 0.05
    text = sentences(case(coverage=off))["The paper"]
    assert "17 of 18" in text and "block_m5" in text and "+0.05" in text
    assert "for orientation" in sentences(standin())["The paper"]
    assert "The paper" not in sentences(gallery(coverage=study_cases.coverage()))


def test_findings_about_performance():
    slower = study_cases.performance() | {"setup_seconds": {"paper": 0.05, "ours": 0.05}}
    found = sentences(case(), case("b", title="B", performance=slower))
    assert found["Setup"] == (
        "AlgTriScal's setup cost 16.3 matrix-vector products (SpMV) in the median of 2 matrices "
        "(12.7 to 20.0). The paper's methods took 1.50 times as long in the median of 2 matrices "
        "(1.00 to 2.00)."
    )
    assert found["Edge proposition"] == (
        "The first one (k = 0) with n = 2, of all vertices, cost 1.28 SpMV in the median of 2 matrices. "
        "The second one (k = 1), of 10 % of them, cost 1.28 SpMV in the median of 2 matrices."
    )
    assert "took 4.00 times as long" in found["Scan"] and "0.45 times the bandwidth" in found["Scan"]
    expected = "The product by SRCSR took 1.20 times as long as by cuSPARSE in the median of 2 matrices."
    assert found["Segmented reduction"] == expected
    on_cpu = sentences(case(performance=study_cases.performance(launches=False)))
    assert "bandwidth" not in on_cpu["Scan"] and "Segmented reduction" not in on_cpu
    assert sentences(case(performance=None)).keys().isdisjoint({"Setup", "Edge proposition", "Scan"})


def test_plots_are_figures_for_notebooks():
    pytest.importorskip("matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    from linforest_precond.study.forests import plots

    settings = dict(matplotlib.rcParams)
    drawn = (
        plots.convergence, plots.propositions, plots.later_propositions, plots.proposition_throughput,
        plots.scan_launches, plots.scan_times, plots.setup_breakdown,
    )  # fmt: skip
    for draw in drawn:
        assert isinstance(draw(study()), Figure) and isinstance(draw({"cases": []}), Figure)
    ax = Figure().add_subplot()
    assert plots.convergence_panel(case(), ax) is ax and ax.get_yscale() == "log"
    assert ax.get_title() == "ANISO2 2500 × 2500"
    solid = [line for line in ax.get_lines() if line.get_label() == "AlgTriScal"]
    assert list(solid[0].get_ydata()) == case()["convergence"]["runs"][2]["history"]["residuals"]
    assert dict(matplotlib.rcParams) == settings


def test_at_most_six_curves_of_a_panel_are_not_dimmed():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from linforest_precond.study.forests import plots

    ax = plots.convergence_panel(case(), Figure().add_subplot(), legend=False)
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) > 2]
    shown = [line for line in curves if line.get_alpha() == 1]
    assert len(curves) == 8 and len(shown) == 6
    assert {line.get_label() for line in shown} >= {"Jacobi", "AlgTriScal", "AlgTriBlock+"}


def test_bars_have_the_lengths_of_the_study():
    pytest.importorskip("matplotlib")
    from linforest_precond.study.forests import plots

    ax = plots.propositions(study([case()])).axes[0]
    assert [round(bar.get_width(), 6) for bar in ax.patches] == [0.84, 1.28, 1.76, 2.36]
    marks = [line for line in ax.lines if line.get_marker() == "|"]
    assert [round(line.get_xdata()[0], 6) for line in marks] == [0.84, 1.28, 1.76, 2.36, 1.2]
    assert {line.get_label() for line in marks if "_" not in line.get_label()} == {
        "double precision",
        "SRCSR",
    }
    ax = plots.later_propositions(study([case()])).axes[0]
    assert len(ax.patches) == 4 and [text.get_text() for text in ax.texts] == ["10 %"]
    ax = plots.propositions(study([case(performance=study_cases.performance(launches=False))])).axes[0]
    assert not [line for line in ax.lines if line.get_marker() == "|"]
    ax = plots.setup_breakdown(study([case()])).axes[0]
    widths = [round(bar.get_width(), 6) for bar in ax.patches]
    assert widths == [10, 45, 15, 10, 20, 5, 22.5, 7.5, 5, 10]
    assert [text.get_text() for text in ax.texts] == ["63.4 ms", "31.7 ms (2.00×)"]
    ax = plots.scan_launches(study([case()])).axes[0]
    boxes = [(bar.get_x(), round(bar.get_width(), 6)) for bar in ax.patches if bar.get_width()]
    assert boxes == [(7.5, 1.0), (9.35, 0.5)]
    ax = plots.scan_times(study([case()])).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [4.0, 1.0] and ax.texts[0].get_text() == "4.00×"


def test_speedups_over_a_sequential_walk_are_those_of_the_gpu():
    timings = study_cases.performance()
    scan = timings["scans"]["seconds"]["bidirectional_scan"]
    assert Timings(case()).scan_speedup == timings["sequential_scan_seconds"] / scan
    assert Timings(case(performance=study_cases.performance(launches=False))).scan_speedup is None
