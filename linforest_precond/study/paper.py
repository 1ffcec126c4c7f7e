"""`Paper`: the cases, measurements and report of the study of one paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from linforest_precond.study.cases import Case, Source, properties
from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# (matrix, case, settings) -> the fields of one part of a case's record.
Measure: TypeAlias = Callable[[Any, Case, Any], JsonObject]


class Reference(NamedTuple):
    """A paper as it is cited."""

    authors: str
    title: str
    published: str  # where and when
    doi: str | None = None


def mandulak(chapter: int) -> Reference:
    """A chapter of Mandulak's thesis."""
    return Reference(
        "Michael Mandulak",
        "Large-Scale Graph Analysis and Matching on Parallel Architectures",
        f"Rensselaer Polytechnic Institute, 2025, chapter {chapter}",
    )


class Finding(NamedTuple):
    """A topic in a word or two, and a sentence computed from the results."""

    topic: str
    sentence: str


def nothing(_: Any) -> Any:
    """The default of the callables that a study need not have."""
    return None


@dataclass(frozen=True)
class Paper:
    """
    The study of one paper.

    Attributes
    ----------
    name, title, reference
        The word on the command line, the title of the report, and the citation.
    select : callable
        (names or None, full) -> the cases; None selects the quick ones, or all of the paper if `full`.
    measures : mapping
        The parts of the study by name (``--only``). Each function takes (matrix, case, settings) and returns
        what `study.json` holds under the part's name. A failure ends the case, not the study; the parts
        before it are kept.
    tables, figures, report, findings : callables
        From the study, as in `study.json`: the tables for CSV files, the figures by name (``--pictures``),
        the variables of the template ``templates/NAME.html``, which has the sections of the report, and the
        sentences of its summary. Values may be missing in cases that are not done.
    settings : type
        A subclass of `Settings` with further options, which are keywords of `run_paper`.
    fetch : callable
        (source, case) -> (case, matrix); by default the matrix of that name, or its stand-in.
    properties : callable
        The matrix's own fields of a record.
    warm_up : callable
        Compiles ahead, so that no time includes compilation.
    """

    name: str
    title: str
    reference: Reference
    select: Callable[[Iterable[str] | None, bool], list[Case]]
    measures: Mapping[str, Measure]
    tables: Callable[[JsonObject], list[CsvTable]]
    figures: Callable[[JsonObject], dict[str, Figure]]
    report: Callable[[JsonObject], JsonObject]
    findings: Callable[[JsonObject], list[Finding]]
    settings: type[Settings] = Settings
    fetch: Callable[[Source, Case], tuple[Case, Any]] = Source.fetch
    properties: Callable[[Any], JsonObject] = properties
    warm_up: Callable[[Any], None] = nothing

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.measures)

    @property
    def options(self) -> set[str]:
        """The names of its own options, beyond those of every study."""
        return {field.name for field in fields(self.settings)} - {field.name for field in fields(Settings)}

    def configured(self, device: str, full: bool, parts: Iterable[str] | None, **options: Any) -> Any:
        """Its settings from the arguments of a call, checked."""
        if unknown := sorted(set(options) - self.options):
            raise TypeError(f"{unknown[0]} is no option of the study {self.name!r}")
        chosen = self.parts if parts is None else tuple(parts)
        if not chosen or not set(chosen) <= set(self.parts):
            raise ValueError(f"parts must be some of {', '.join(self.parts)}, got {chosen!r}")
        return self.settings(device=device, full=full, parts=chosen, **options)
