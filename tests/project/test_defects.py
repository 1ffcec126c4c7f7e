"""The defects that tests/inject_defects.py injects fit the code."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = tomllib.loads(Path(__file__).with_name("defects.toml").read_text(encoding="utf-8"))["defect"]


@pytest.mark.skipif(not (ROOT / "solvers").exists(), reason="tests run outside a source tree")
@pytest.mark.parametrize("defect", DEFECTS, ids=[defect["room"] for defect in DEFECTS])
def test_a_defect_can_be_injected(defect):
    """Where the line has changed, its new text belongs into defects.toml."""
    text = (ROOT / defect["file"]).read_text(encoding="utf-8")
    assert text.count(defect["old"]) == 1 and defect["new"] != defect["old"]
    assert all((ROOT / path).exists() for path in defect["tests"].split())
