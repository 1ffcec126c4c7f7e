"""The documentation is complete: public names, paths of files and quoted measurements."""

import re
import types
from pathlib import Path

import pytest

import linforest_precond as lf
import linforest_precond.graph.forest.pipeline

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PATH = re.compile(r"`([\w*][\w./*]*\.(?:py|cuh?|rst|toml|md))`")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="tests run outside a source tree")


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


def public_names(module):
    """What a module exports: its own functions and classes."""
    named = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name for name in named if not isinstance(getattr(module, name), types.ModuleType)}


@pytest.mark.parametrize(
    "page, module",
    [
        ("preconditioners", lf),
        ("graph", lf.graph),
        ("solvers", lf.solvers),
        ("matrices", lf.matrices),
        ("similarity", lf.similarity),
    ],
)
def test_the_api_reference_lists_every_public_name(page, module):
    text = text_of(f"api/{page}.rst")
    if ".. automodule::" in text:
        text = module.__doc__
    listed = set(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    elsewhere = {"show_config", "warmup"} if module is lf else set()
    assert listed == public_names(module) - elsewhere


def test_pipeline_and_environment_are_listed():
    for page, names in {
        "pipeline": ("tridiagonal_bands", "block_tridiagonal_bands"),
        "environment": ("show_config", "warmup"),
    }.items():
        for name in names:
            assert f"\n   {name}\n" in text_of(f"api/{page}.rst")


def test_files_named_in_the_architecture_exist():
    named = set(PATH.findall(text_of("architecture.md")))
    assert len(named) > 50
    assert not [path for path in named if not exists(path)]


def test_tests_named_on_the_page_of_reliability_exist():
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", text_of("reliability.md")))
    assert len(named) > 10
    assert not [path for path in named if not (ROOT / path).exists()]


def exists(path):
    """In the repository or in the package; `backends/*/...` in both backends, a bare name in any room."""
    package = ROOT / "linforest_precond"
    if "*" in path:
        return len(list(package.glob(path))) == 2
    roots = ROOT, package, package / "backends/cuda/kernels"
    return any((root / path).exists() for root in roots) or ("/" not in path and any(package.rglob(path)))


def test_choosing_quotes_the_measured_iterations():
    rows = {
        line.split("|")[1].strip(): line
        for line in reversed(text_of("iterations.md").splitlines())
        if "|" in line
    }
    quoted = re.findall(r"^\| (\S.*?) \| (CG|BiCGStab) \| (.*) \|$", text_of("choosing.md"), re.MULTILINE)
    assert len(quoted) > 5
    for name, solver, counts in quoted:
        cells = [cell.strip() for cell in rows[name].strip("|").split("|")]
        assert [cells[3], *cells[7:11]] == [solver, *counts.split(" | ")], name
