"""Access to the results of a study, as ``study.json`` holds them."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from linforest_precond.records.printing import printable

# A study, a case, a run, or a part of one.
JsonObject: TypeAlias = dict[str, Any]

STANDIN = " (stand-in)"
# The field of a table's row with the record of a case: its title in reports, its name in CSV files.
CASE = "case"


def dig(record: Any, *keys: str) -> Any:
    """The value under nested keys, None where one of them is missing."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def done(study: JsonObject, part: str | None = None) -> list[JsonObject]:
    """The finished cases, or those of them with results of the given part."""
    cases = [case for case in study["cases"] if case.get("status") == "done"]
    return [case for case in cases if part is None or case.get(part)]


def is_standin(case: JsonObject) -> bool:
    return case.get("origin") == "stand-in"


def is_reduced(case: JsonObject) -> bool:
    """Whether a matrix of the paper is smaller here than there."""
    return bool(case.get("paper")) and not case.get("at_paper_size")


def title(case: JsonObject) -> str:
    """The case's title, or its name, in printable characters and without the mark of a stand-in."""
    return printable(str(case.get("title") or case["name"])).removesuffix(STANDIN)


def label(case: JsonObject) -> str:
    """The title in plain text, with the mark of a stand-in."""
    return f"{title(case)}{STANDIN}" if is_standin(case) else title(case)


def name_without_folder(case: JsonObject) -> str:
    """The name for the command line; files without their folder, which other readers do not have."""
    name = str(case["name"])
    return re.split(r"[/\\]", name)[-1] if case.get("origin") == "file" else name
