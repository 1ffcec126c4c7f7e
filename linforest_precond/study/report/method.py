"""How it was measured, whom to cite, and the files beside the page."""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template

from linforest_precond.study import formats
from linforest_precond.study.report.blocks import code
from linforest_precond.study.report.markup import Html, tag
from linforest_precond.study.tables import done

DESCRIPTIONS = {
    "coverage_table3.csv": "every matrix with its size, as in table 3",
    "coverage_table4.csv": "coverages of the [0,2]-factors, as in table 4",
    "coverage_table5.csv": "coverages of the [0,n]-factors and the 2×2 blocks, as in table 5",
    "convergence_summary.csv": "one row for each matrix and preconditioner",
    "convergence_histories.csv": "residual and error by iteration: the curves of figure 4",
    "performance.csv": "times and throughputs of figures 3, 5 and 6",
    "study.json": "everything, as the study recorded it",
}


def method(study: dict, files: list[str]) -> Html:
    """The prose of `method.html`, with this study's settings and files in it."""
    text = resources.files(__package__).joinpath("method.html").read_text(encoding="utf-8")
    filled = Template(text).substitute(
        tolerance=escape(_tolerance(study)),
        permutations=escape(_permutations(study)),
        threads=escape(_threads(study)),
        files=tag("ul", [_file(name) for name in files]),
    )
    return Html(filled)


def _tolerance(study: dict) -> str:
    rtol = (study.get("settings") or {}).get("rtol")
    limits = [formats.count(limit) for limit in _range(study, "maxiter")]
    last = f", or after {' to '.join(limits)} iterations" if limits else ""
    return ("the tolerance" if rtol is None else f"{rtol:g}") + last


def _range(study: dict, key: str) -> list[int]:
    """The least and the greatest value in the cases, or the one: large matrices have less of both."""
    values = {case["convergence"].get(key) for case in done(study, "convergence")} - {None}
    return sorted({min(values), max(values)}) if values else []


def _permutations(study: dict) -> str:
    reason = "How many iterations BiCGStab takes hangs on the last bits of rounding"
    numbers = [formats.count(number) for number in _range(study, "permutations")]
    if numbers in ([], ["0"]):
        return f"{reason}: a few more or less mean little."
    times = f"{' to '.join(numbers)} random symmetric permutations"
    return f"{reason}, so each system was solved in {times} too, and their median is given beside the count."


def _threads(study: dict) -> str:
    """On the CPU the product of SciPy runs on one thread, and what is compared with it too."""
    found = [case["performance"].get("threads") for case in done(study, "performance")]
    if not found or not found[0]:
        return ""
    few, all_of_them = found[0]
    return f"Threads: {few} for SpMV, copy, propositions and scans, {all_of_them} for setups."


def _file(name: str) -> Html:
    return tag("li", tag("a", code(name), href=name), ": ", DESCRIPTIONS[name])
