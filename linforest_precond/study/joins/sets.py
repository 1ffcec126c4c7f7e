"""The sets of the study: generated in place of the thesis' data, read from a file, or rows of a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from linforest_precond.matrices.readers.files import matrix_suffix
from linforest_precond.similarity.noisy_sets import ambiguous_sets
from linforest_precond.similarity.set_files import read_sets
from linforest_precond.study.cases import Case, Missing, Source, size_fields
from linforest_precond.study.published import named_rows
from linforest_precond.study.results import JsonObject

QUICK, FULL, LARGE = 400, 10_000, "KOSARAK@100000"
CHAINS = 4000  # of near-duplicates


class DataSet(NamedTuple):
    """A data set of table 5.1, and the number of sets that are generated in its place."""

    name: str
    sets: int


def data_sets() -> dict[str, dict[str, float]]:
    """The rows of table 5.1 by name."""
    return {name: row for name, row in named_rows("joins").items() if "sets" in row}


def data_set(name: str, default: int = QUICK) -> DataSet | None:
    """The data set in "KOSARAK" or "KOSARAK@5000"; None for other names."""
    kind, at, sets = name.partition("@")
    if kind not in data_sets() or (at and not sets.isdecimal()):
        return None
    return DataSet(kind, int(sets) if at else default)


def quick() -> list[str]:
    """The names of the data sets of the thesis."""
    return list(data_sets())


def full() -> list[str]:
    """The same, and one of more sets."""
    return [*quick(), LARGE]


def own_case(name: str, full: bool) -> Case | None:
    """The case of sets that are generated in place of a data set of the thesis."""
    found = data_set(name, FULL if full else QUICK)
    if found is None:
        return None
    note = "generated: chains of near-duplicates, with as many elements on average"
    return Case(
        f"{found.name}@{found.sets}", f"{found.name}, {found.sets:,} sets", "stand-in", found.name, note
    )


def fetch(source: Source, case: Case) -> tuple[Case, list[frozenset[str]]]:
    """Generated sets, those of a text file, or for a matrix the column numbers of each row."""
    found = data_set(case.name)
    if found is not None:
        size = round(data_sets()[found.name]["elements"])
        return case, ambiguous_sets(found.sets, size=size, chains=CHAINS, seed=1)
    if case.origin == "file" and matrix_suffix(case.name) is None:
        if not Path(case.name).exists():
            raise Missing(f"{case.name} does not exist")
        return case, read_sets(case.name)
    other, A = source.fetch_on_host(case)
    return other, rows_of(A)


def rows_of(A: Any) -> list[frozenset[str]]:
    """The rows of a matrix that are not empty, as sets of the numbers of their columns."""
    ends = A.indptr.tolist()
    rows = (A.indices[begin:end].tolist() for begin, end in zip(ends, ends[1:]))
    return [frozenset(map(str, row)) for row in rows if row]


def properties(sets: list[frozenset[str]]) -> JsonObject:
    """Sets as rows, and their elements."""
    return size_fields(len(sets), sum(map(len, sets)), None)
