"""The templates of the reports: Jinja's environment, with the functions that templates call."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Any

from linforest_precond.package_imports import study_module
from linforest_precond.records.printing import printable
from linforest_precond.study import results
from linforest_precond.study.drawing import swatch_style
from linforest_precond.study.listings import Cell, bodies, headings
from linforest_precond.study.number_formats import count, listed, moment
from linforest_precond.study.results import JsonObject, done, label
from linforest_precond.study.store import GENERATED

if TYPE_CHECKING:
    from jinja2 import Environment

# The meaning of badges.
STANDIN_MEANS = "generated to resemble the paper’s matrix"
REDUCED_MEANS = "smaller than the paper’s matrix"


@functools.cache
def environment() -> Environment:
    """The templates with the filters, tests and functions that they use."""
    jinja2 = study_module("jinja2")
    made: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=lambda name: not str(name).endswith((".md", ".css")),
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {each.__name__: each for each in (count, label, moment, shell_word)}
    made.filters["case_title"] = results.title
    made.tests |= {
        "cell": lambda value: isinstance(value, Cell),
        "standin": results.is_standin,
        "reduced": results.is_reduced,
    }
    functions = (
        bodies, done, headings, incomplete_cases, listed, parts_without_results, swatch_style
    )  # fmt: skip
    made.globals |= {each.__name__: each for each in functions}
    made.globals |= {"GENERATED": GENERATED, "STANDIN_MEANS": STANDIN_MEANS, "REDUCED_MEANS": REDUCED_MEANS}
    return made


def _printable(value: Any) -> Any:
    """The text of a value: empty for None, without control characters."""
    if value is None:
        return ""
    is_html = hasattr(value, "__html__")
    return printable(value, keep="\n\t") if isinstance(value, str) and not is_html else value


def incomplete_cases(study: JsonObject) -> list[JsonObject]:
    """Failed and missing cases, and those without results of a selected part."""
    return [
        case for case in study["cases"] if case.get("status") != "done" or parts_without_results(study, case)
    ]


def parts_without_results(study: JsonObject, case: JsonObject) -> list[str]:
    selected = (study.get("settings") or {}).get("parts") or []
    return [part for part in selected if not case.get(part)]


def shell_word(case: JsonObject) -> str:
    """The name of a case as one word of a shell's command line."""
    name = results.name_without_folder(case)
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
