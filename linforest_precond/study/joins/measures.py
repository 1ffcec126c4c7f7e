"""Sets generated in place of the thesis' data, and recall, precision, times and memory of their joins."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from linforest_precond.matrices.readers.files import matrix_suffix
from linforest_precond.similarity import join_quality
from linforest_precond.similarity.join_records import JoinResult
from linforest_precond.similarity.noisy_sets import ambiguous_sets
from linforest_precond.similarity.set_files import read_sets
from linforest_precond.similarity.set_join import fuzzy_join
from linforest_precond.study import timing
from linforest_precond.study.cases import Case, Missing, Source, size_fields
from linforest_precond.study.paper import Settings
from linforest_precond.study.published import named_rows
from linforest_precond.study.results import JsonObject

QUICK, FULL, LARGE = 400, 10_000, "KOSARAK@100000"
# Chains of near-duplicates, and letters. Beyond MANY_SETS the number of q-grams grows with that of the sets:
# with a fixed vocabulary the number of candidates is quadratic.
CHAINS, LETTERS, MANY_SETS = 4000, 26, 10_000


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
        size, growth = round(data_sets()[found.name]["elements"]), max(found.sets / MANY_SETS, 1.0)
        chains, letters = round(CHAINS * growth), round(LETTERS * growth ** (1 / 3))
        return case, ambiguous_sets(found.sets, size=size, chains=chains, letters=letters, seed=1)
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


# Methods that run on the GPU, too; the first is the default.
APPROXIMATE = ("greedy", "locally_dominant", "paz_schwartzman")
METHODS = ("exact", *APPROXIMATE)
THRESHOLD = 0.7
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
REPEATS = 3
# Recall and precision are measured on the first SAMPLE sets; more than MANY are joined by the default only.
SAMPLE = {"quick": 2_000, "full": 50_000}
MANY = 20_000


@contextlib.contextmanager
def one_thread(sets: list[Any], device: str) -> Iterator[None]:
    """One thread of the CPU, as in the thesis; all of them for many sets, and beside a GPU."""
    with contextlib.nullcontext() if len(sets) > MANY or device == "cuda" else timing.numba_threads(1):
        yield


def join(sets: list[Any], method: str, device: str, bound: str = "matching") -> JoinResult:
    """A join at the thesis' threshold; the exact matching is the CPU's."""
    where = "cpu" if method == "exact" else device
    return fuzzy_join(sets, threshold=THRESHOLD, matching=method, bound=bound, device=where)


def quality(sets: list[Any], case: Case, settings: Settings) -> JsonObject:
    """Recall and precision against the exact join of a sample, as in table 5.2."""
    some = sets[: SAMPLE[settings.mode]]
    exact = join(some, "exact", settings.device)
    methods = {method: _quality(some, method, exact, settings.device) for method in APPROXIMATE}
    return {"sets": len(some), "pairs": len(exact), "methods": methods}


def _quality(sets: list[Any], method: str, exact: JoinResult, device: str) -> JsonObject:
    default = join_quality(join(sets, method, device), exact)
    upper = join_quality(join(sets, method, device, "upper"), exact)
    found = {"recall": default.recall, "missed": default.missed, "precision": default.precision}
    return found | {
        "upper_recall": upper.recall, "upper_precision": upper.precision, "added": upper.added
    }  # fmt: skip


def times(sets: list[Any], case: Case, settings: Settings) -> JsonObject:
    """Seconds of the filter and of the verification of every method, as in figures 5.2 and 5.3."""
    many = len(sets) > MANY
    found: JsonObject = {"methods": {}}
    with one_thread(sets, settings.device):
        for method in APPROXIMATE[:1] if many else METHODS:
            if not many:
                join(sets[:50], method, settings.device)  # compiles
            joins = [join(sets, method, settings.device) for _ in range(1 if many else REPEATS)]
            best = min(joins, key=lambda each: each.verify_seconds)
            found["methods"][method] = {
                "filter": min(each.filter_seconds for each in joins),
                "verify": best.verify_seconds,
                "peak": None
                if many or settings.device == "cuda"
                else timing.host_peak(partial(join, sets, method, "cpu"))[0],
            }
            if method == APPROXIMATE[0]:
                counts = {"candidates": best.candidates, "verified": best.verified, "pairs": len(best)}
                found |= counts | {"threads": timing.threads()}
    return found


def shares(sets: list[Any], case: Case, settings: Settings) -> JsonObject:
    """Seconds of the verification of shares of the sets by method, as in figure 5.4; none for many sets."""
    some = {str(share): sets[: round(share * len(sets))] for share in SHARES}
    methods = () if len(sets) > MANY else METHODS
    with one_thread(sets, settings.device):
        found = {
            method: {share: _verify(each, method, settings) for share, each in some.items()}
            for method in methods
        }
    return {"methods": found}


def _verify(sets: list[Any], method: str, settings: Settings) -> float:
    return join(sets, method, settings.device).verify_seconds
