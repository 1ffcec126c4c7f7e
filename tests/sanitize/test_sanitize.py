"""The program that runs every kernel under compute-sanitizer: its choice of tests, and what it finds."""

import json
from types import SimpleNamespace

import launched_kernels
import run_sanitizer


def test_the_sources_are_read():
    kernels = run_sanitizer.all_kernels()
    assert len(kernels) > 250 and "csgraph/coloring:color" in kernels


def test_a_cover_reaches_every_kernel(tmp_path):
    launches = {"a": {"p:x": 1, "p:y": 1}, "b": {"p:y": 4}, "c": {"q:z": 2, "p:x": 900}, "d": {"q:z": 3}}
    for number, (test, found) in enumerate(launches.items()):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"test": test, "launches": found}) + "\n")
    tests, reached = run_sanitizer.cover(run_sanitizer.read_launches(tmp_path))
    assert tests == ["a", "d"] and reached == {"p:x", "p:y", "q:z"}


def test_ranks_of_one_process_are_taken(tmp_path):
    tests = "tests/distributed/test_devices.py::test_compiled", "tests/distributed/test_forest_mpi.py::test_a"
    tests += ("tests/distributed/test_rank_devices.py::test_ranks_of_mpi_share_the_gpu[2]",)
    lines = [json.dumps({"test": test, "launches": {"p:x": 1}}) for test in tests]
    (tmp_path / "1.jsonl").write_text("\n".join(lines))
    assert list(run_sanitizer.read_launches(tmp_path)) == [tests[0]]


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch, capsys):
    (tmp_path / "launches").mkdir()
    (tmp_path / "launches" / "1.jsonl").write_text(json.dumps({"test": "t", "launches": {"p:x": 1}}) + "\n")
    ran = []

    def checked(tool, tests, end):
        ran.append(tool)
        outcome = "errors" if tool == "racecheck" else "clean"
        return {"tool": tool, "tests": tests, "outcome": outcome, "seconds": 1.0, "text": "a race"}

    monkeypatch.setattr(run_sanitizer, "checked", checked)
    for _ in range(2):
        assert run_sanitizer.main(["--out", str(tmp_path), "--tools", "memcheck,racecheck"]) == 1
    printed = capsys.readouterr().out
    assert ran == ["memcheck", "racecheck"] and "a race" in printed
    assert "memcheck: 1 of 1 tests, 0 of 1 processes not clean" in printed


def test_no_time_left():
    assert run_sanitizer.checked("memcheck", ("t",), end=0.0) is None


def test_a_counted_kernel_is_used_as_the_kernel_itself():
    def raw(*arguments):
        return arguments

    raw.kernel, raw.limit = SimpleNamespace(ptr=5), 1
    counted = launched_kernels.Recorded(raw, "p:x")
    counted.limit = 7
    before = launched_kernels.LAUNCHED["p:x"]
    assert counted.kernel.ptr == 5 and raw.limit == 7 and counted(1, 2) == (1, 2)
    assert launched_kernels.LAUNCHED["p:x"] == before + 1


def test_kernels_of_other_libraries_are_not_blamed():
    foreign = "=========     and Write access at cupy_nonzero_kernel_incomplete_scan+0x630 [192 hazards]"
    template = "========= Warning: Race between Read access at void csrgeam_core<float, (bool)1>(P<T1>)+0x10"
    own = "=========     at measure+0xfd0 in sweeps.cu:55"
    assert not run_sanitizer.blamed([foreign, template])
    assert run_sanitizer.blamed([foreign, own]) == {"measure"}
