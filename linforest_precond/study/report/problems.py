"""Failed and missing cases: the reason, and what to do."""

from __future__ import annotations

import shlex
from typing import Any

from linforest_precond.solvers import Status
from linforest_precond.study import formats
from linforest_precond.study.findings import converged
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Head,
    badge,
    case_name,
    code,
    full_name,
    paragraph,
    row,
    table,
)
from linforest_precond.study.report.markup import Html, join, tag
from linforest_precond.study.tables import done


def problems(study: JsonObject) -> Html:
    """Failed, missing and incomplete cases, and solves that did not converge."""
    cases = [case for case in study["cases"] if case.get("status") != "done" or _left_out(study, case)]
    runs = [
        (case, run)
        for case in done(study, "convergence")
        for run in case["convergence"]["runs"]
        if not converged(run)
    ]
    if not cases and not runs:
        return paragraph("None: every matrix was done, and every solve converged.")
    return join(_cases_table(study, cases) if cases else None, _runs_table(runs) if runs else None)


def _left_out(study: JsonObject, case: JsonObject) -> list[str]:
    """Selected parts without results."""
    selected = (study.get("settings") or {}).get("parts") or []
    return [part for part in selected if not case.get(part)]


def _cases_table(study: JsonObject, cases: list[JsonObject]) -> Html:
    heads = [[Head("Matrix"), Head("Status"), Head("Reason"), Head("What to do")]]
    rows = [row(full_name(case), map(_text_cell, _problem(study, case))) for case in cases]
    return table("Matrices without complete results.", heads, [rows], "words")


def _text_cell(content: Any) -> Html:
    return tag("td", content)


def _problem(study: JsonObject, case: JsonObject) -> tuple[Any, Any, Any]:
    """Status, reason, and what to do."""
    reason = case.get("error") or "no reason was recorded"
    alone = join("Run it alone: ", code(f"linforest study {shell_word(case['name'])}"))
    if case.get("status") == "missing":
        wanted = f"{case['paper']} --full" if case.get("paper") else shell_word(case["name"])
        online = join("With network access: ", code(f"linforest study {wanted}"))
        folder = join(", or put its file into a folder and set ", code("LINFOREST_MATRICES"), " to it.")
        return badge("not available", "missing"), reason, join(online, folder)
    if case.get("status") == "failed":
        return badge("failed", "failed"), reason, alone
    parts = formats.listed(_left_out(study, case))
    return badge("incomplete", "missing"), case.get("error") or f"without {parts}", alone


def shell_word(name: str) -> str:
    """
    A name as one word of a shell's command line.

    Examples
    --------
    >>> from linforest_precond.study.report.problems import shell_word
    >>> shell_word("aniso2:300"), shell_word("a b.mtx"), shell_word("-A.mtx")
    ('aniso2:300', "'a b.mtx'", './-A.mtx')
    """
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _runs_table(runs: list[tuple[JsonObject, JsonObject]]) -> Html:
    heads = [[Head("Matrix"), Head("Preconditioner"), Head("Status"), Head("What to do")]]
    rows = [row(case_name(case), map(_text_cell, _ending(run))) for case, run in runs]
    return table("Solves that did not reach the tolerance.", heads, [rows], "words")


def _ending(run: JsonObject) -> tuple[Any, Any, Any]:
    status = str(run.get("status") or "unknown")
    after = f" after {formats.count(run.get('iterations'))} iterations"
    return run["precond"], join(badge(status.lower(), "failed"), after), advice(run)


def advice(run: JsonObject) -> str | None:
    """What a solve's status means, and what to try."""
    status = str(run.get("status"))
    return Status[status].advice if status in Status.__members__ else None
