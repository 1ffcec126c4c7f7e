"""Run every kernel once under the tools of compute-sanitizer, in parts that end after nine minutes.

    python tests/sanitize/run_sanitizer.py --out FOLDER

The first call runs the quick tests that need a GPU, and writes which kernels each of them launches. The
fewest and smallest tests that launch every kernel then run under each tool. What is done lies in FOLDER: a
later call goes on. At the end a table says what was found, and which kernels no test launches.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "linforest_precond" / "backends" / "cuda" / "kernels"
TOOLS = "memcheck", "racecheck", "initcheck", "synccheck"
# Tests of one process, and the exit status of a tool that found an error.
AT_ONCE, FOUND = 6, 86
# Ranks of MPI are other processes; simulated ones are threads.
OF_MPI = re.compile(r"(?<![a-z])mpi(?![a-z])")
# Seconds of a process at most.
LONGEST = 240.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of records and results")
    parser.add_argument("--seconds", type=float, default=540, help="begin nothing later (540)")
    parser.add_argument("--tools", default=",".join(TOOLS), help=f"of {', '.join(TOOLS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    options = parser.parse_args(arguments)
    end = time.monotonic() + options.seconds
    records = options.out / "launches"
    if not records.is_dir():
        launch_all(records, options.jobs)
    tests, reached = cover(read_launches(records))
    done = results(options.out)
    tasks = [
        (tool, tuple(tests[first : first + AT_ONCE]))
        for tool in options.tools.split(",")
        for first in range(0, len(tests), AT_ONCE)
    ]
    tasks = [task for task in tasks if task not in done]
    with ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(lambda task: checked(*task, end), tasks):
            if line is not None:
                with (options.out / "results.jsonl").open("a", encoding="utf-8") as file:
                    print(json.dumps(line), file=file)
    return show(results(options.out), tests, reached)


def launch_all(records: Path, jobs: int) -> None:
    """Run the quick tests, each of which writes the kernels that it launches."""
    records.mkdir(parents=True)
    command = [*pytest("tests"), "-m", "gpu and not slow", "-n", str(jobs), "-p", "launched_kernels"]
    subprocess.run(command, cwd=ROOT, env={**environment(), "LINFOREST_LAUNCHES": str(records.resolve())})


def pytest(*tests: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]


def environment() -> dict[str, str]:
    paths = [str(ROOT), str(ROOT / "tests" / "sanitize"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "NUMBA_NUM_THREADS": "1"}


def read_launches(records: Path) -> dict[str, dict[str, int]]:
    """The kernels that each test launches, and how often; not of tests that start ranks of MPI."""
    lines = [line for path in sorted(records.glob("*.jsonl")) for line in path.read_text().splitlines()]
    found = map(json.loads, lines)
    return {each["test"]: each["launches"] for each in found if not OF_MPI.search(each["test"])}


def cover(launches: dict[str, dict[str, int]]) -> tuple[list[str], set[str]]:
    """Tests that launch every kernel: each time the one with the most new kernels for its launches.

    Also the kernels that they reach, as "program:kernel".
    """
    missing = {kernel for each in launches.values() for kernel in each}
    reached, tests = set(missing), []
    while missing:
        best = max(
            sorted(launches),
            key=lambda test: len(missing & launches[test].keys()) / (5 + sum(launches[test].values()) ** 0.5),
        )
        tests.append(best)
        missing -= launches[best].keys()
    return tests, reached


def all_kernels() -> set[str]:
    """Those of the sources, as "program:kernel"."""
    declared = re.compile(r"^KERNEL[^{;]*?\b(?!__)(\w+)\((?=[^(]*\{)", re.MULTILINE)
    return {
        f"{path.relative_to(KERNELS).with_suffix('').as_posix()}:{name}"
        for path in KERNELS.rglob("*.cu")
        for name in declared.findall(path.read_text("utf-8"))
    }


def checked(tool: str, tests: tuple[str, ...], end: float) -> dict | None:
    """The result of some tests under a tool; None where there is no time left."""
    if time.monotonic() > end:
        return None
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "50"]
    began = time.monotonic()
    try:
        run = subprocess.run(
            [*command, *pytest(*tests)], cwd=ROOT, env=environment(), capture_output=True, text=True,
            timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"tool": tool, "tests": tests, "outcome": "time-out", "seconds": LONGEST, "text": ""}
    found = [line for line in run.stdout.splitlines() if line.startswith("=========")]
    outcome = {0: "clean", FOUND: "errors"}.get(run.returncode, f"status {run.returncode}")
    text = "" if outcome == "clean" else "\n".join(found[:40] or run.stdout.splitlines()[-20:])
    if outcome == "errors" and not blamed(found):
        outcome = "clean, but for other libraries"
    seconds = round(time.monotonic() - began, 1)
    return {"tool": tool, "tests": tests, "outcome": outcome, "seconds": seconds, "text": text}


def blamed(lines: list[str]) -> set[str]:
    """The kernels of this package that a report names; those of CuPy and cuSPARSE are theirs."""
    named = {name for line in lines for name in re.findall(r"\bat (?:void )?(\w+)[+<(]", line)}
    return named & {kernel.partition(":")[2] for kernel in all_kernels()}


def results(folder: Path) -> dict[tuple[str, tuple[str, ...]], dict]:
    path = folder / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {(each["tool"], tuple(each["tests"])): each for each in map(json.loads, lines)}


def show(done: dict[tuple[str, tuple[str, ...]], dict], tests: list[str], reached: set[str]) -> int:
    """Print what was found; 0 where nothing was."""
    unreached = sorted(all_kernels() - reached)
    print(f"{len(tests)} tests launch {len(reached)} kernels; {len(unreached)} are launched by no test")
    for kernel in unreached:
        print(f"  {kernel}")
    for tool in TOOLS:
        of_tool = [each for each in done.values() if each["tool"] == tool]
        count = sum(len(each["tests"]) for each in of_tool)
        bad = [each for each in of_tool if not each["outcome"].startswith("clean")]
        print(f"{tool}: {count} of {len(tests)} tests, {len(bad)} of {len(of_tool)} processes not clean")
        for each in bad:
            print(f"  {each['outcome']}: {' '.join(each['tests'])}\n{each['text']}")
    return int(any(not each["outcome"].startswith("clean") for each in done.values()))


if __name__ == "__main__":
    sys.exit(main())
