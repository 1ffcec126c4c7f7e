"""docs/reproduce.py turns finished runs into a page of the documentation."""

import importlib.util
import json
from pathlib import Path

import pytest
from study_cases import case, standin, study

import linforest_precond as lf
from linforest_precond.backends.cpu.reordering import cuthill_mckee as cpu_cuthill_mckee
from linforest_precond.study.number_formats import digits3, spread

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "reproduce.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="tests run outside a source tree")


@pytest.fixture
def reproduce():
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("reproduce", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(folder, name, made):
    (folder / name).mkdir()
    (folder / name / "study.json").write_text(json.dumps(made | {"study": "forests"}))
    return str(folder / name)


def test_two_runs_make_one_page(reproduce, tmp_path):
    first = study([case(convergence=None)], device="cuda")
    second = study([case(coverage=None, performance=None), standin(coverage=None, performance=None)])
    folders = [written(tmp_path, "one", first), written(tmp_path, "two", second)]
    (page,) = reproduce.main([*folders, "--out", str(tmp_path / "docs")])
    text = page.read_text(encoding="utf-8")
    assert page.name == "forests.md" and text.count("ANISO2 2500 × 2500") >= 9 and "incomplete" not in text
    assert len(list((page.parent / "forests").iterdir())) == 2 + 6  # panels, then figures 3, 5 and 6


def test_runs_of_several_commits_are_named(reproduce):
    runs = [study([case()]), study([case()]), study([case()])]
    runs[1]["machine"]["commit"] = "fedcba"
    del runs[2]["machine"]["commit"]
    assert reproduce.merged(runs)["machine"]["commit"] == "0123456789abcdef, fedcba, unknown"
    assert "commit" not in reproduce.merged(runs[2:])["machine"]


def test_stored_runs_have_the_same_page(reproduce, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "STORED", tmp_path / "stored")
    monkeypatch.setattr(reproduce, "QUOTES", {})
    (tmp_path / "stored").mkdir()
    run = written(tmp_path, "one", study([case(coverage=None, performance=None)], device="cuda"))
    (page,) = reproduce.main([run, "--keep", "forests-here", "--out", str(tmp_path / "docs")])
    text = page.read_text(encoding="utf-8")
    page.unlink()
    assert reproduce.main(["--stored", "--out", str(tmp_path / "docs")]) == [page]
    assert page.read_text(encoding="utf-8") == text and "83 to 92" in text


def test_runs_of_any_order_start_with_the_first_and_finish_with_the_last(reproduce):
    hours = ((14, 15), (12, 13), (16, 17))
    runs = [
        {"study": "rcm", "cases": []}
        | {"started": f"2026-11-19T{start}:12:00+00:00", "finished": f"2026-11-19T{end}:35:00+00:00"}
        for start, end in hours
    ]
    found = reproduce.merged([*runs, {"study": "rcm", "cases": [], "started": None}])
    assert (found["started"][11:13], found["finished"][11:13]) == ("12", "17")


def test_curves_keep_their_ends(reproduce):
    history = {"iterations": list(range(601)), "residuals": [0.5**k for k in range(601)]}
    few = reproduce.thinned({"runs": [{"history": history}]})["runs"][0]["history"]
    assert len(few["iterations"]) <= reproduce.MOST_POINTS + 1
    assert (few["iterations"][0], few["iterations"][-1]) == (0, 600)


def test_the_overview_quotes_the_stored_runs(reproduce):
    """python docs/reproduce.py --stored writes the numbers of docs/papers.md again."""
    page = reproduce.OVERVIEW.read_text(encoding="utf-8")
    assert reproduce.quoted(page) == page
    changed = page.replace("The authors' batch code, rebuilt", "Rebuilt").replace("with a median of", "about")
    assert changed != page and reproduce.quoted(changed) == page
    with pytest.raises(ValueError, match="rcm-nvidia-h200 once, found 0"):
        reproduce.quoted("")


def test_the_rule_of_cuthill_mckee_quotes_the_stored_run(reproduce):
    study = json.loads((reproduce.STORED / "rcm-nvidia-h200.json").read_text(encoding="utf-8"))
    said = " ".join(lf.graph.reverse_cuthill_mckee.__doc__.split())
    cases = {case["name"]: case for case in study["cases"]}
    early = cases.pop("mycielskian:16")

    def ratios(found, device, method, base):
        times = [case["times"][device] for case in found if case["times"][device]]
        return [each[method] / each[base] for each in times]

    for method in ("batch", "unordered"):
        assert f'"{method}" ' in said and spread(ratios(cases.values(), "cuda", method, "leveled")) in said
        assert digits3(*ratios([early], "cuda", method, "leveled")) in said
    for large in (True, False):
        found = [case for case in (*cases.values(), early) if (case["rows"] >= 10**6) == large]
        assert spread(ratios(found, "cpu", "batch", "serial")) in said
    choice = cpu_cuthill_mckee
    assert f"{choice.MIN_THREADS} threads, 2¹⁹ vertices, and {choice.MIN_WIDTH} vertices" in said
    assert choice.MIN_VERTICES == 2**19


def test_pages_show_the_stored_runs(reproduce, without_pictures, tmp_path):
    """Tables, findings and words of the templates: python docs/reproduce.py --stored writes them again."""
    pages = reproduce.main(["--stored", "--out", str(tmp_path)])
    assert len(pages) == len({page.name for page in pages}) >= 7
    for page in pages:
        kept = SCRIPT.parent / "papers" / page.name
        assert page.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), page.name
        assert {picture.name for picture in (tmp_path / page.stem).glob("*")} == {
            picture.name for picture in kept.with_suffix("").glob("*")
        }
