"""README tells the truth: its code runs and prints what stands there, its numbers are measured."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import linforest_precond as lf

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
NEEDS_GPU = "# needs a GPU\n"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")

pytestmark = pytest.mark.skipif(not README.exists(), reason="tests run outside a source tree")


def blocks():
    """The blocks of code and of output, in order."""
    return BLOCK.findall(README.read_text(encoding="utf-8"))


def programs():
    """(code, what it prints) of every block of Python."""
    found = blocks()
    for (kind, code), (following, text) in zip(found, [*found[1:], ("", "")]):
        if kind == "python":
            yield code, text if following == "text" else ""


def printed(code, namespace):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(README), "exec"), namespace)
    return output.getvalue()


def assert_same_up_to_rounding(seen, written):
    """Equal words; numbers within two percent: steps of a solver depend on the machine's rounding."""
    assert NUMBER.sub("#", seen) == NUMBER.sub("#", written)
    values = ([float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (seen, written))
    for one, other in zip(*values, strict=True):
        assert one == pytest.approx(other, rel=0.02), seen


def test_code_runs_and_prints_what_is_written():
    namespace = {}
    for code, text in programs():
        if not code.startswith(NEEDS_GPU):
            assert_same_up_to_rounding(printed(code, namespace), text)
    # What the library itself prints does not depend on the machine at all.
    assert f"{namespace['forest']}\n" in [text for _, text in programs()]


def test_a_preconditioner_prints_what_is_written():
    namespace = {}
    printed(next(programs())[0], namespace)
    text = README.read_text(encoding="utf-8")
    written = re.search(r"^```\n(AlgTriScalPrecond:.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    time = re.compile(r"^  setup .*\n", re.MULTILINE)
    assert time.search(written) and time.sub("", f"{namespace['M']}\n") == time.sub("", written)


@pytest.mark.gpu
@pytest.mark.slow
def test_gpu_code_runs(cuda):
    codes = [code for code, _ in programs() if code.startswith(NEEDS_GPU)]
    assert codes
    for code in codes:
        assert "linear forest" in printed(code, {})


def test_the_command_of_every_change_is_shown():
    text = README.read_text(encoding="utf-8")
    assert "make test " in text and "make demo " in text
    assert "exec make test\n" in (ROOT / ".ci" / "run").read_text()


def test_make_targets_exist():
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", "\n".join(commands())))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named and named <= targets


def commands():
    return re.findall(r"^    (\S.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


def test_extras_exist():
    text = README.read_text(encoding="utf-8")
    pyproject = (ROOT / "pyproject.toml").read_text()
    for extra in re.findall(r"\[(cuda\w+)\]", text):
        assert f"\n{extra} = " in pyproject


COVERAGES = {
    "ANISO1": lambda side: lf.matrices.aniso(1, side),
    "ANISO2": lambda side: lf.matrices.aniso(2, side),
    "ANISO3": lambda side: lf.matrices.aniso(3, side),
    "uniform five-point grid": lambda side: lf.matrices.poisson((side, side)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERAGES)
def test_coverages_are_measured(name):
    A = COVERAGES[name](1000)
    factors = [lf.graph.factor(A, n).coverage for n in (1, 2, 3, 4)]
    measured = [lf.graph.identity_coverage(A), *factors, lf.linear_forest(A).coverage]
    line = " | ".join([f"| {name}", *(f"{value:.3f}" for value in measured)])
    assert f"\n{line} |\n" in README.read_text(encoding="utf-8")
