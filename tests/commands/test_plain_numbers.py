"""Numbers on the command line are ASCII digits; sizes of generated matrices are bounded by the memory."""

import pytest

import linforest_precond as lf
from linforest_precond.app import cli
from linforest_precond.backends.arguments import integer, number
from linforest_precond.backends.cpu.runtime import calibration

SPELLINGS = "1_0", "\u0663", "\uff11", "1\u00b2"


@pytest.mark.parametrize("text", SPELLINGS)
@pytest.mark.parametrize(
    "words",
    [
        ["solve", "poisson2d:4", "--no-out", "--rtol"],
        ["solve", "poisson2d:4", "--no-out", "--atol"],
        ["solve", "poisson2d:4", "--no-out", "--maxiter"],
        ["solve", "poisson2d:4", "--no-out", "--seed"],
        ["study", "--rtol"],
        ["study", "--maxiter"],
        ["study", "--permutations"],
        ["join", "sets.txt", "--threshold"],
        ["join", "sets.txt", "--q"],
        ["traffic", "packets.csv", "--batches"],
    ],
)
def test_options_refuse_other_spellings(words, text, capsys):
    assert cli.main([*words, text]) == 2
    told = capsys.readouterr().err
    assert f"argument {words[-1]}: invalid" in told and "value" in told


@pytest.mark.parametrize("text", SPELLINGS)
def test_names_of_matrices_refuse_other_spellings(text):
    with pytest.raises(ValueError, match="name .* should be a positive whole number"):
        lf.matrices.load(f"poisson2d:{text}")


def test_plain_spellings():
    assert [integer(text) for text in ("10", "+7", " -3 ")] == [10, 7, -3]
    assert [number(text) for text in ("1e-8", ".5", "0")] == [1e-8, 0.5, 0.0]


@pytest.mark.parametrize(
    "name",
    ["poisson2d:99999999", "poisson:9999x9999x9999", "aniso1:99999999", "rmat:40", "rgg:999999999999"],
)
def test_sizes_beyond_the_memory(name):
    with pytest.raises(ValueError, match=f"name '{name}': .*should be smaller: .* rows do not fit"):
        lf.matrices.load(name)


def test_a_size_with_too_many_digits():
    with pytest.raises(ValueError, match="should have at most 18 digits"):
        lf.matrices.load("poisson2d:" + "9" * 5000)


def test_the_bound_is_the_free_memory(monkeypatch):
    monkeypatch.setattr(calibration, "free_bytes", lambda: 64 * 100)
    assert lf.matrices.load("poisson2d:10").shape == (100, 100)
    with pytest.raises(ValueError, match="should be smaller"):
        lf.matrices.load("poisson2d:11")
