"""How it was measured."""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template

from linforest_precond.study import formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.markup import Html


def method(study: JsonObject) -> Html:
    """The template `method.html`, filled with this study's settings."""
    text = resources.files(__package__).joinpath("method.html").read_text(encoding="utf-8")
    filled = Template(text).substitute(
        tolerance=escape(_tolerance(study)),
        permutations=escape(_permutations(study)),
        threads=escape(_threads(study)),
        charge=escape(_charge(study)),
        repair=escape(_repair(study)),
    )
    return Html(filled)


def _tolerance(study: JsonObject) -> str:
    rtol = (study.get("settings") or {}).get("rtol")
    limits = [formats.count(limit) for limit in _range(study, "maxiter")]
    last = f", or after {' to '.join(limits)} iterations" if limits else ""
    return ("the tolerance" if rtol is None else f"{rtol:g}") + last


def _charge(study: JsonObject) -> str:
    names = {"md5": "MD5, as in the paper (which takes a part of it)", "splitmix64": "splitmix64"}
    charge = (study.get("settings") or {}).get("charge")
    return names.get(str(charge), "a hash")


def _repair(study: JsonObject) -> str:
    """Of the paper's preconditioners."""
    if (study.get("settings") or {}).get("repair") == "auto":
        return "The paper’s preconditioners were repaired (--repair auto)."
    return "The paper’s preconditioners are not repaired; ours (+) are."


def _range(study: JsonObject, key: str) -> list[int]:
    """The least and the greatest value in all cases; one value if they are equal."""
    values = {case["convergence"].get(key) for case in done(study, "convergence")} - {None}
    return sorted({min(values), max(values)}) if values else []


def _permutations(study: JsonObject) -> str:
    reason = "The iteration count of BiCGStab is sensitive to rounding errors"
    numbers = [formats.count(number) for number in _range(study, "permutations")]
    if numbers in ([], ["0"]):
        return f"{reason}: small differences mean little."
    times = f"{' to '.join(numbers)} random symmetric permutations"
    return f"{reason}, so each system was also solved in {times}, and the median of these is given as well."


def _threads(study: JsonObject) -> str:
    """On the CPU, SciPy's SpMV runs on one thread, and so does everything compared with it."""
    found = [case["performance"].get("threads") for case in done(study, "performance")]
    if not found or not found[0]:
        return ""
    few, all_of_them = found[0]
    return f"Threads: {few} for SpMV, copy, propositions and scans, {all_of_them} for setups."
