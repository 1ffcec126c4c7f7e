"""README.md, PERFORMANCE.md and docs/: the Python code runs and prints what is shown, and links resolve."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.linalg import gmres

import linforest_precond as lf

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
# docs/gallery is written by `make docs`.
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != ROOT / "docs" / "gallery"]
DOCUMENTS = [README, ROOT / "benchmarks" / "PERFORMANCE.md", *PAGES]
# A block that starts with this line runs on the GPU only; any other "# needs ..." means that it is not run.
NEEDS_GPU = "# needs a GPU\n"
NEEDS = "# needs "
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# The line of `print(M)` that differs from run to run.
SETUP_TIME = re.compile(r"^  setup .*\n", re.MULTILINE)
# Residuals that rounding errors cause differ from machine to machine.
ROUNDING = re.compile(r"\d\.\d+e-1[1-9]")
LINK = re.compile(r"\]\(([^)\s]+)\)")

pytestmark = pytest.mark.skipif(not README.exists(), reason="tests run outside a source tree")
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)


def text_of(document):
    return document.read_text(encoding="utf-8")


def programs(document):
    """(code, shown output) of every block of Python; None where no block of text follows directly."""
    text = text_of(document)
    found = list(BLOCK.finditer(text))
    for block, following in zip(found, [*found[1:], None]):
        if block[1] == "python":
            shown = following and following[1] == "text" and not text[block.end() : following.start()].strip()
            yield block[2], following[2] if shown else None


def printed(code, namespace):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "a block of code", "exec"), namespace)
    return output.getvalue()


def assert_same_up_to_rounding(seen, shown):
    """Equal words; numbers within two percent: iteration counts depend on the machine's rounding."""
    seen, shown = (ROUNDING.sub("~0", SETUP_TIME.sub("", text)) for text in (seen, shown))
    assert NUMBER.sub("#", seen) == NUMBER.sub("#", shown)
    values = ([float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (seen, shown))
    for one, other in zip(*values, strict=True):
        assert one == pytest.approx(other, rel=0.02), seen


# What these pages run takes long, and is tested in tests/study and tests/similarity, too.
SLOW = [f"docs/guide/{name}.md" for name in ("joins", "study", "traffic")]


@pytest.mark.parametrize(
    "document",
    [pytest.param(ROOT / name, marks=pytest.mark.slow if name in SLOW else ()) for name in NAMES],
    ids=NAMES,
)
def test_code_runs_and_prints_what_is_shown(document):
    namespace = {}
    for code, shown in programs(document):
        if not code.startswith(NEEDS):
            seen = printed(code, namespace)
            if shown is not None:
                assert_same_up_to_rounding(seen, shown)


def test_readme_has_an_example():
    assert any(not code.startswith(NEEDS) for code, _ in programs(README))


@pytest.mark.gpu
@pytest.mark.slow
@each_document
def test_gpu_code_runs(cuda, document):
    for code, shown in programs(document):
        if code.startswith(NEEDS_GPU):
            seen = printed(code, {})
            if shown is not None:
                assert_same_up_to_rounding(seen, shown)


@each_document
def test_make_targets_exist(document):
    named = set(re.findall(r"^    make ([a-z][a-z-]*)", text_of(document), re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named <= targets


def test_readme_has_at_most_150_lines():
    assert len(text_of(README).splitlines()) <= 150


def preconditioners_of_readme():
    """The code in the second column of "Which preconditioner when"."""
    section = text_of(README).partition("## Which preconditioner when")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", section, re.MULTILINE)[2:]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


def test_every_preconditioner_of_readme_is_one_for_scipy():
    found = preconditioners_of_readme()
    assert len(found) >= 12
    grid, (stiffness, nodes) = lf.matrices.poisson((16, 16)), lf.matrices.elasticity((4, 3, 3))
    for code in found:
        A = stiffness if "nodes" in code else grid
        b = np.ones(A.shape[0])
        M = eval(code, {"lf": lf, "A": A, "b": b, "nodes": nodes})
        x, info = M if "solve" in code else gmres(A, b, M=M, rtol=1e-8)
        assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b), code


def test_readme_shows_the_command_of_every_change():
    assert "make test" in text_of(README) and "make demo" in text_of(README)
    assert "make test\n" in (ROOT / ".ci" / "run").read_text()


@each_document
def test_links_resolve(document):
    for link in LINK.findall(BLOCK.sub("", text_of(document))):
        if ":" in link:
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(document):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text_of(document)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_extras_exist():
    pyproject = (ROOT / "pyproject.toml").read_text()
    for document in DOCUMENTS:
        for extra in re.findall(r"linforest-precond\[(\w+)\]", text_of(document)):
            assert f"\n{extra} = " in pyproject, extra
