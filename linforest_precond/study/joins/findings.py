"""The main results as sentences, computed from the tables."""

from __future__ import annotations

from linforest_precond.study.joins.tables import PRINTED, SHORT, data, mean_gain, quality, times
from linforest_precond.study.number_formats import count, digits3, fixed, seconds
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import named_rows
from linforest_precond.study.results import CASE, JsonObject, label


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_recall, _missed, _upper, _certain, _time, _large)
    return [finding for maker in makers if (finding := maker(study))]


def _range(values: list[float]) -> str:
    return f"{fixed(min(values), 4)} to {fixed(max(values), 4)}"


def _compared(study: JsonObject, quantity: str) -> str | None:
    """The ranges over the data of a quantity by GD and PS, and the thesis' over its own."""
    rows = quality(study)
    if not rows:
        return None
    parts = []
    for method in PRINTED:
        field = f"{SHORT[method].lower()}_{quantity}"
        data_rows = (row for row in named_rows("joins").values() if "sets" in row)
        theirs = [row[field] for row in data_rows if field in row]
        ours = _range([row[field] for row in rows])
        parts.append(f"{ours} by {SHORT[method]} (the thesis has {_range(theirs)})")
    return f"{' and '.join(parts)} on {len(rows)} data sets"


def _recall(study: JsonObject) -> Finding | None:
    text = _compared(study, "recall")
    return None if text is None else Finding("Recall", f"{text}; the data differ.")


def _missed(study: JsonObject) -> Finding | None:
    """Which of GD and PS misses fewer pairs, here and in the thesis."""
    rows = quality(study)
    if not rows:
        return None
    theirs = [row for row in named_rows("joins").values() if "gd_missed" in row]
    fewer, fewer_there = (sum(row["gd_missed"] < row["ps_missed"] for row in each) for each in (rows, theirs))
    text = f"GD misses fewer pairs than PS on {fewer} of {len(rows)} data sets"
    return Finding("GD and PS", f"{text}, in the thesis on {fewer_there} of {len(theirs)}.")


def _upper(study: JsonObject) -> Finding | None:
    text = _compared(study, "precision")
    return None if text is None else Finding("Precision of the upper bound", f"{text}.")


def _certain(study: JsonObject) -> Finding | None:
    rows = quality(study)
    if not rows:
        return None
    flags = [row[f"{short.lower()}_proven"] for row in rows for short in list(SHORT.values())[1:]]
    text = f"In {sum(flags)} of {len(flags)} cases the matching adds no pair and the upper bound loses none"
    return Finding("Bounds", f"{text}.")


def _time(study: JsonObject) -> Finding | None:
    means = {short: mean_gain(study, f"{short}_gain") for short in list(SHORT.values())[1:]}
    known = [f"{digits3(mean)} by {short}" for short, mean in means.items() if mean is not None]
    if not known:
        return None
    whole = mean_gain(study, f"{SHORT[PRINTED[0]]}_whole")
    text = f"The exact verification takes longer than the approximate ones by factors of {', '.join(known)}"
    return Finding(
        "Time", f"{text}, a whole join by {fixed(whole, 2)} ({SHORT[PRINTED[0]]}), geometric means."
    )


def _large(study: JsonObject) -> Finding | None:
    """The join of the most sets."""
    rows = data(study)
    if not rows:
        return None
    row = max(rows, key=lambda each: each["sets"])
    own = next(each for each in times(study) if each[CASE] is row[CASE])
    verify = own[f"{SHORT[PRINTED[0]]}_seconds"]
    text = (
        f"{label(row[CASE])}: {count(row['candidates'])} candidates are filtered in {seconds(own['filter'])}"
    )
    rest = f"{count(row['verified'])} are verified in {seconds(verify)}, {count(row['pairs'])} are similar"
    return Finding("The largest join", f"{text}, {rest} ({SHORT[PRINTED[0]]}).")
