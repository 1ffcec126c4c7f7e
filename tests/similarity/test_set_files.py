"""`read_sets`: files that would not fit into memory are refused before a set is made, and damaged ones."""

import gzip
import tracemalloc

import pytest

from linforest_precond.backends.cpu.runtime import calibration
from linforest_precond.similarity import read_sets


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(calibration, "free_bytes", lambda: 2**26)


def test_many_lines_in_a_small_file(tmp_path, little_memory):
    path = tmp_path / "sets.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1_000_000))
    assert path.stat().st_size < 4000
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"sets\.txt\.gz must fit into memory.*1,000,000 lines.*split"):
            read_sets(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("separator, mark", [(None, " "), (None, "\t"), (",", ","), ("::", "::")])
def test_many_elements_in_a_line(tmp_path, little_memory, separator, mark):
    path = tmp_path / "sets.txt"
    path.write_text(mark.join("a" for _ in range(1_000_000)))
    with pytest.raises(ValueError, match=r"sets\.txt must fit into memory as sets"):
        read_sets(path, separator)


def test_sets_that_fit(tmp_path, little_memory):
    path = tmp_path / "sets.txt.gz"
    path.write_bytes(gzip.compress(b"a b\nc\n" * 50_000))
    assert read_sets(path) == [frozenset("ab"), frozenset("c")] * 50_000


@pytest.mark.parametrize(
    "damaged",
    [gzip.compress(b"a\n" * 99)[:-3], b"a\n", gzip.compress(b"a\n" * 40_000_000)],
    ids=["cut off", "not gzip", "too long"],
)
def test_the_file_is_named(tmp_path, damaged):
    path = tmp_path / "sets.txt.gz"
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"sets\.txt\.gz cannot be read: "):
        read_sets(path)
