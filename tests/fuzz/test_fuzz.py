"""A quick run of every fuzzer, and its corpus: the cases that failed once."""

import harness
import pytest
import strategies as graphs

# Fuzzers whose processes compile or import much.
SLOW = "downloads", "names", "numbers", "ranks", "residuals", "solve", "storage", "threads"
each_fuzzer = pytest.mark.parametrize(
    "name", [graphs.slow(name) if name in SLOW else name for name in harness.fuzzers()]
)


@each_fuzzer
def test_quick_run_and_corpus(name, tmp_path):
    """One process for all: most of its time is imports and compilation."""
    first, has_corpus = harness.first_seed(), hasattr(harness.fuzzer(name), "run_file")
    with harness.Child(name) as child:
        for of_class, (count, _) in harness.fuzzer(name).CLASSES.items():
            tally = harness.run_cases(child, of_class, range(first, first + count), tmp_path)
            assert not tally.broken, "\n\n".join(map(str, tally.broken[:3]))
            assert tally.held == count
        assert has_corpus == bool(harness.corpus_files(name))
        if has_corpus:
            tally = harness.run_corpus(child)
            assert not tally.broken, "\n\n".join(map(str, tally.broken))
            assert tally.held == len(harness.corpus_files(name))


def test_seeds_are_new_every_day(monkeypatch):
    monkeypatch.delenv("LINFOREST_FUZZ_SEED", raising=False)
    most = max(count for name in harness.fuzzers() for _, count in harness.fuzzer(name).CLASSES.values())
    assert harness.first_seed() % harness.CASES_A_DAY == 0 and most <= harness.CASES_A_DAY
    monkeypatch.setenv("LINFOREST_FUZZ_SEED", "17")
    assert harness.first_seed() == 17


class TestHarness:
    """The harness on a fuzzer whose cases fail in known ways."""

    @pytest.fixture
    def fuzzer(self, tmp_path, monkeypatch):
        (tmp_path / "fuzz_failing.py").write_text(FAILING)
        monkeypatch.syspath_prepend(str(tmp_path))
        return "failing"

    def test_every_failure_is_seen_and_the_next_case_runs(self, fuzzer):
        tally = harness.run_seeds(fuzzer, "all", range(6))
        assert tally.outcomes == {"held": 2}
        reasons = {case.case: case.reason for case in tally.broken}
        assert "ended with -11" in reasons[1] and "Segmentation fault" in reasons[1]
        assert "AssertionError" in reasons[2]
        assert "no answer within 2 s" in reasons[3]
        assert "MemoryError" in reasons[4]

    def test_files_of_failed_cases_are_kept(self, fuzzer, tmp_path):
        harness.run_seeds(fuzzer, "all", [0, 2], tmp_path / "kept")
        kept = list((tmp_path / "kept").rglob("*.txt"))
        assert [path.read_text() for path in kept] == ["case 2"]

    def test_a_fuzzer_that_does_not_start(self, fuzzer, monkeypatch):
        monkeypatch.setenv("LINFOREST_TEST_FAIL", "1")
        tally = harness.run_seeds(fuzzer, "all", [0])
        assert not tally.held and "KeyError" in tally.broken[0].reason

    def test_the_same_seed_gives_the_same_numbers(self):
        draws = [harness.generator("a", "b", 3).integers(1 << 62) for _ in range(2)]
        assert draws[0] == draws[1] != harness.generator("a", "b", 4).integers(1 << 62)


FAILING = """
import os, signal, time
CLASSES = {"all": (6, 6)}
LIMIT_SECONDS = 2.0
counter = {"case": -1}

def prepare(folder):
    if os.environ.get("LINFOREST_TEST_FAIL"):
        raise KeyError("prepare")
    import harness
    draws = {int(harness.generator("failing", "all", seed).integers(1 << 62)): seed for seed in range(6)}
    return draws

def run_case(draws, name, rng, folder):
    case = draws[int(rng.integers(1 << 62))]
    (folder / "file.txt").write_text(f"case {case}")
    if case == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == 2:
        assert False
    if case == 3:
        time.sleep(60)
    if case == 4:
        bytearray(1 << 40)
    return "held"
"""
