"""benchmarks/pages/solve_times.py measures, and its table sums up correctly."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf


@pytest.fixture
def program(bench):
    return bench("pages.solve_times")


@pytest.fixture
def methods(bench):
    return bench("measures.solve_methods")


def times(**seconds):
    """The records of a system by method; None: not solved."""
    return {
        method.replace("_", " "): {
            "system": "A",
            "rows": 10,
            "outcome": "solved",
            "seconds": time,
            "solve": time,
        }
        if time
        else {"system": "A", "rows": 10, "outcome": "residual 1.0e+00"}
        for method, time in seconds.items()
    }


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_quick_run_is_resumed_and_makes_a_page(program, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LINFOREST_MATRICES", raising=False)
    out = tmp_path / "times.jsonl"
    options = ["--device", "cpu", "--quick", "--out", str(out), "--methods"]
    assert program.main([*options, "solve,jacobi,splu MMD"]) == 0
    head, *found = lines_of(out)
    assert {"machine", "commit", "versions", "sha256"} <= set(head)
    solved = [(each["system"], each["method"]) for each in found if each["outcome"] == "solved"]
    expected = ("solve", "splu MMD", "jacobi")
    assert [pair for pair in solved if pair[1] in expected] == [
        (system, method) for system in program.QUICK_SYSTEMS for method in expected
    ]
    assert {each["krylov"] for each in found if each["method"] == "jacobi"} == {"cg", "bicgstab"}
    assert program.main([*options, "jacobi"]) == 0
    assert len(lines_of(out)) == len(found) + 2
    assert program.main([*options, "jacobi", "--again"]) == 0
    assert len(lines_of(out)) == len(found) + 5
    capsys.readouterr()
    assert program.main(["--table", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "| Poisson 2-D | 400 | " in shown and "- held out: " in shown and "commit `" in shown


def test_unknown_methods_are_named(program):
    assert program.chosen_methods("jacobi,direct")[-3:] == ["splu COLAMD", "splu MMD", "jacobi"]
    with pytest.raises(SystemExit, match="mystery"):
        program.chosen_methods("mystery")


def sleeper(connection, settings, methods):
    """Answers names at once, and methods too late, or not at all."""
    while True:
        question = connection.recv()
        if question == ("ends", 1.0):
            return
        if not isinstance(question, str):
            time.sleep(60)
        connection.send({"rows": 1})


def test_a_run_beyond_the_limit_is_ended(program, monkeypatch):
    monkeypatch.setattr(program, "serve", sleeper)
    monkeypatch.setattr(program, "LIMIT", 0.5)
    child = program.Child((), ())
    try:
        assert child.loaded("A") == {"rows": 1}
        first = child.process
        assert child.outcome("A", "hangs", 1.0)["outcome"] == "longer than 0 s"
        assert not first.is_alive() and child.process is None
        monkeypatch.setattr(program, "LIMIT", 60.0)
        assert child.outcome("A", "ends", 1.0)["outcome"] == "the process ended"
    finally:
        child.stop()


def problem_of(methods, A, b=None):
    system = SimpleNamespace(A=A, b=np.ones(A.shape[0]) if b is None else b, A2=None)
    return methods.Problem.of(system, "cpu")


def test_every_method_solves_verifies_or_tells_why(methods):
    problem = problem_of(methods, lf.matrices.convection_diffusion((12, 12), (1.0, 0.5)))
    for method in methods.METHODS:
        outcome = methods.measured(problem, method, 10.0)["outcome"]
        assert outcome == (methods.NOT_APPLICABLE if method == "update" else "solved"), method


def test_errors_are_outcomes(methods):
    singular = sp.csr_array(np.diag([1.0, 0.0]) + np.diag([0.0], 1))
    outcome = methods.measured(problem_of(methods, singular), "splu COLAMD", 1.0)["outcome"]
    assert outcome.startswith("RuntimeError: ")
    run = methods.Run(0.0, 1.0, 1e-3, {})
    assert run.as_dict()["outcome"] == "residual 1.0e-03"


def test_cg_needs_a_hermitian_matrix_with_a_positive_diagonal(methods):
    A = lf.matrices.poisson((4, 4))
    assert problem_of(methods, A).is_positive
    assert not problem_of(methods, -A).is_positive
    assert not problem_of(methods, lf.matrices.convection_diffusion((4, 4), (1.0, 0.5))).is_positive


def test_the_summary_counts_the_bars(program):
    table = program.solve_time_table
    systems = [
        times(solve=1.2, jacobi=1.0, splu=2.0),
        times(solve=0.5, jacobi=1.0, splu=0.1),
        times(solve=0.0065, jacobi=0.002),
        times(solve=None, jacobi=1.0),
        times(solve=1.0, jacobi=None),
        times(solve=None, jacobi=None),
        times(solve=1.0),
        times(solve=1.0, direct=1.0, splu_MMD=2.0),
    ]
    text = table.summary(systems, "CPU")
    assert "8 systems, 1 of them not measured by hand; 5 solved by hand, 4 of these by `lf.solve`, 1" in text
    assert "+ 5 ms on 3 (60%): 1 of 1 measured beside direct solvers alone, 2 of 3 beside more" in text
    assert "within 1.5 x the best time + 3 ms on 2 (40%)" in table.summary(systems, "GPU")
    assert "(none)" in table.summary([], "CPU")


def test_the_cells_have_both_ratios(program):
    table = program.solve_time_table
    cells = table.cells(times(solve=0.3, jacobi=None, splu=0.2, second_side=0.1, update=0.15))
    assert cells == ["A", "10", "300", "", "200", "splu", "1.50", "100 (0.50)", "150 (0.50)"]
    assert table.cells(times(solve=0.3))[4:6] == ["not measured", ""]
    assert table.cells(times(solve=0.3, direct=0.2))[5] == "direct†"
    assert table.cells(times(jacobi=None))[2:] == ["–", "", "–", "", "–", "", ""]


def test_without_records_the_page_says_so(program, tmp_path):
    assert "No measurements" in program.solve_time_table.page([tmp_path / "none.jsonl"])


def test_halves_follow_from_names(program):
    half = program.solve_time_table.half
    assert half("nos7") == half("nos7") and {half(str(number)) for number in range(20)} == {"fit", "held out"}


def test_systems_have_few_rows_for_few(bench, monkeypatch):
    monkeypatch.delenv("LINFOREST_MATRICES", raising=False)
    systems = bench("systems.solve_time_systems")
    found = systems.systems("cpu", 100)
    assert len(found) == len(systems.FAMILIES) >= 15
    for name in ("Poisson 2-D", "elasticity 3-D", "Helmholtz 2-D, 2 wavelengths", "circuit"):
        system = found[name]()
        assert (
            system.A.shape[0] <= 400 and system.A.indices.dtype == "int32" and system.A.has_canonical_format
        )


def test_a_graph_is_grounded_once_in_each_component(bench):
    edges = sp.coo_array((np.ones(3), ([0, 1, 3], [1, 2, 4])), shape=(5, 5))
    A = bench("systems.solve_time_systems").grounded(edges)
    assert np.array_equal(A.sum(axis=1), [1, 0, 0, 1, 0]) and np.linalg.matrix_rank(A.toarray()) == 5
