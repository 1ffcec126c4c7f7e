"""The notebooks run from top to bottom, contain their pictures, and no traces of a machine."""

import ast
import json
import re
from pathlib import Path

import numba
import pytest
import strategies as graphs

import linforest_precond as lf

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST_BYTES = 500_000

pytestmark = pytest.mark.skipif(not NOTEBOOKS, reason="tests run outside a source tree")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path, kind="code"):
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def outputs(path):
    return [output for cell in cells(path) for output in cell["outputs"]]


def run(path, namespace):
    """Execute the code cells one after the other, as a kernel would."""
    for number, cell in enumerate(cells(path), start=1):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), namespace)


@pytest.fixture
def one_thread():
    """One thread: the systems are small, and on a busy machine more threads are slower."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


# `make docs` executes all of them.
@pytest.mark.parametrize("path", graphs.quick(NOTEBOOKS, 2), ids=lambda path: path.stem)
def test_runs(path, tmp_path, monkeypatch, one_thread):
    pytest.importorskip("pyamg", reason="the notebooks use PyAMG's gallery")
    matplotlib = pytest.importorskip("matplotlib", reason="the notebooks draw")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lf, "warmup", lambda: None)  # would compile much that nothing here needs
    try:
        run(path, {"__name__": "__main__"})
        shown = sum("plt.show()" in "".join(cell["source"]) for cell in cells(path))
        assert len(pyplot.get_fignums()) == shown > 0
    finally:
        pyplot.close("all")


@each_notebook
def test_pictures_and_no_errors_are_stored(path):
    kinds = [output["output_type"] for output in outputs(path)]
    assert "error" not in kinds
    assert any("image/png" in output.get("data", {}) for output in outputs(path))
    assert all(output.get("name") != "stderr" for output in outputs(path))


@each_notebook
def test_was_executed_from_top_to_bottom(path):
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@each_notebook
def test_is_plain_python_and_short(path):
    assert path.stat().st_size < LARGEST_BYTES
    for cell in cells(path):
        source = "".join(cell["source"])
        assert not re.search(r"^\s*[%!]", source, re.MULTILINE), "a magic: plain Python runs everywhere"
        assert source.count("\n") < 30, "this much code belongs into the library"
    assert cells(path, "markdown")[0]["source"][0].startswith("# ")


@each_notebook
def test_has_no_traces_of_a_machine(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["metadata"]["kernelspec"] == {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    texts = ["".join(output.get("text", [])) for output in outputs(path)]
    texts += ["".join(output.get("data", {}).get("text/plain", [])) for output in outputs(path)]
    assert not re.search(r"(^|[\s'\"(])(/|[A-Z]:\\)\w", "\n".join(texts)), "an absolute path"


def documented_names():
    """(module, name) of all that the pages of the reference list."""
    found = {("linforest_precond.study", "plots")}
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            current = re.match(r"\.\. (?:currentmodule|automodule):: (\S+)", line)
            module = current[1] if current else module
            name = re.fullmatch(r"   (\w+)", line)
            if name:
                found.add((module, name[1]))
    return found


@each_notebook
def test_imports_documented_names_alone(path):
    documented = documented_names()
    modules = {module for module, _ in documented}
    for cell in cells(path):
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("linforest_precond"):
                assert {(node.module, alias.name) for alias in node.names} <= documented, node.module
            elif isinstance(node, ast.Import):
                own = {alias.name for alias in node.names if alias.name.startswith("linforest_precond")}
                assert own <= modules | {"linforest_precond"}, own
