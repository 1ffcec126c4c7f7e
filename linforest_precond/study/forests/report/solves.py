"""Solves that did not converge, for the section of failures."""

from __future__ import annotations

from typing import Any

from linforest_precond.solvers import Status
from linforest_precond.study import formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.forests.findings import converged
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import Head, badge, case_name, row, table, text_cell
from linforest_precond.study.report.markup import Html, join


def unconverged(study: JsonObject) -> Html | None:
    """A table of the solves that did not reach the tolerance."""
    cases = done(study, "convergence")
    runs = [(case, run) for case in cases for run in case["convergence"]["runs"] if not converged(run)]
    return _runs_table(runs) if runs else None


def _runs_table(runs: list[tuple[JsonObject, JsonObject]]) -> Html:
    heads = [[Head("Matrix"), Head("Preconditioner"), Head("Status"), Head("What to do")]]
    rows = [row(case_name(case), map(text_cell, _ending(run))) for case, run in runs]
    return table("Solves that did not reach the tolerance.", heads, [rows], "words")


def _ending(run: JsonObject) -> tuple[Any, Any, Any]:
    status = str(run.get("status") or "unknown")
    after = f" after {formats.count(run.get('iterations'))} iterations"
    return run["precond"], join(badge(status.lower(), "failed"), after), advice(run)


def advice(run: JsonObject) -> str | None:
    """What a solve's status means, and what to try."""
    status = str(run.get("status"))
    return Status[status].advice if status in Status.__members__ else None
