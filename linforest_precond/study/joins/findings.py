"""The summary of the study: recall and precision, times, and the largest join."""

from __future__ import annotations

from linforest_precond.study.findings import Findings
from linforest_precond.study.joins.measures import data_sets
from linforest_precond.study.joins.tables import PRINTED, SHORT, data, mean_gain, quality, times
from linforest_precond.study.number_formats import count, digits3, four_digits, seconds, spread, two_digits
from linforest_precond.study.results import CASE, JsonObject, label

findings = Findings()
APPROXIMATE = list(SHORT.values())[1:]


def _compared(rows: list[JsonObject], quantity: str) -> str:
    """The ranges over the data of a quantity by GD and PS, and the thesis' over its own."""
    parts = []
    for method in PRINTED:
        field = f"{SHORT[method].lower()}_{quantity}"
        theirs = [row[field] for row in data_sets().values() if field in row]
        ours = spread([row[field] for row in rows], four_digits)
        parts.append(f"{ours} by {SHORT[method]} (the thesis has {spread(theirs, four_digits)})")
    return f"{' and '.join(parts)} on {len(rows)} data sets"


@findings.about("Recall", quality)
def _recall(rows: list[JsonObject]) -> str:
    return f"{_compared(rows, 'recall')}; the data differ."


@findings.about("GD and PS", quality)
def _missed(rows: list[JsonObject]) -> str:
    """On how many data sets GD misses fewer pairs than PS, here and in the thesis."""
    theirs = [row for row in data_sets().values() if "gd_missed" in row]
    fewer, fewer_there = (sum(row["gd_missed"] < row["ps_missed"] for row in each) for each in (rows, theirs))
    text = f"GD misses fewer pairs than PS on {fewer} of {len(rows)} data sets"
    return f"{text}, in the thesis on {fewer_there} of {len(theirs)}."


@findings.about("Precision of the upper bound", quality)
def _upper(rows: list[JsonObject]) -> str:
    return f"{_compared(rows, 'precision')}."


@findings.about("Bounds", quality)
def _certain(rows: list[JsonObject]) -> str:
    flags = [row[f"{short.lower()}_proven"] for row in rows for short in APPROXIMATE]
    return f"In {sum(flags)} of {len(flags)} cases the matching adds no pair and the upper bound loses none."


@findings.about("Time")
def _time(study: JsonObject) -> str | None:
    means = {short: mean_gain(study, f"{short}_gain") for short in APPROXIMATE}
    known = [f"{digits3(mean)} by {short}" for short, mean in means.items() if mean is not None]
    if not known:
        return None
    short = SHORT[PRINTED[0]]
    whole = two_digits(mean_gain(study, f"{short}_whole"))
    text = f"The exact verification takes longer than the approximate ones by factors of {', '.join(known)}"
    return f"{text}, a whole join by {whole} ({short}), geometric means."


@findings.about("The largest join")
def _large(study: JsonObject) -> str | None:
    """The join of the most sets."""
    row = max(data(study), key=lambda each: each["sets"], default=None)
    if row is None:
        return None
    own = next(each for each in times(study) if each[CASE] is row[CASE])
    short = SHORT[PRINTED[0]]
    text = f"{label(row[CASE])}: {count(row['candidates'])} candidates are filtered in"
    text += f" {seconds(own['filter'])}, {count(row['verified'])} are verified in"
    return f"{text} {seconds(own[f'{short}_seconds'])}, {count(row['pairs'])} are similar ({short})."
