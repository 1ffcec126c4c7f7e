"""docs/reproduce.py turns finished runs into a page of the documentation."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from study_cases import case, not_done, standin, study

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
    (folder / name / "study.json").write_text(json.dumps(made))
    return str(folder / name)


def test_two_runs_make_one_page(reproduce, tmp_path):
    missing = not_done("ML_Geer", "missing", "no network")
    first = study([case(convergence=None), missing], device="cuda")
    second = study([case(coverage=None, performance=None), standin(performance=None)], device="cuda")
    folders = [written(tmp_path, "one", first), written(tmp_path, "two", second)]
    page = reproduce.main([*folders, "--out", str(tmp_path / "docs")])
    text = page.read_text(encoding="utf-8")
    assert text.count("\n| ANISO2 2500 × 2500 |") == 10  # every table but the one of missing matrices
    assert "1,252 (1,251)" in text and "0.67 (0.67)" in text and "atmosmodm\\*" in text
    assert "| ML\\_Geer | missing | no network |" in text
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) == 6 and all((page.parent / picture).stat().st_size for picture in pictures)
    assert not re.search(r"<\w+>", text)  # every picture has its place


def test_on_the_cpu_launches_have_no_picture(reproduce, tmp_path):
    page = reproduce.main([written(tmp_path, "one", study([case()])), "--out", str(tmp_path / "docs")])
    names = {path.stem for path in (page.parent / "linear_forests").iterdir()}
    assert names == {"propositions", "convergence", "scan_times", "setup_breakdown"}
