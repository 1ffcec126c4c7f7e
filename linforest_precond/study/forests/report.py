"""The tables and texts of the report, for ``templates/forests.html``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from statistics import fmean, median
from typing import Any

from linforest_precond.solvers import Status
from linforest_precond.study.forests import plots
from linforest_precond.study.forests.counted_times import PROPOSITIONS
from linforest_precond.study.forests.coverage import BLOCK_PERIODS, CONFIGURATIONS, DEGREES
from linforest_precond.study.forests.findings import converged, has_large_error, total_seconds
from linforest_precond.study.forests.performance_tables import METHODS, PERMUTATIONS, WAYS, Timings, quotient
from linforest_precond.study.forests.plots import PRECONDITIONERS, look_of
from linforest_precond.study.forests.tables import (
    TABLE3,
    TABLE4,
    TABLE5,
    Quantity,
    by_rule,
    compare,
    of_the_paper,
    published,
    published_coverage,
    rules,
)
from linforest_precond.study.listings import Badge, Cell, Heading, Html, Row
from linforest_precond.study.number_formats import (
    NONE,
    count,
    coverage,
    difference,
    digits3,
    fixed,
    missing,
    percent,
    seconds,
    small,
    yes_no,
)
from linforest_precond.study.results import JsonObject, dig, done

ORIGINS = {
    "generated": "generated",
    "stand-in": "generated stand-in",
    "collection": "SuiteSparse Matrix Collection",
    "gallery": "PyAMG’s gallery",
    "file": "a file",
}
STATUSES = {"failed": Badge("failed", "failed"), "missing": Badge("not available", "missing")}
C_ID = Html("<span>c<sub>id</sub></span>")
C5 = Html("<span>c<sub>π</sub>(5)</span>")
CMAX = Html("<span>c<sub>π</sub>(M<sub>max</sub>)</span>")
MMAX = Html("<span>M<sub>max</sub></span>")
CHARGING = {
    (1, 0): "no charging at all",
    (5, 0): "no charging on k = 0, 5, 10, …",
    (5, 1): "no charging on k = 1, 6, 11, …",
}
# The headings of the columns of tables 3, 4 and 5.
HEADS3: tuple[Heading, ...] = ("Symmetric", "N", "Entries", "Mean degree")
HEADS4: tuple[Heading, ...] = (
    *((CHARGING[pair], head) for pair in CONFIGURATIONS for head in (C5, CMAX, MMAX)),
    "Greedy",
)
HEADS5: tuple[Heading, ...] = (
    C_ID,
    *((f"n = {n}", kind) for n in DEGREES for kind in ("parallel", "greedy")),
    *(("2×2 blocks", f"m = {m}") for m in BLOCK_PERIODS),
)
HASHES = {"md5": "MD5", "splitmix64": "splitmix64"}
LARGE_ERROR = (
    "the solve converged, but the solution has less than half of the digits that the residual promises, "
    "because the matrix is ill-conditioned"
)


def variables(study: JsonObject) -> JsonObject:
    """The variables of the template."""
    covered, solved, timed = (done(study, part) for part in ("coverage", "convergence", "performance"))
    on_gpu = any(Timings(case).launches for case in timed)
    has_srcsr = any(Timings(case).srcsr_per_spmv() is not None for case in timed)
    runs = [(case, run) for case in solved for run in case["convergence"]["runs"]]
    names = dict.fromkeys(run["precond"] for _, run in runs)
    return {
        "plots": plots,
        "matrices": [
            {"Matrix": case, "Origin": _origin(case)} | _compared_cells(case, HEADS3, TABLE3)
            for case in study["cases"]
        ],
        "table4": [row for case in covered for row in _rule_rows(case, HEADS4, TABLE4)],
        "table5": [row for case in covered for row in _rule_rows(case, HEADS5, TABLE5)],
        "charges": [_hash_row(case) for case in covered if case["coverage"].get("charges")],
        "single_precision": [row for case in covered for row in _sum_rows(case)],
        "further_rows": [
            line["further"] for name, line in PRECONDITIONERS.items() if name in names and line["further"]
        ],
        "legend": {name: look_of(name)["function"] for name in names},
        "runs": [_run_row(case, run) for case, run in runs],
        "unconverged": [_unconverged_row(case, run) for case, run in runs if not converged(run)],
        "LARGE_ERROR": LARGE_ERROR,
        "on_gpu": on_gpu,
        "propositions": [
            _proposition_row(case, dtype, has_srcsr)
            for case in timed
            for dtype in Timings(case).precisions or [NONE]
        ],
        "has_srcsr": has_srcsr,
        "ways": [_way_row(case, on_gpu) for case in timed],
        "settings": study.get("settings") or {},
        "maxiter": _extremes(solved, "maxiter"),
        "permutations": _extremes(solved, "permutations"),
        "threads": timed[0]["performance"].get("threads") if timed else None,
    }


def _origin(case: JsonObject) -> Cell:
    origin, status = str(case.get("origin") or NONE), str(case.get("status"))
    badge, note = STATUSES.get(status), case.get("note")
    return Cell(ORIGINS.get(origin, origin), words=True, badge=badge, note=note)


def _compared_cells(case: JsonObject, heads: tuple[Heading, ...], quantities: tuple[Quantity, ...]) -> Row:
    return {head: compared_cell(case, quantity) for head, quantity in zip(heads, quantities)}


def compared_cell(case: JsonObject, quantity: Quantity) -> Cell:
    """Our value, the paper's and the difference."""
    ours, theirs, change, departs = compare(case, quantity)
    if theirs is None:
        return Cell(_value(ours, quantity))
    # Counts depend on the size of the matrix: their difference is meaningful at the paper's size only.
    due = quantity.digits != 0 or of_the_paper(case)
    shown = None
    if change is not None and quantity.digits is not None and due:
        shown = difference(change, quantity.digits)
    return Cell(_value(ours, quantity), _value(theirs, quantity), shown, departs)


