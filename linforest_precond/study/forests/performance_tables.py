"""Times and throughputs of figures 3, 5 and 6: `Timings` of a case, and CSV files."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.forests.tables import IDENTITY, identity
from linforest_precond.study.listings import Tables
from linforest_precond.study.number_formats import missing
from linforest_precond.study.results import JsonObject, dig, done

WAYS = ("paper", "ours")
METHODS = ("bidirectional_scan", "list_ranking")
PERMUTATIONS = ("radix_sort", "scan")
SPMV = ("seconds", "gb_per_s")

TABLES = Tables()


class Timings:
    """The part "performance" of a case; values that were not measured are None or empty."""

    def __init__(self, case: JsonObject):
        self.record: JsonObject = case["performance"]
        self.copy: float | None = self.record.get("copy_gb_per_s")
        self.sequential: float | None = self.record.get("sequential_scan_seconds")
        # Throughputs of the launches of Algorithm 3, for cycles and for paths; empty on the CPU.
        self.launches: dict[str, list[float]] = dig(self.record, "scans", "launches") or {}
        found = self.record.get("propositions")  # older studies have them in another form
        self.propositions: list[JsonObject] = found if isinstance(found, list) else []
        self.rows: int | None = case.get("rows")

    @property
    def precisions(self) -> list[str]:
        """Of the propositions, the paper's first."""
        return list(dict.fromkeys(row["dtype"] for row in self.propositions))

    def proposition(self, dtype: Any, k: int, n: int) -> JsonObject:
        """The record of one proposition; empty where it was not measured."""
        named = {(row.get("dtype"), row.get("k"), row.get("n")): row for row in self.propositions}
        return named.get((dtype, k, n), {})

    def proposition_per_spmv(self, row: JsonObject) -> float | None:
        """The time of a proposition in units of the SpMV of its precision."""
        return self.per_spmv(row.get("seconds"), row.get("dtype"))

    def active(self, row: JsonObject) -> float | None:
        """The share of vertices that propose: those with free edges."""
        return quotient(row.get("vertices"), self.rows)

    def stages(self, way: str) -> list[tuple[str, float | None]]:
        """(stage, seconds) of a setup, in their order."""
        return [(part["stage"], part.get("seconds")) for part in dig(self.record, "setups", way) or []]

    def spmv(self, *keys: str, dtype: Any = None) -> float | None:
        """Seconds or GB/s of one SpMV, after "srcsr" that by SRCSR; by default in the setups' precision."""
        return dig(self.record, "spmv", str(dtype or self.record.get("precision")), *keys)

    def srcsr_per_spmv(self, dtype: Any = None) -> float | None:
        """The time of the SpMV by segmented reduction in units of the other; None on the CPU."""
        return self.per_spmv(self.spmv("srcsr", "seconds", dtype=dtype), dtype)

    def per_spmv(self, seconds: float | None, dtype: Any = None) -> float | None:
        """A time in units of one SpMV."""
        return quotient(seconds, self.spmv("seconds", dtype=dtype))

    def scan(self, method: str) -> float | None:
        """Seconds of breaking cycles and labelling paths."""
        return self._seconds("scans", "seconds", method)

    def ordering(self, method: str) -> float | None:
        """Seconds of the permutation."""
        return self._seconds("orderings", method)

    def setup(self, way: str) -> float | None:
        """Seconds of a setup."""
        return self._seconds("setup_seconds", way)

    def _seconds(self, *keys: str) -> float | None:
        return dig(self.record, *keys)

    @property
    def scan_ratio(self) -> float | None:
        """The time of Algorithm 3 over that of list ranking, which gives the same labels."""
        return quotient(*map(self.scan, METHODS))

    @property
    def scan_speedup(self) -> float | None:
        """Speedup of Algorithm 3 over a sequential walk; None on the CPU."""
        return quotient(self.sequential, self.scan(METHODS[0])) if self.launches else None

    @property
    def ordering_ratio(self) -> float | None:
        """The time of the radix sort over that of the prefix sum."""
        return quotient(*map(self.ordering, PERMUTATIONS))

    @property
    def setup_ratio(self) -> float | None:
        """The time of the paper's setup over that of ours."""
        return quotient(*map(self.setup, WAYS))


def quotient(a: float | None, b: float | None) -> float | None:
    """a / b; None where one of them is missing or b is 0."""
    return None if a is None or b is None or missing(a) or missing(b) or not b else a / b


def timings(study: JsonObject) -> list[tuple[JsonObject, Timings]]:
    """The cases with the part "performance"."""
    return [(case, Timings(case)) for case in done(study, "performance")]


@TABLES.listing(*IDENTITY, "*")
def performance(study: JsonObject) -> list[JsonObject]:
    """Times of scans, permutations and setups: figures 5 and 6."""
    return [identity(case) | _time_fields(found) for case, found in timings(study)]


def _time_fields(timings: Timings) -> JsonObject:
    row: JsonObject = {
        "precision": timings.record.get("precision"),
        "copy_gb_per_s": timings.copy,
        "sequential_scan_seconds": timings.sequential,
        "spmv_seconds": timings.spmv("seconds"),
        "srcsr_seconds": timings.spmv("srcsr", "seconds"),
    }
    row |= {f"{method}_seconds": timings.scan(method) for method in METHODS}
    row |= {f"order_by_{method}_seconds": timings.ordering(method) for method in PERMUTATIONS}
    for way in WAYS:
        row[f"setup_{way}_seconds"] = timings.setup(way)
        row[f"setup_{way}_per_spmv"] = timings.per_spmv(timings.setup(way))
        row |= {f"setup_{way}_{stage}_seconds": seconds for stage, seconds in timings.stages(way)}
    return row


@TABLES.listing(
    "name dtype k n seconds gb_per_s vertices active per_spmv",
    *(f"{product}_{key}" for product in ("spmv", "srcsr") for key in SPMV),
)
def performance_propositions(study: JsonObject) -> list[JsonObject]:
    """Times and throughputs of propositions: figure 3."""
    return [
        {"name": case, **row, "active": found.active(row), "per_spmv": found.proposition_per_spmv(row)}
        | {f"spmv_{key}": found.spmv(key, dtype=row["dtype"]) for key in SPMV}
        | {f"srcsr_{key}": found.spmv("srcsr", key, dtype=row["dtype"]) for key in SPMV}
        for case, found in timings(study)
        for row in found.propositions
    ]


@TABLES.listing("name scan step gb_per_s")
def performance_launches(study: JsonObject) -> list[JsonObject]:
    """Throughput of each launch of Algorithm 3: figure 5, on the GPU only."""
    return [
        {"name": case, "scan": kind, "step": step, "gb_per_s": speed}
        for case, found in timings(study)
        for kind, speeds in found.launches.items()
        for step, speed in enumerate(speeds)
    ]
