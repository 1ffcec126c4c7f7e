"""Failed and missing cases: the reason, and what to do."""

from __future__ import annotations

import shlex
from typing import Any

from linforest_precond.study import formats
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Head,
    badge,
    code,
    full_name,
    paragraph,
    row,
    table,
    text_cell,
)
from linforest_precond.study.report.markup import Html, join


def problems(study: JsonObject, further: Html | None = None) -> Html:
    """Failed, missing and incomplete cases, and what else the study has to tell."""
    cases = [case for case in study["cases"] if case.get("status") != "done" or _left_out(study, case)]
    if not cases and further is None:
        return paragraph("None: every case was done.")
    return join(_cases_table(study, cases) if cases else None, further)


def _left_out(study: JsonObject, case: JsonObject) -> list[str]:
    """Selected parts without results."""
    selected = (study.get("settings") or {}).get("parts") or []
    return [part for part in selected if not case.get(part)]


def _cases_table(study: JsonObject, cases: list[JsonObject]) -> Html:
    heads = [[Head("Matrix"), Head("Status"), Head("Reason"), Head("What to do")]]
    rows = [row(full_name(case), map(text_cell, _problem(study, case))) for case in cases]
    return table("Matrices without complete results.", heads, [rows], "words")


def _problem(study: JsonObject, case: JsonObject) -> tuple[Any, Any, Any]:
    """Status, reason, and what to do."""
    reason = case.get("error") or "no reason was recorded"
    alone = join("Run it alone: ", code(f"{command(study)} {shell_word(formats.name_without_folder(case))}"))
    if case.get("status") == "missing":
        wanted = (
            f"{case['paper']} --full" if case.get("paper") else shell_word(formats.name_without_folder(case))
        )
        online = join("With network access: ", code(f"{command(study)} {wanted}"))
        folder = join(", or put its file into a folder and set ", code("LINFOREST_MATRICES"), " to it.")
        return badge("not available", "missing"), reason, join(online, folder)
    if case.get("status") == "failed":
        return badge("failed", "failed"), reason, alone
    parts = formats.listed(_left_out(study, case))
    return badge("incomplete", "missing"), case.get("error") or f"without {parts}", alone


def command(study: JsonObject) -> str:
    """The command that runs this study."""
    return " ".join(filter(None, ("linforest study", study.get("study"))))


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
