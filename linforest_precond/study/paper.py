"""`Paper`: the study of one paper, from its cases to its report."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from linforest_precond.backends import require_device
from linforest_precond.backends.arguments import as_choice
from linforest_precond.study.cases import Case, Source, named_cases, properties
from linforest_precond.study.findings import Finding
from linforest_precond.study.listings import CsvTable, Listing, matrix_rows
from linforest_precond.study.published import csv_lines
from linforest_precond.study.results import JsonObject


@dataclass(frozen=True)
class Settings:
    """The options of a study; a paper with more of them has a subclass, and its fields are options too."""

    device: str = "cpu"
    full: bool = False
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_choice("device", self.device, ("cpu", "cuda"))
        require_device(self.device)

    @property
    def mode(self) -> str:
        return "full" if self.full else "quick"

    def as_dict(self) -> JsonObject:
        """The settings that a study records; results with other settings are not reused."""
        fields = asdict(self)
        own = {name: value for name, value in fields.items() if name not in ("device", "full", "parts")}
        return own | {"parts": [*self.parts]}


if TYPE_CHECKING:
    from matplotlib.figure import Figure

# (matrix, case, settings) -> the fields of one part of a case's record.
Measure: TypeAlias = Callable[[Any, Case, Any], JsonObject]


class Reference(NamedTuple):
    """A citation."""

    authors: str
    title: str
    published: str  # where and when
    doi: str | None = None


@functools.cache
def _described() -> dict[str, dict[str, Any]]:
    """The tables of ``papers.toml`` by the name of the study."""
    return tomllib.loads(resources.files(__package__).joinpath("papers.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Paper:
    """
    The study of one paper; its title, its citation and its default cases are in ``papers.toml``.

    Attributes
    ----------
    name : str
        The word on the command line, and the name of the study's table in ``papers.toml``.
    measures : dict
        The parts of the study by name (``--only``). Each function takes (matrix, case, settings) and returns
        the value of the part in the record of the case in `study.json`. An exception ends the case, not the
        study; the parts that were measured before are kept.
    listings : sequence of Listing
        The tables: CSV files, and tables of the report. Values may be missing in cases that failed.
    plots : module
        Its `FIGURES` are functions from a study to a figure, by name (``--pictures``).
    findings : callable
        study -> the sentences of the summary.
    variables : callable
        study -> further variables of the template ``templates/NAME.html``, which has the report's sections.
    quick, full : callable
        () -> the names of the default cases, where ``papers.toml`` does not list them.
    own_case : callable
        (name, full) -> the case of a name that this study alone knows, None for other names.
    settings : type
        A subclass of `Settings` with further options, which are keywords of `run_paper`.
    fetch : callable
        (source, case) -> (case, matrix); by default the matrix of that name, or its stand-in.
    properties : callable
        matrix -> its size, as fields of the record of a case.
    compile : callable
        settings -> None: compiles ahead of the timed calls. By default the study measures the case `warm_up`
        of ``papers.toml``.
    """

    name: str
    measures: dict[str, Measure]
    listings: Sequence[Listing]
    plots: ModuleType
    findings: Callable[[JsonObject], list[Finding]]
    variables: Callable[[JsonObject], JsonObject] = lambda study: {}
    quick: Callable[[], Iterable[str]] | None = None
    full: Callable[[], Iterable[str]] | None = None
    own_case: Callable[[str, bool], Case | None] = lambda name, full: None
    settings: type[Settings] = Settings
    fetch: Callable[[Source, Case], tuple[Case, Any]] = Source.fetch
    properties: Callable[[Any], JsonObject] = properties
    compile: Callable[[Any], None] | None = None
    description: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", _described()[self.name])

    @property
    def title(self) -> str:
        return str(self.description["title"])

    @property
    def reference(self) -> Reference:
        """The citation of the paper."""
        authors, title, published = (self.description[key] for key in ("authors", "paper", "published"))
        return Reference(authors, title, published, self.description.get("doi"))

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

    def select(self, names: Iterable[str] | None = None, full: bool = False) -> list[Case]:
        """The cases of the given names, by default those of a quick study, or of a full one."""
        if names is None:
            computed = self.full if full else self.quick
            names = computed() if computed else self.description["full" if full else "quick"]
        return named_cases(names, full, self.own_case)

    def warm_up(self, settings: Settings) -> None:
        """Compile all kernels of the study, so that no time includes compilation."""
        if self.compile:
            self.compile(settings)
        elif "warm_up" in self.description:
            (small,) = self.select([self.description["warm_up"]])
            case, A = self.fetch(Source(settings.device), small)
            for part in settings.parts:
                self.measures[part](A, case, settings)

    def tables(self, study: JsonObject) -> list[CsvTable]:
        """The tables for CSV files."""
        return [listing.csv(study) for listing in self.listings if listing.in_csv]

    def figures(self, study: JsonObject) -> dict[str, Figure]:
        """All figures by name."""
        return {name: draw(study) for name, draw in self.plots.FIGURES.items()}

    def report(self, study: JsonObject) -> JsonObject:
        """The variables of the template."""
        shown = {listing.name: listing.shown(study) for listing in self.listings if listing.in_report}
        reproduced = csv_lines(self.name, "reproduced.csv")
        common = {"plots": self.plots, "matrices": matrix_rows(study), "reproduced": reproduced}
        return {**common, **shown, **self.variables(study)}


def by_name(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Functions by their names."""
    return {function.__name__: function for function in functions}


# The functions that a study may leave out, in its module `tables` or among its inputs.
OPTIONAL = ("variables", "quick", "full", "own_case", "fetch", "properties")


def paper_of(
    name: str,
    measures: dict[str, Measure],
    tables: ModuleType,
    plots: ModuleType,
    findings: ModuleType,
    inputs: ModuleType | None = None,
    **further: Any,
) -> Paper:
    """The study of these modules, of which `tables` and `inputs` may define the `OPTIONAL` functions."""
    modules = [vars(module) for module in (tables, inputs) if module]
    given = {key: module[key] for module in modules for key in OPTIONAL if key in module}
    own = {"listings": tables.TABLES, "plots": plots, "findings": findings.findings}
    return Paper(name=name, measures=measures, **{**own, **given, **further})
