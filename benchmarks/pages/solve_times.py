"""Time to solution with `lf.solve`, and with direct solvers, PyAMG and each preconditioner by hand.

    python -m benchmarks.pages.solve_times [--device cuda|cpu] [--gallery FOLDER] [--out FILE] [--rows N]
        [--only PATTERN ...] [--methods NAME,...] [--again] [--quick]
    python -m benchmarks.pages.solve_times --table FILE [FILE ...] [--write]

The first command appends a line of JSON about the machine, and one for each system and method as soon as it
is measured. What the file has already is not measured again, unless `--again` is given: later lines count.
Methods run in a child process, which is replaced when a run exceeds the limit. The second command prints the
table, or writes docs/solve_times.md. `benchmarks/systems/gallery.py` writes the FOLDER, LINFOREST_MATRICES
may name that of the real matrices.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatch
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measures import provenance
from benchmarks.measures.results import FOLDER
from benchmarks.measures.solve_methods import GROUPS, METHODS, Problem, measured, warm_up
from benchmarks.pages import solve_time_table
from benchmarks.systems.solve_time_systems import systems
from linforest_precond.backends import cuda_status

# Seconds of a run at most; and those of a start, which may compile, with the generation of a system.
LIMIT, START = 60.0, 900.0
# Of iterations by hand, in units of the best time so far, but not less than the least of all limits.
TIMES_BEST, SHORTEST = 5.0, 1.0
ROWS = {"cuda": 10**6, "cpu": 20_000}
QUICK_ROWS, QUICK_SYSTEMS = 100, ("Poisson 2-D", "convection 3-D, upwind")


def serve(connection, settings, methods) -> None:
    """The child process: answers a system's name with its size, a method and a limit with the outcome."""
    made, device, warm = systems(*settings), settings[0], set()
    problem = None
    while True:
        question = connection.recv()
        if not isinstance(question, str):
            connection.send(measured(problem, *question))
            continue
        try:
            problem = Problem.of(made[question](), device)
        except Exception as error:
            connection.send({"outcome": f"{type(error).__name__}: {error}"})
            continue
        dtype = problem.A.dtype
        if dtype not in warm:
            warm_up(dtype, device, methods)
            warm.add(dtype)
        connection.send({"rows": problem.A.shape[0], "entries": int(problem.A.nnz), "dtype": dtype.name})


class Child:
    """A process that stays, with all compiled code, until a run exceeds its limit."""

    def __init__(self, settings, methods):
        self.arguments = settings, methods
        self.process = self.system = None

    def loaded(self, system) -> dict:
        """The size of a system, which is made there; the outcome alone where that fails."""
        self.system = system
        return self.ask(system, START)

    def outcome(self, system, method, limit) -> dict:
        if self.process is None or self.system != system:
            self.loaded(system)
        # `limit` bounds the iterations of Krylov methods, LIMIT everything.
        return self.ask((method, limit), LIMIT)

    def ask(self, question, limit) -> dict:
        if self.process is None:
            self.start()
        self.connection.send(question)
        if not self.connection.poll(limit):
            self.stop()
            return {"outcome": f"longer than {limit:.0f} s"}
        try:
            return self.connection.recv()
        except EOFError:
            self.stop()
            return {"outcome": "the process ended"}

    def start(self):
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *self.arguments), daemon=True)
        self.process.start()
        other.close()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
        self.process = self.system = None


def measure_all(names, methods, child, known, again, write):
    """All outcomes that are not known yet, {system: {method: record}}, or known ones too."""
    for system in names:
        found = known.setdefault(system, {})
        missing = [method for method in methods if again or method not in found]
        if not missing:
            continue
        size = child.loaded(system)
        if "rows" not in size:
            print(f"{system}: left out, {size['outcome']}", flush=True)
            continue
        start = time.perf_counter()
        for method in missing:
            outcome = child.outcome(system, method, limit_of(found))
            found[method] = {"system": system, "method": method, **size, **outcome}
            write(found[method])
        spent = time.perf_counter() - start
        print(f"{solve_time_table.told(found)}; {spent:.0f} s", flush=True)


def limit_of(found) -> float:
    """Seconds of a run by hand: one that is far slower than the best is of no interest."""
    best = min(solve_time_table.own(found), solve_time_table.best_of(found)[0])
    return min(0.8 * LIMIT, max(SHORTEST, TIMES_BEST * best))


def measure(options) -> int:
    usable, reason = cuda_status()
    device = options.device or ("cuda" if usable else "cpu")
    if device == "cuda" and not usable:
        print(f"--device cuda needs a usable GPU: {reason}", file=sys.stderr)
        return 2
    settings = device, QUICK_ROWS if options.quick else options.rows or ROWS[device], options.gallery
    methods = chosen_methods(options.methods)
    patterns = QUICK_SYSTEMS if options.quick else options.only
    names = [name for name in systems(*settings) if any(fnmatch(name, pattern) for pattern in patterns)]
    path = options.out or FOLDER / f"solve_times_{device}.jsonl"
    known = solve_time_table.read(path)[1] if path.exists() else {}
    child = Child(settings, methods)
    with open(path, "a", encoding="utf-8") as out:

        def write(record):
            print(json.dumps(record, ensure_ascii=False), file=out, flush=True)

        write(provenance.surroundings(device))
        try:
            measure_all(names, methods, child, known, options.again, write)
        finally:
            child.stop()
    return 0


def chosen_methods(words) -> list[str]:
    """The methods that are named by themselves or by their group, in the order of all."""
    named = words.split(",")
    unknown = set(named) - set(METHODS) - set(GROUPS)
    if unknown:
        raise SystemExit(f"--methods must be among {[*GROUPS, *METHODS]}, got {sorted(unknown)}")
    return [name for group, members in GROUPS.items() for name in members if group in named or name in named]


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where a GPU is usable")
    parser.add_argument("--gallery", metavar="FOLDER", help="with the systems of benchmarks.systems.gallery")
    parser.add_argument("--out", type=Path, help="file for the records")
    parser.add_argument("--rows", type=int, help="of generated systems of usual size")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="of names of systems")
    parser.add_argument("--methods", default=",".join(GROUPS), help=f"groups {', '.join(GROUPS)}, or names")
    parser.add_argument("--again", action="store_true", help="measure also what the file has already")
    parser.add_argument("--quick", action="store_true", help="two tiny systems, as a test")
    parser.add_argument(
        "--table", nargs="+", type=Path, metavar="FILE", help="show the table of these records"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/solve_times.md")
    options = parser.parse_args(arguments)
    if not options.table:
        return measure(options)
    text = solve_time_table.page(options.table)
    if options.write:
        solve_time_table.DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