def _value(value: Any, quantity: Quantity) -> str:
    if quantity.digits is None:
        return yes_no(value)
    return count(value) if quantity.digits == 0 else fixed(value, quantity.digits)


def _rule_rows(case: JsonObject, heads: tuple[Heading, ...], quantities: tuple[Quantity, ...]) -> list[Row]:
    """A row for each order among equal weights, with the published value where that order is compared."""
    if not rules(case):
        return [{"Matrix": case, "Ties": NONE} | _compared_cells(case, heads, quantities)]
    compared = case["coverage"].get("ties") or {}
    found: list[Row] = []
    for rule in rules(case):
        row: Row = {"Matrix": case, "Ties": rule}
        for head, quantity in zip(heads, quantities):
            kind = "sequential" if quantity.key.startswith("sequential") else "parallel"
            paper = case.get("paper") if rule == compared.get(kind) else None
            row[head] = compared_cell(by_rule(case, rule) | {"paper": paper}, quantity)
        found.append(row)
    return found


def _hash_row(case: JsonObject) -> Row:
    """Coverages by the hash of the charges: means over the seeds, and the spread of MD5's."""
    row: Row = {"Matrix": case}
    for n in DEGREES:
        by_seed = {name: dig(case, "coverage", "charges", name, str(n)) or [] for name in HASHES}
        for name, values in by_seed.items():
            row[f"n = {n}", HASHES[name]] = fixed(fmean(values), 4) if values else NONE
        values = by_seed["md5"]
        row[f"n = {n}", "spread"] = fixed(max(values) - min(values), 4) if values else NONE
    return row


def _sum_rows(case: JsonObject) -> list[Row]:
    """Coverages with exact sums, then a row for each number of partial sums in single precision."""
    found = case["coverage"]
    if not found.get("single_precision"):
        return []
    sums: dict[str, JsonObject] = {"double precision": {"identity": found.get("identity"), "scale": 1.0}}
    for each in found["single_precision"]:
        sums[f"float32, {each['parts']} partial sum{'s' if each['parts'] > 1 else ''}"] = each
    return [_sum_row(case, name, each) for name, each in sums.items()]


def _sum_row(case: JsonObject, name: str, sums: JsonObject) -> Row:
    """Agreement with the published values to their two digits is bold."""
    paper = published(case)
    blocks = {m: dig(case, "coverage", "block", str(m)) for m in BLOCK_PERIODS}
    ours: dict[Heading, Any] = {C_ID: sums["identity"]}
    for m, value in blocks.items():
        ours[f"2×2 blocks, m = {m}"] = None if value is None else value * sums["scale"]
    row: Row = {"Matrix": case, "Sums": name}
    if paper is None:
        return row | {head: fixed(value, 3) for head, value in ours.items()}
    theirs = (paper.table5.c_id, *(paper.table5.block[m] for m in BLOCK_PERIODS))
    for (head, value), wanted in zip(ours.items(), theirs):
        agrees = of_the_paper(case) and value is not None and round(value, 2) == wanted
        row[head] = Cell(fixed(value, 3), coverage(wanted), best=agrees)
    return row


def _run_row(case: JsonObject, run: JsonObject) -> Row:
    """A solve in numbers; the least of the converged solves of a case are bold."""
    solves = case["convergence"]
    name = run["precond"]

    def least(value: Callable[[JsonObject], Any], form: Callable[[Any], str]) -> Cell:
        known = [value(other) for other in solves["runs"] if converged(other) and not missing(value(other))]
        ours = value(run)
        return Cell(form(ours), best=converged(run) and len(known) > 1 and ours == min(known))

    def least_of(key: str, form: Callable[[Any], str]) -> Cell:
        return least(lambda each: each.get(key), form)

    error = least_of("error", small)
    if has_large_error(run, solves.get("rtol")):
        error = error._replace(best=False, badge=Badge("large", "missing", LARGE_ERROR))
    ended = Badge(_status(run), "ok" if converged(run) else "failed", _advice(run))
    return {
        "Matrix": case,
        "Preconditioner": Cell(name, swatch=plots.colour_of(name)),
        "Iterations": least_of("iterations", count),
        "Median": least_of("median_iterations", _median if solves.get("permutations") else count)._replace(
            note=_range(run)
        ),
        "Status": Cell("", words=True, badge=ended),
        "Setup": least_of("setup_seconds", seconds),
        "Solve": least_of("solve_seconds", seconds),
        "Total": least(total_seconds, seconds),
        "Residual": small(run.get("residual")),
        "Error": error,
        "Coverage": _coverage(case, run),
    }


