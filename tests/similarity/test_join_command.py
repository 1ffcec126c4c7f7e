"""``linforest join``: csv, recall and precision, errors in one line; files of sets."""

import csv

import pytest

from linforest_precond.app import cli
from linforest_precond.similarity import fuzzy_join, noisy_sets, read_sets

LINES = "graph, linear forest\nmatching,sets\nlinear forests,graphs\n"


@pytest.fixture
def join(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder; returns the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tags.txt").write_text(LINES, encoding="utf-8")

    def run(*arguments):
        code = cli.main(["join", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def rows(path):
    with open(path, newline="") as lines:
        return [(int(line["left"]), int(line["right"])) for line in csv.DictReader(lines)]


def test_writes_pairs(join, tmp_path):
    code, out, _ = join("tags.txt", "--separator", ",", "--assess")
    assert code == 0 and "recall     1.0000" in out and "tags.txt.pairs.csv" in out
    assert rows(tmp_path / "tags.txt.pairs.csv") == [(0, 2)]
    code, out, err = join("tags.txt", "--separator", ",")
    assert code == 2 and "--force" in err and out == ""


def test_two_files(join, tmp_path):
    code, _, err = join("tags.txt", "tags.txt", "--separator", ",", "--out", "p.csv", "--quiet")
    assert code == 0 and err == ""
    assert rows(tmp_path / "p.csv") == [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)]


def test_agrees_with_the_library(join, tmp_path):
    sets = noisy_sets(40, size=6, seed=9)
    (tmp_path / "noisy.txt").write_text("".join(" ".join(sorted(each)) + "\n" for each in sets))
    code, _, _ = join("noisy.txt", "--similarity", "edit", "--bound", "upper", "--threshold", 0.8)
    assert code == 0
    expected = fuzzy_join(sets, similarity="edit", bound="upper", threshold=0.8).pairs
    assert rows(tmp_path / "noisy.txt.pairs.csv") == expected != []


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["missing.txt"], 3, "missing.txt"),
        (["tags.txt", "--threshold", "2"], 2, "threshold must be"),
        (["tags.txt", "--q", "0"], 2, "q must be at least 1"),
        (["tags.txt", "--out", "nowhere/p.csv"], 2, "no folder"),
        (["blank.txt"], 2, "blank.txt, line 2 must have at least one element"),
        (["tags.txt", "--out", "tags.txt", "--force"], 2, "tags.txt is read by this command"),
        (["latin.txt"], 2, "must be a text file in UTF-8: byte 3"),
    ],
)
def test_errors_are_one_line(join, tmp_path, arguments, code, words):
    (tmp_path / "blank.txt").write_text("a\n \nb\n")
    (tmp_path / "latin.txt").write_bytes(b"abc\xe9\n")
    found, out, err = join(*arguments)
    assert (found, out) == (code, "") and words in err and err.count("\n") == 1
    assert not list(tmp_path.glob("*.csv"))


@pytest.mark.gpu
def test_on_the_gpu(join, tmp_path, cuda):
    code, _, _ = join("tags.txt", "--separator", ",", "--device", "cuda")
    assert code == 0 and rows(tmp_path / "tags.txt.pairs.csv") == [(0, 2)]


def test_files_of_sets(tmp_path):
    path = tmp_path / "sets.txt"
    path.write_bytes("\ufeffa b a\r\n\u00e9 \U0001f600\u2028x".encode())
    assert read_sets(path) == [{"a", "b"}, {"\u00e9", "\U0001f600", "x"}]
    path.write_text("")
    assert read_sets(path) == []
    with pytest.raises(ValueError, match="separator must not be empty"):
        read_sets(path, separator="")


def test_generated_sets():
    sets = noisy_sets(50, size=5, seed=2)
    assert sets == noisy_sets(50, size=5, seed=2) != noisy_sets(50, size=5, seed=3)
    assert len(sets) == 50 and all(sets)
    assert len(set(noisy_sets(12, copies=4, noise=0.0))) == 3
    for options in (
        {"count": -1},
        {"count": 1, "size": 0},
        {"count": 1, "noise": 1.5},
        {"count": 1, "words": 0},
    ):
        with pytest.raises(ValueError, match="must be"):
            noisy_sets(**options)


def test_a_lower_threshold_that_would_find_pairs(join, tmp_path):
    code, out, _ = join("tags.txt", "--separator", ",", "--threshold", 0.95)
    assert code == 0 and "No pair reaches 0.95; --threshold 0.7 would find 1 pair." in out
    (tmp_path / "unlike.txt").write_text("alpha\nbeta\n")
    assert "No pair reaches 0.7, nor 0.3." in join("unlike.txt")[1]


def test_large_sets_are_not_joined_again(join, tmp_path, monkeypatch):
    """Lower thresholds would need the weights between all elements of two large sets."""
    lines = (" ".join(f"{letter}{number}" for number in range(1_001)) for letter in "ab")
    (tmp_path / "large.txt").write_text("\n".join(lines) + "\n")
    code, out, _ = join("large.txt", "--threshold", 0.9)
    assert code == 0 and "No pair reaches" not in out
