"""benchmarks/pages/solve_times.py measures, and its table sums up correctly."""

import importlib
import json
import math

import pytest

import linforest_precond as lf


@pytest.fixture
def program(bench, monkeypatch):
    """The program with the two cheapest candidates."""
    found = bench("pages.solve_times")
    monkeypatch.setattr(found, "EXTRAS", ())
    monkeypatch.setattr(found, "candidates_on", lambda device: found_on(device)[:2])
    found_on = importlib.import_module("linforest_precond.chooser.candidates").candidates_on
    return found


def record(program, own, **times):
    """A record with given seconds; None: not solved."""
    kinds = {
        name: {"setup": 0.0, "solve": time or 1.0, "outcome": "converged" if time else "maxiter"}
        for name, time in times.items()
    }
    solve = {"seconds": own or 1.0, "converged": own is not None, "chosen": "jacobi"}
    return {"system": "A", "rows": 10, "kinds": kinds, "solve": solve}


def test_the_smallest_run_writes_a_record_for_each_system(program, tmp_path, capsys):
    out, names = tmp_path / "times.jsonl", ["convection 3-D, upwind", "time step 3-D"]
    options = ["--device", "cpu", "--rows", "100", "--out", str(out), "--only", *names]
    assert program.main(options) == 0
    head, *found = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    assert {"machine", "commit", "versions"} <= set(head)
    assert [each["system"] for each in found] == names
    for each in found:
        assert set(each["kinds"]) == {"jacobi", "tridiagonal"} and each["rows"] == 125
        assert all(kind["outcome"] == "converged" for kind in each["kinds"].values())
        assert each["solve"]["converged"] and each["solve"]["trials"]
    assert found[0]["kinds"]["jacobi"]["method"] == "bicgstab"
    assert found[1]["kinds"]["jacobi"]["method"] == "cg"
    capsys.readouterr()
    assert program.main(["--table", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "| convection 3-D, upwind | 125 | " in shown and "commit `" in shown and "**" in shown


def test_it_stops_when_the_seconds_are_spent(program, tmp_path, capsys):
    out = tmp_path / "times.jsonl"
    options = ["--device", "cpu", "--rows", "100", "--seconds", "0", "--only", "time step 3-D"]
    assert program.main([*options, "--out", str(out)]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1
    assert "the 0 s are spent" in capsys.readouterr().out


def test_a_failed_setup_is_an_outcome(program):
    def fails(A, seed):
        raise ValueError("out of luck")

    system = program.System("grid", lf.matrices.poisson((4, 4)))
    candidate = program.extra("broken", "lf.broken(A)", fails)
    assert system.outcome(candidate, 1.0) == {"outcome": "ValueError: out of luck"}


def test_the_summary_counts_the_bars(program):
    table = program.solve_time_table
    records = [
        record(program, 1.2, jacobi=1.0, tridiagonal=2.0),
        record(program, 0.5, jacobi=1.0, tridiagonal=0.1),
        record(program, 0.4, jacobi=1.0, **{"tridiagonal": 0.39, "3 forests": 0.2}),
        record(program, 3.0, jacobi=None, tridiagonal=3.0),
        record(program, None, jacobi=None, tridiagonal=1.0),
        record(program, None, jacobi=None, tridiagonal=None),
    ]
    text = table.summary(records)
    assert "6 systems, 5 of them solved by some preconditioner within the limits, 4 of these" in text
    assert "the best of its own candidates on 3 (60%)" in text
    assert "the best of all preconditioners on 2 (40%)" in text
    assert "1.1 x that of Jacobi on 2 of the 3 that Jacobi solves (67%), at worst 1.20 x" in text


def test_the_winner_is_bold(program):
    table = program.solve_time_table
    cells = table.cells(record(program, 0.3, **{"jacobi": None, "tridiagonal": 0.3, "3 forests": 0.2}))
    assert cells[2:5] == ["–", "**200** (3 forests)", ""] and cells[-1] == "1.50"
    assert math.isinf(table.best_of({"kinds": {}})[0])


def test_without_records_the_page_says_so(program):
    assert "No measurements" in program.solve_time_table.page("")


def test_systems_have_unique_names_and_few_rows_for_few(program, monkeypatch):
    monkeypatch.delenv("LINFOREST_MATRICES", raising=False)
    found = dict(program.solve_time_systems.systems(100, "cpu"))
    assert len(found) == len(program.solve_time_systems.FAMILIES) >= 15
    for name in ("Poisson 2-D", "elasticity 3-D", "Helmholtz 2-D, 2 wavelengths", "circuit"):
        A = found[name]()
        assert A.shape[0] <= 400 and A.indices.dtype == "int32" and A.has_canonical_format