def _status(run: JsonObject) -> str:
    return str(run.get("status") or "unknown").lower()


def _advice(run: JsonObject) -> str | None:
    """The meaning of a solver's status, with advice."""
    status = str(run.get("status"))
    return Status[status].advice if status in Status.__members__ else None


def _median(iterations: float | None) -> str:
    """JSON has no infinity: a missing median means that half of the permuted systems did not converge."""
    return "∞" if missing(iterations) else count(iterations)


def _range(run: JsonObject) -> str | None:
    """The least and the greatest count over permutations and seeds."""
    counts = run.get("permuted_iterations") or []
    shown = [count(value) for value in sorted(each for each in counts if not missing(each))]
    shown += ["∞"] * (len(counts) - len(shown))
    return " to ".join(dict.fromkeys((shown[0], shown[-1]))) if shown else None


def _coverage(case: JsonObject, run: JsonObject) -> Cell:
    """The greatest is bold."""
    known = [other["coverage"] for other in case["convergence"]["runs"] if not missing(other.get("coverage"))]
    ours, theirs = run.get("coverage"), published_coverage(case, run["precond"])
    best = len(known) > 1 and ours == max(known)
    return Cell(coverage(ours), None if theirs is None else coverage(theirs), best=best)


def _unconverged_row(case: JsonObject, run: JsonObject) -> Row:
    after = f"after {count(run.get('iterations'))} iterations"
    return {
        "Matrix": case,
        "Preconditioner": run["precond"],
        "Status": Cell("", badge=Badge(_status(run), "failed"), after=after),
        "What to do": _advice(run),
    }


def _proposition_row(case: JsonObject, dtype: str, has_srcsr: bool) -> Row:
    timings = Timings(case)
    row: Row = {"Matrix": case, "Precision": dtype}
    row["SpMV"] = seconds(timings.spmv("seconds", dtype=dtype))
    if has_srcsr:
        row["SRCSR, in SpMV"] = fixed(timings.srcsr_per_spmv(dtype), 2)
    row["GB/s", "SpMV"] = digits3(timings.spmv("gb_per_s", dtype=dtype))
    if has_srcsr:
        row["GB/s", "SRCSR"] = digits3(timings.spmv("srcsr", "gb_per_s", dtype=dtype))
    row["GB/s", "k = 0, n = 2"] = digits3(timings.proposition(dtype, 0, 2).get("gb_per_s"))
    for k, n in product(PROPOSITIONS, DEGREES):
        found = timings.proposition(dtype, k, n)
        active = percent(timings.active(found)) if k and found.get("seconds") else None
        time = fixed(timings.proposition_per_spmv(found), 2)
        row[f"k = {k}, in SpMV", f"n = {n}"] = Cell(time, note=active)
    return row


def _way_row(case: JsonObject, on_gpu: bool) -> Row:
    timings = Timings(case)
    scans = [seconds(timings.scan(method)) for method in METHODS]
    orderings = [seconds(timings.ordering(method)) for method in PERMUTATIONS]
    setups = [seconds(timings.setup(way)) for way in WAYS]
    row: Row = {
        "Matrix": case,
        ("Cycles and paths", "Algorithm 3"): scans[0],
        ("Cycles and paths", "ours"): scans[1],
        ("Cycles and paths", "ratio"): digits3(timings.scan_ratio),
        ("Cycles and paths", "sequential"): seconds(timings.sequential),
        ("Permutation", "radix sort"): orderings[0],
        ("Permutation", "ours"): orderings[1],
        ("Permutation", "ratio"): digits3(timings.ordering_ratio),
        ("Setup", "paper’s way"): setups[0],
        ("Setup", "ours"): setups[1],
        ("Setup", "ratio"): digits3(timings.setup_ratio),
        ("Setup", "ours / SpMV"): fixed(timings.per_spmv(timings.setup(WAYS[1])), 1),
    }
    for kind in ("cycles", "paths") if on_gpu else ():
        speeds = timings.launches.get(kind)
        share = percent(quotient(median(speeds) if speeds else None, timings.copy))
        row["Launches of Algorithm 3", f"{kind}, of copy"] = share
    return row


def _extremes(cases: list[JsonObject], key: str) -> list[str]:
    """The least and the greatest value of an option in all cases; one value where they are equal."""
    values = {case["convergence"].get(key) for case in cases} - {None}
    return [count(value) for value in sorted({min(values), max(values)})] if values else []
