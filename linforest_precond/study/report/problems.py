"""What failed or was missing, why, and what to do about it."""

from __future__ import annotations

from typing import Any

from linforest_precond.solvers import Status
from linforest_precond.study import formats
from linforest_precond.study.findings import converged
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


def problems(study: dict) -> Html:
    """Cases that failed or were missing, and solves that did not converge."""
    cases = [case for case in study["cases"] if case.get("status") != "done" or _left_out(study, case)]
    runs = [
        (case, run)
        for case in done(study, "convergence")
        for run in case["convergence"]["runs"]
        if not converged(run)
    ]
    if not cases and not runs:
        return paragraph("Nothing: every matrix was done, and every solve reached its tolerance.")
    return join(_cases_table(study, cases) if cases else None, _runs_table(runs) if runs else None)


def _left_out(study: dict, case: dict) -> list[str]:
    """Parts that were asked for and are not there."""
    asked = (study.get("settings") or {}).get("parts") or []
    return [part for part in asked if not case.get(part)]


def _cases_table(study: dict, cases: list[dict]) -> Html:
    heads = [[Head("Matrix"), Head("What happened"), Head("Reason"), Head("What to do")]]
    rows = [row(full_name(case), map(_text_cell, _problem(study, case))) for case in cases]
    return table("Matrices that are not complete.", heads, [rows], "words")


def _text_cell(content: Any) -> Html:
    return tag("td", content)


def _problem(study: dict, case: dict) -> tuple[Any, Any, Any]:
    """What happened, the reason, what to do."""
    reason = case.get("error") or "no reason was recorded"
    alone = join("Run it alone: ", code(f"linforest study {case['name']}"))
    if case.get("status") == "missing":
        wanted = f"{case['paper']} --full" if case.get("paper") else case["name"]
        there = join("With a network: ", code(f"linforest study {wanted}"))
        folder = join(", or put its file into a folder and name that in ", code("LINFOREST_MATRICES"), ".")
        return badge("not at hand", "missing"), reason, join(there, folder)
    if case.get("status") == "failed":
        return badge("failed", "failed"), reason, alone
    parts = formats.listed(_left_out(study, case))
    return badge("incomplete", "missing"), case.get("error") or f"without {parts}", alone


def _runs_table(runs: list[tuple[dict, dict]]) -> Html:
    heads = [[Head("Matrix"), Head("Preconditioner"), Head("How it ended"), Head("What to do")]]
    rows = [row(case_name(case), map(_text_cell, _ending(run))) for case, run in runs]
    return table("Solves that did not reach the tolerance.", heads, [rows], "words")


def _ending(run: dict) -> tuple[Any, Any, Any]:
    status = str(run.get("status") or "unknown")
    after = f" after {formats.count(run.get('iterations'))} iterations"
    return run["precond"], join(badge(status.lower(), "failed"), after), advice(run)


def advice(run: dict) -> str | None:
    """What a solve's status means, and what to try."""
    status = run.get("status")
    return Status[status].advice if status in Status.__members__ else None
