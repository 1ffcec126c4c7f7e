"""The results of a benchmark run: rows with raw samples, and their JSON file with its schema."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

SCHEMA = 1
FOLDER = Path(__file__).resolve().parents[1] / "results"

# The fields of a results file and of a row, with their types; `None` is null.
NUMBER = (int, float)
DOCUMENT = {
    "schema": int,
    "date": str,
    "quick": bool,
    "commit": str,
    "machine": dict,
    "versions": dict,
    "sha256": dict,
    "failures": list,
    "rows": list,
}
ROW = {
    "section": str,
    "name": str,
    "case": str,
    "dtype": str,
    "backend": str,
    "unit": str,
    "samples": list,
    "median": NUMBER,
    "peer": (str, None),
    "peer_samples": (list, None),
    "ratio": (*NUMBER, None),
    "judged": str,
    "goal": (*NUMBER, None),
    "dream": (*NUMBER, None),
    "met": (bool, None),
    "note": str,
}
# The hashed parts of the code, see provenance.py: each backend with its host code, and the benchmarks.
HASHED = ("cuda", "cpu", "benchmarks")
# What a target bounds: ratio or median from above, or the speedup (1 / ratio) from below.
JUDGED = ("ratio", "median", "speedup")


@dataclass(frozen=True)
class Row:
    """One measurement, and that of its peer where it has one.

    `goal` is the target and `dream` a stretch target: an upper bound of the "ratio" or the "median", or a
    lower bound of the "speedup", whichever `judged` names. `backend` is the backend whose code was measured.
    """

    section: str
    name: str
    case: str
    samples: list[float]
    dtype: str = "float64"
    backend: str = "cuda"
    unit: str = "ms"
    peer: str | None = None
    peer_samples: list[float] | None = None
    judged: str = "ratio"
    goal: float | None = None
    dream: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.median / statistics.median(self.peer_samples)

    @property
    def met(self) -> bool | None:
        return reached(self.judged, self.median, self.ratio, self.goal)

    def as_dict(self) -> dict:
        # Medians are those of the rounded samples: differences of times may cancel.
        kept = replace(self, samples=_rounded(self.samples), peer_samples=_rounded(self.peer_samples))
        return {field: _rounded(getattr(kept, field)) for field in ROW}


def reached(judged, median, ratio, bound) -> bool | None:
    """Whether a row meets a bound; None without a bound. A time that is not positive meets none."""
    if bound is None:
        return None
    if median <= 0 or (ratio is not None and ratio <= 0):
        return False
    if judged == "speedup":
        return 1 / ratio >= bound
    return {"ratio": ratio, "median": median}[judged] <= bound


def _rounded(value):
    """Seven digits: more than the clocks resolve."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def check(document) -> dict:
    """Return the document if it conforms to the schema, raise ValueError otherwise."""
    _check_fields("document", document, DOCUMENT)
    if document["schema"] != SCHEMA:
        raise ValueError(f"document: schema must be {SCHEMA}, got {document['schema']}")
    if set(document["sha256"]) != set(HASHED):
        raise ValueError(f"document: sha256 must have {HASHED}, got {sorted(document['sha256'])}")
    for number, row in enumerate(document["rows"]):
        _check_row(f"row {number}", row)
    return document


def _check_row(place, row):
    _check_fields(place, row, ROW)
    if not row["samples"]:
        raise ValueError(f"{place}: samples must not be empty")
    if row["backend"] not in HASHED or row["judged"] not in JUDGED:
        raise ValueError(f"{place}: backend {row['backend']!r} or judged {row['judged']!r} is unknown")
    if (row["peer"] is None) != (row["peer_samples"] is None):
        raise ValueError(f"{place}: peer and peer_samples must both be given, or neither")
    computed = Row(**{field: row[field] for field in Row.__dataclass_fields__})
    for field in ("median", "ratio", "met"):
        if not _agree(row[field], getattr(computed, field)):
            raise ValueError(f"{place}: {field} is {row[field]}, its samples give {getattr(computed, field)}")


def _agree(stored, computed):
    if isinstance(stored, float) and isinstance(computed, float):
        return abs(stored - computed) <= 1e-5 * abs(computed)
    return stored == computed


def _check_fields(place, record, fields):
    if not isinstance(record, dict) or set(record) != set(fields):
        raise ValueError(f"{place}: fields must be {sorted(fields)}, got {sorted(record)}")
    for field, kinds in fields.items():
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        kinds = tuple(type(None) if kind is None else kind for kind in kinds)
        if not isinstance(record[field], kinds):
            raise ValueError(f"{place}: {field} must be of {kinds}, got {record[field]!r}")


def read(path) -> dict:
    try:
        return check(json.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_all(folder=FOLDER) -> list[dict]:
    """All results in a folder, by file name."""
    return [read(path) for path in sorted(Path(folder).glob("*.json"))]


def write(path, document) -> None:
    """Write a checked document, one row per line, atomically."""
    head = {field: document[field] for field in DOCUMENT if field != "rows"}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in check(document)["rows"])
    head = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    text = f'{head},\n "rows": [\n{lines}\n]\n}}\n'
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
