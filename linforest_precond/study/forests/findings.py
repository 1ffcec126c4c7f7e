"""The summary of the study: iterations, times, coverages, and the costs of a setup."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, TypeAlias

from linforest_precond.study.findings import Findings
from linforest_precond.study.forests.performance_tables import WAYS, Timings, quotient
from linforest_precond.study.forests.plots import PRECONDITIONERS
from linforest_precond.study.forests.tables import COVERAGES, compare, of_the_paper, runs
from linforest_precond.study.number_formats import (
    count,
    coverage,
    difference,
    digits3,
    listed,
    missing,
    percent,
    spread,
)
from linforest_precond.study.results import JsonObject, dig, done, label

LEAST_TOLERANCE = 2.0**-52  # residuals are not computed more exactly
BASELINE = "Jacobi"
SCALAR, BLOCKS = "AlgTriScal", ("AlgTriBlock m = 1", "AlgTriBlock m = 5")
ALGEBRAIC = (SCALAR, *BLOCKS, "AlgTriScal+", "AlgTriBlock+")
Run: TypeAlias = tuple[JsonObject, JsonObject]  # a case, and one of its solves
# From a case to a value for each preconditioner.
Values: TypeAlias = Callable[[JsonObject], dict[str, float]]
findings = Findings()


def converged(run: JsonObject) -> bool:
    return run.get("status") == "CONVERGED"


def has_large_error(run: JsonObject, rtol: float | None) -> bool:
    """Whether a converged solve has less than half of the digits that its residual promises."""
    error = run.get("error")
    if error is None or missing(error) or not converged(run):
        return False
    return bool(error > math.sqrt(max(rtol or 0.0, LEAST_TOLERANCE)))


def steps(case: JsonObject) -> dict[str, float]:
    """Iterations of the converged runs; medians over the permuted systems where there are any."""
    runs = [run for run in case["convergence"]["runs"] if converged(run)]
    key = "median_iterations" if case["convergence"].get("permutations") else "iterations"
    return {run["precond"]: run[key] for run in runs if not missing(run.get(key))}


def total_seconds(run: JsonObject) -> float | None:
    """Setup and solve."""
    parts: list[Any] = [run.get("setup_seconds"), run.get("solve_seconds")]
    return None if any(map(missing, parts)) else float(sum(parts))


def _totals(case: JsonObject) -> dict[str, float]:
    runs = [run for run in case["convergence"]["runs"] if converged(run)]
    return {run["precond"]: total for run in runs if (total := total_seconds(run)) is not None}


def _wins(study: JsonObject, values: Values) -> tuple[Counter[str], int]:
    """How often each preconditioner has the least value, and the number of matrices with a value."""
    found = [counts for case in done(study, "convergence") if (counts := values(case))]
    best = (name for counts in found for name in counts if counts[name] == min(counts.values()))
    return Counter(best), len(found)


def _ranking(study: JsonObject, values: Values, verb: str) -> str | None:
    wins, matrices = _wins(study, values)
    if not matrices:
        return None
    (first, most), *others = wins.most_common()
    if matrices == 1:
        return f"{listed(list(wins))} {verb} on the one matrix that was solved."
    rest = "".join(f", {name} on {number}" for name, number in others)
    tied = " (ties count for each)" if wins.total() > matrices else ""
    return f"{first} {verb} on {most} of {matrices} matrices{rest}{tied}."


@findings.about("Preconditioners", runs)
def _compared(runs: list[Run]) -> str | None:
    """The meanings of the names, before the sentences that use them."""
    names = [name for name in dict.fromkeys(run["precond"] for _, run in runs) if name in PRECONDITIONERS]
    meanings = "; ".join(f"{name} is {PRECONDITIONERS[name]['meaning']}" for name in names)
    return f"{meanings}." if names else None


def counted(run: JsonObject) -> list[float]:
    """The iterations of the permuted systems; none where one of them did not converge."""
    counts = run.get("permuted_iterations") or []
    return [] if any(map(missing, counts)) else counts


@findings.about("Spread", lambda study: [(case, run) for case, run in runs(study) if counted(run)])
def _permuted(runs: list[Run]) -> str:
    """How far the counts of one preconditioner lie apart, which differences of medians have to exceed."""
    shares = {f"{run['precond']} on {label(case)}": _range_of(counted(run)) for case, run in runs}
    widest = max(shares, key=lambda name: shares[name])
    number = spread([len(counted(run)) for _, run in runs], count)
    text = f"Over {number} permutations, each with a seed of its own, the greatest and the least count of a"
    text += f" preconditioner are {percent(median(shares.values()))} of the median apart in the median"
    return f"{text}, at most {percent(shares[widest])} ({widest})."


def _range_of(counts: list[float]) -> float:
    return (max(counts) - min(counts)) / median(counts)


@findings.about("Fewest iterations")
def _iterations(study: JsonObject) -> str | None:
    return _ranking(study, steps, "needed the fewest iterations")


@findings.about(f"Against {BASELINE}")
def _against_baseline(study: JsonObject) -> str:
    """Iterations of the algebraic preconditioners relative to Jacobi."""
    unit = f"times the iterations of {BASELINE}"
    quotients = {name: _quotients(study, name, steps) for name in ALGEBRAIC}
    return " ".join(
        f"{name} took {_spread(found, unit)}{_more(found)}." for name, found in quotients.items() if found
    )


@findings.about("Blocks", "convergence")
def _blocks(cases: list[JsonObject]) -> str | None:
    """Wins over the scalar preconditioner, apart where blocks cover more weight, as table 5 suggests."""
    return " ".join(filter(None, (_against_scalar(cases, name) for name in BLOCKS))) or None


def _against_scalar(cases: list[JsonObject], name: str) -> str | None:
    fewer: dict[bool, list[bool]] = {True: [], False: []}
    for case in cases:
        covered = {run["precond"]: run.get("coverage") for run in case["convergence"]["runs"]}
        needed = steps(case)
        if {name, SCALAR} <= needed.keys():
            fewer[covered[name] > covered[SCALAR]].append(needed[name] < needed[SCALAR])
    if not any(fewer.values()):
        return None
    more, others = (f"{sum(each)} of {len(each)}" for each in fewer.values())
    text = f"{name} needed fewer iterations than {SCALAR} on {more} matrices where it covers more weight"
    return f"{text}, and on {others} others."


@findings.about("Fastest")
def _times(study: JsonObject) -> str | None:
    return _ranking(study, _totals, "was fastest, setup and solve together,")


def _more(quotients: dict[str, float]) -> str:
    """The matrices on which a quotient above 1 is a loss."""
    worse = [matrix for matrix, quotient in quotients.items() if quotient > 1]
    return f"; it needed more on {_first_names(worse)}" if worse else ""


@findings.about(f"Slower than {BASELINE}")
def _slower(study: JsonObject) -> str | None:
    """On how many matrices setup and solve took longer than with Jacobi."""
    found = {name: list(_quotients(study, name, _totals).values()) for name in ALGEBRAIC}
    parts = [
        f"{name} on {slower} of {len(values)} (at worst {_short(max(values))} times as long)"
        for name, values in found.items()
        if (slower := sum(value > 1 for value in values))
    ]
    return f"Setup and solve took longer than with {BASELINE}: {listed(parts)}." if parts else None


def _quotients(study: JsonObject, name: str, values: Values) -> dict[str, float]:
    counts = {label(case): values(case) for case in done(study, "convergence")}
    both = {matrix: row for matrix, row in counts.items() if row.get(BASELINE) and name in row}
    return {matrix: row[name] / row[BASELINE] for matrix, row in both.items()}


def _spread(values: dict[str, float], unit: str) -> str:
    """The median with its unit, then the least and the greatest."""
    middle = f"{_short(median(values.values()))} {unit}"
    if len(values) == 1:
        return f"{middle} on {next(iter(values))}"
    low, high = (_short(end(values.values())) for end in (min, max))
    spread = f" ({low} to {high})" if low != high else ""
    return f"{middle} in the median of {len(values)} matrices{spread}"


def _short(value: float) -> str:
    return digits3(value) if value >= 1 else f"{value:.2f}"


@findings.about("Convergence", runs)
def _unconverged(runs: list[Run]) -> str:
    lost = [f"{run['precond']} on {label(case)}" for case, run in runs if not converged(run)]
    reached = f"All {len(runs)} solves reached the tolerance."
    if lost:
        reached = f"{len(lost)} of {len(runs)} solves did not reach the tolerance: {_first_names(lost)}."
    return reached + _large_errors(runs)


def _large_errors(runs: list[Run]) -> str:
    large = [
        f"{run['precond']} on {label(case)}"
        for case, run in runs
        if has_large_error(run, case["convergence"].get("rtol"))
    ]
    if not large:
        return ""
    return (
        f" Of those that reached it, {len(large)} {'has' if len(large) == 1 else 'have'} a large forward "
        f"error: {_first_names(large)}."
    )


def _first_names(names: list[str]) -> str:
    return listed(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])


@findings.about("Weight coverage", "coverage")
def _forest(cases: list[JsonObject]) -> str | None:
    """Where the forest has a larger coverage than the tridiagonal part in the original order."""
    pairs = {}
    for case in cases:
        before, after = (dig(case, "coverage", key) for key in ("identity", "forest"))
        if not missing(before) and not missing(after):
            pairs[label(case)] = before, after
    if not pairs:
        return None
    better = sum(after > before for before, after in pairs.values())
    where = f"{better} of {len(pairs)} {'matrix' if len(pairs) == 1 else 'matrices'}"
    sentence = f"The linear forest covers more weight than the original order's tridiagonal part on {where}"
    name, (before, after) = max(pairs.items(), key=lambda item: item[1][1] - item[1][0])
    gain = f"; the largest gain is on {name}, {coverage(before)} to {coverage(after)}" if better else ""
    return f"{sentence}{gain}."


@findings.about("The paper", lambda study: [case for case in done(study, "coverage") if case.get("paper")])
def _paper(cases: list[JsonObject]) -> str | None:
    due = [case for case in cases if of_the_paper(case)]
    if not due:
        return "No matrix has the paper's size here: the published values are given for orientation only."
    compared = [(case, quantity, compare(case, quantity)) for case in due for quantity in COVERAGES]
    compared = [row for row in compared if row[2].difference is not None]
    met = sum(not comparison.departs for *_, comparison in compared)
    names = listed([label(case) for case in due]) if len(due) <= 3 else f"{len(due)} matrices"
    text = f"At the paper's size ({names}) {met} of {len(compared)} published coverages agree within 0.01"
    return f"{text}{_worst(compared)}." if compared else None


def _worst(compared: list[Any]) -> str:
    case, quantity, comparison = max(compared, key=lambda row: abs(row[2].difference))
    if not comparison.departs:
        return ""
    amount = difference(comparison.difference, 2)
    return f"; the largest difference is {quantity.key} of {label(case)} ({amount})"


def _performances(study: JsonObject, value: Callable[[Timings], float | None]) -> dict[str, float]:
    found = {label(case): value(Timings(case)) for case in done(study, "performance")}
    return {name: number for name, number in found.items() if number is not None and not missing(number)}


@findings.about("Setup")
def _setup(study: JsonObject) -> str | None:
    values = _performances(study, lambda timings: timings.per_spmv(timings.setup(WAYS[1])))
    ratios = _performances(study, lambda timings: timings.setup_ratio)
    if not values:
        return None
    longer = f" The paper's methods took {_spread(ratios, 'times as long')}." if ratios else ""
    return f"AlgTriScal's setup cost {_spread(values, 'matrix-vector products (SpMV)')}.{longer}"


@findings.about("Segmented reduction")
def _srcsr(study: JsonObject) -> str | None:
    values = _performances(study, Timings.srcsr_per_spmv)
    return f"The product by SRCSR took {_spread(values, 'times as long as by cuSPARSE')}." if values else None


@findings.about("Edge proposition")
def _proposition(study: JsonObject) -> str | None:
    """Costs for n = 2: few vertices are active in later iterations, which say little about the kernel."""
    first, later = (_performances(study, partial(_proposition_time, k)) for k in (0, 1))
    if not first:
        return None
    sentence = f"The first one (k = 0) with n = 2, of all vertices, cost {_spread(first, 'SpMV')}."
    active = _performances(study, lambda timings: timings.active(_proposition_of_two(timings, 1)))
    if later and active:
        share = percent(median(active.values()))
        sentence += f" The second one (k = 1), of {share} of them, cost {_spread(later, 'SpMV')}."
    return sentence


def _proposition_time(k: int, timings: Timings) -> float | None:
    return timings.proposition_per_spmv(_proposition_of_two(timings, k))


def _proposition_of_two(timings: Timings, k: int) -> JsonObject:
    """In the paper's precision where that was measured."""
    return timings.proposition(next(iter(timings.precisions), None), k, 2)


@findings.about("Scan")
def _scan(study: JsonObject) -> str | None:
    ratios = _performances(study, lambda timings: timings.scan_ratio)
    if not ratios:
        return None
    sentence = f"Algorithm 3 took {_spread(ratios, 'times as long as our labelling of the paths')}."
    shares = _performances(study, scan_share)
    unit = "times the bandwidth of a copy"
    launched = f" The median launch of a path scan ran at {_spread(shares, unit)}." if shares else ""
    return f"{sentence}{launched}"


def scan_share(timings: Timings) -> float | None:
    """The median throughput of the launches for paths over the bandwidth of a copy; None on the CPU."""
    speeds = timings.launches.get("paths")
    return quotient(median(speeds), timings.copy) if speeds else None
