"""Time to solution with each preconditioner and with `lf.solve`, on real and generated systems.

    python -m benchmarks.pages.solve_times [--device cuda|cpu] [--out FILE] [--seconds N] [--rows N]
    python -m benchmarks.pages.solve_times --table FILE [--write]

The first command writes a line of JSON about the machine and one for each system as soon as it is measured,
and stops when the seconds are spent. The second one prints the table, or writes docs/solve_times.md.
LINFOREST_MATRICES may name the folder with the real matrices and their MANIFEST.tsv.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import linforest_precond as lf
from benchmarks.measures import provenance
from benchmarks.measures.results import FOLDER
from benchmarks.pages import solve_time_table
from benchmarks.pages.chooser import methods_of
from benchmarks.pages.solve_time_table import RTOL
from benchmarks.systems import solve_time_systems
from linforest_precond.backends import backend_of, cuda_status
from linforest_precond.chooser.candidates import Candidate, candidates_on
from linforest_precond.chooser.cost_model import SetupCost
from linforest_precond.chooser.facts import facts_of
from linforest_precond.chooser.trials import method_for
from linforest_precond.matrix.checked import checked
from linforest_precond.solvers.status import Status

MOST_ITERATIONS = 3000
# Seconds of a solve at most, and in units of the best so far, but not less than the least of all limits.
LONGEST, TIMES_BEST, SHORTEST = 2.0, 10.0, 0.1
# Iterations that are timed to predict how many fit into the limit.
TRIED_ITERATIONS = 8
# Seconds beyond which `lf.solve` is not called again: the first call counts. All kernels are compiled then.
LONG_CALL = 3.0
ROWS = {"cuda": 10**6, "cpu": 20_000}
SECONDS = 270.0
RECORDS = FOLDER / "solve_times.jsonl"


def with_inverses(A, seed):
    return lf.multilevel(A, smoother="approximate_inverse", cycle="V", seed=seed).aspreconditioner()


# Preconditioners that `lf.solve` does not try; what it predicts of candidates is not used here.
extra = partial(
    Candidate, setup_products=0, setup_on_gpu=SetupCost(0, 0), application_products=0,
    reduction=lambda facts: 1.0,
)  # fmt: skip
EXTRAS = (
    extra("3 forests", "lf.tridiagonal(A, forests=3)", lambda A, seed: lf.tridiagonal(A, forests=3)),
    extra("approximate_inverse 20", "lf.approximate_inverse(A)", lambda A, seed: lf.approximate_inverse(A)),
    extra(
        "multilevel inverses",
        'lf.multilevel(A, smoother="approximate_inverse", cycle="V").aspreconditioner()',
        with_inverses,
        is_definite=False,
        applies=lambda facts: facts.may_be_definite,
    ),
)


class OutOfTime(Exception):  # noqa: N818
    """The seconds of the whole run are spent."""


class System:
    """A matrix and a right-hand side on a device."""

    def __init__(self, name, A, deadline=math.inf):
        self.name, self.A, self.deadline = name, A, deadline
        self.backend = backend_of(A)
        i = self.backend.xp.arange(A.shape[0])
        self.b = A @ self.backend.xp.sin(16 * math.pi * i / A.shape[0])
        self.facts = facts_of(checked(A))

    def record(self, candidates) -> dict:
        """The times of all candidates and of `lf.solve`."""
        best, kinds = math.inf, {}
        for candidate in candidates:
            if not candidate.applies(self.facts):
                continue
            self.check_time()
            limit = LONGEST if candidate.name == "jacobi" else min(LONGEST, max(SHORTEST, TIMES_BEST * best))
            kinds[candidate.name] = self.outcome(candidate, limit)
            best = min(best, solve_time_table.seconds(kinds[candidate.name]))
        self.check_time()
        found = {"system": self.name, "rows": self.A.shape[0], "entries": int(self.A.nnz), "kinds": kinds}
        return found | {"solve": self.chosen()}

    def check_time(self):
        if time.perf_counter() > self.deadline:
            raise OutOfTime

    def outcome(self, candidate, limit) -> dict:
        """Of one candidate; an error is an outcome too."""
        try:
            return self.by_hand(candidate, limit)
        except Exception as error:
            return {"outcome": f"{type(error).__name__}: {error}"[:200]}

    def by_hand(self, candidate, limit) -> dict:
        """Setup and solve with the first Krylov method that does not break down."""
        make = partial(candidate.make, self.A, 0)
        self.timed(make)  # compiles
        setup, M = self.timed(make)
        found = {"setup": setup, "outcome": "setup longer than the limit"}
        if setup > limit:
            return found
        for method in methods_of(self.facts, candidate):
            found |= self.solution(M, method_for(M, method), limit - setup)
            if found["outcome"] in ("converged", "maxiter", "stagnated"):
                break
        return found

    def solution(self, M, method, limit) -> dict:
        """One solve within the limit of seconds, after two short ones: the first compiles."""
        self.timed(partial(self.solve, M, method, TRIED_ITERATIONS))
        tried, (history, _) = self.timed(partial(self.solve, M, method, TRIED_ITERATIONS))
        each = tried / max(1, math.ceil(history.iterations[-1]))
        most = max(1, min(MOST_ITERATIONS, int(limit / each)))
        spent, (history, info) = self.timed(partial(self.solve, M, method, most))
        count = math.ceil(history.iterations[-1])
        return {"solve": spent, "iterations": count, "method": method, "outcome": str(Status.from_info(info))}

    def solve(self, M, method, most):
        history = lf.solvers.History()
        solver = getattr(lf.solvers, method)
        _, info = solver(self.A, self.b, rtol=RTOL, maxiter=most, M=M, history=history)
        return history, info

    def chosen(self) -> dict:
        """The time of `lf.solve`: of the second call, where the first was not long."""
        spent, found = self.timed(self.solve_by_choice)
        if spent < LONG_CALL:
            spent, found = self.timed(self.solve_by_choice)
        return {"seconds": spent, **found}

    def solve_by_choice(self) -> dict:
        report = lf.SolveReport()
        _, info = lf.solve(self.A, self.b, rtol=RTOL, maxiter=MOST_ITERATIONS, report=report)
        names = ("name", "solver", "setup", "iteration", "iterations", "work", "outcome")
        trials = [{name: getattr(trial, name) for name in names} for trial in report.trials]
        chosen = report.chosen.name if report.chosen else None
        return {"converged": not info, "chosen": chosen, "work": report.work, "trials": trials}

    def timed(self, call):
        """Seconds of a call on an idle device, until its work is done, and its result."""
        self.backend.runtime.streams.finish_all()
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = call()
        self.backend.runtime.streams.finish_all()
        return time.perf_counter() - start, result


def records(device, rows, seconds, only=None):
    """The records of all systems within the seconds."""
    start = time.perf_counter()
    candidates = (*candidates_on(device), *EXTRAS)
    for name, make in solve_time_systems.systems(rows, device):
        if only and name not in only:
            continue
        gc.collect()
        try:
            record = System(name, make(), start + seconds).record(candidates)
        except OutOfTime:
            print(f"{name}: the {seconds:.0f} s are spent", flush=True)
            return
        except Exception:  # the others are measured all the same
            traceback.print_exc()
            continue
        yield record
        print(f"{solve_time_table.told(record)}; {time.perf_counter() - start:.0f} s", flush=True)


def measure(options) -> int:
    usable, reason = cuda_status()
    device = options.device or ("cuda" if usable else "cpu")
    if device == "cuda" and not usable:
        print(f"--device cuda needs a usable GPU: {reason}", file=sys.stderr)
        return 2
    rows = options.rows or ROWS[device]
    with open(options.out, "w", encoding="utf-8") as out:
        print(json.dumps(provenance.surroundings(device), ensure_ascii=False), file=out, flush=True)
        for record in records(device, rows, options.seconds, options.only):
            print(json.dumps(record, ensure_ascii=False), file=out, flush=True)
    return 0


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where a GPU is usable")
    parser.add_argument("--out", default=RECORDS, help="file for the records")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="stop after this time, compilation included"
    )
    parser.add_argument("--rows", type=int, help="of generated systems of usual size")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these systems")
    parser.add_argument(
        "--table", metavar="FILE", help="show the table of these records; nothing is measured"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/solve_times.md")
    options = parser.parse_args(arguments)
    if not options.table:
        return measure(options)
    text = solve_time_table.page(Path(options.table).read_text(encoding="utf-8"))
    if options.write:
        solve_time_table.DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
