"""Run the fuzzers and print what held.

    python tests/fuzz/run_fuzzers.py [--only NAME] [--class NAME] [--quick] [--seed N] [--minutes N]
    python tests/fuzz/run_fuzzers.py --only NAME --class NAME --case SEED
    python tests/fuzz/run_fuzzers.py --only NAME --file FILE

The same seeds give the same cases. Files of the cases that did not hold are kept in build/fuzz, and so is the
table, as JSON. `--write` puts the table into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- fuzz:begin -->", "<!-- fuzz:end -->"
SEEDS_AT_ONCE = 250  # cases of one task


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    make_importable()
    if options.case is not None or options.file:
        return run_again(options)
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"first seed: {options.seed}")
    tallies = run_all(options)
    print(as_table(tallies))
    write_json(options.out / "fuzz.json", tallies, options)
    if options.write:
        write_page(tallies)
    return 1 if any(tally.broken for tally in tallies) else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only",
        metavar="NAME",
        choices=harness.fuzzers(),
        type=lambda name: name.removeprefix("fuzz_"),
        help="one fuzzer",
    )
    parser.add_argument("--class", dest="of_class", metavar="NAME", help="one class of its cases")
    parser.add_argument("--quick", action="store_true", help="the cases of `make test`")
    parser.add_argument(
        "--seed", type=int, default=harness.first_seed(),
        help="of the first case (default: LINFOREST_FUZZ_SEED, or a new one every day)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="child processes at once")
    parser.add_argument("--minutes", type=float, help="start no further cases after this time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz", help="default: build/fuzz")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    parser.add_argument("--case", type=int, metavar="SEED", help="run one case in this process")
    parser.add_argument("--file", type=Path, help="run one file of the corpus in this process")
    options = parser.parse_args(arguments)
    if (options.case is not None or options.file) and not options.only:
        parser.error("--case and --file need --only")
    return options


def make_importable() -> None:
    """Put the package and the folders of tests on the path, as pytest does."""
    tests = ROOT / "tests"
    folders = [ROOT, tests, *sorted(path for path in tests.iterdir() if path.is_dir())]
    sys.path[:0] = [str(path) for path in folders if str(path) not in sys.path]


def run_again(options: argparse.Namespace) -> int:
    """One case in this process, with its traceback."""
    module = harness.fuzzer(options.only)
    if options.file:
        print(module.run_file(options.file))
        return 0
    folder = options.out / f"{options.only}-{options.case}"
    folder.mkdir(parents=True, exist_ok=True)
    prepared = module.prepare(folder)
    try:
        print(harness.run_one(module, prepared, options.only, options.of_class, options.case, folder))
    except Exception:
        traceback.print_exc()
        print(f"files: {folder}")
        return 1
    return 0


def run_all(options: argparse.Namespace) -> list[harness.Tally]:
    """All classes, cut into tasks for `jobs` children; results are added up in the order of the classes."""
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    tallies = {key: harness.Tally(*key) for key, _ in classes(options)}
    tasks = [
        (key, seeds)
        for key, count in classes(options)
        for seeds in harness.pieces(count, options.seed, SEEDS_AT_ONCE)
    ]

    def run(task: tuple[tuple[str, str], range]) -> harness.Tally:
        (name, of_class), seeds = task
        return harness.run_seeds(name, of_class, seeds if time.monotonic() < end else [], options.out)

    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run, task) for task in tasks]
        for done, future in enumerate(as_completed(futures), 1):
            part = future.result()
            whole = tallies[part.fuzzer, part.of_class]
            whole.outcomes += part.outcomes
            whole.broken += part.broken
            for case in part.broken:
                print(f"{case}\n", file=sys.stderr)
            show_progress(done, len(tasks), tallies)
    return list(tallies.values())


def classes(options: argparse.Namespace) -> list[tuple[tuple[str, str], int]]:
    """The chosen classes, each with its number of cases."""
    return [
        ((name, of_class), counts[0 if options.quick else 1])
        for name in ([options.only] if options.only else harness.fuzzers())
        for of_class, counts in harness.fuzzer(name).CLASSES.items()
        if options.of_class in (None, of_class)
    ]


def show_progress(done: int, tasks: int, tallies: dict[tuple[str, str], harness.Tally]) -> None:
    tried = sum(tally.tried for tally in tallies.values())
    broken = sum(len(tally.broken) for tally in tallies.values())
    end = "\n" if done == tasks or not sys.stderr.isatty() else "\r"
    print(f"{done} of {tasks} tasks, {tried:,} cases, {broken} broken", end=end, file=sys.stderr, flush=True)


def as_table(tallies: list[harness.Tally]) -> str:
    rows = [("fuzzer", "class", "tried", "held", "outcomes")]
    for tally in tallies:
        outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in tally.outcomes.most_common())
        rows.append((tally.fuzzer, tally.of_class, f"{tally.tried:,}", f"{tally.held:,}", outcomes))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0))) for row in rows)


def write_json(path: Path, tallies: list[harness.Tally], options: argparse.Namespace) -> None:
    document = {
        "first seed": options.seed,
        "classes": [
            {
                "fuzzer": tally.fuzzer,
                "class": tally.of_class,
                "tried": tally.tried,
                "held": tally.held,
                "outcomes": dict(tally.outcomes),
                "broken": [str(case) for case in tally.broken],
            }
            for tally in tallies
        ],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def write_page(tallies: list[harness.Tally]) -> None:
    """Put the table into the page of the documentation."""
    rows = ["| fuzzer | class | tried | held |", "|---|---|---:|---:|"]
    rows += [
        f"| `fuzz_{tally.fuzzer}` | {tally.of_class} | {tally.tried:,} | {tally.held:,} |"
        for tally in tallies
    ]
    tried, held = (sum(getattr(tally, name) for tally in tallies) for name in ("tried", "held"))
    rows.append(f"| all | | {tried:,} | {held:,} |")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    table = "\n".join([BEGIN, "", *rows, "", END])
    PAGE.write_text(before + table + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
