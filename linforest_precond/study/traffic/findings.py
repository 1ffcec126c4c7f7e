"""The main results as sentences, computed from the tables."""

from __future__ import annotations

from linforest_precond.study.number_formats import count, digits3
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import CASE, JsonObject, done, label
from linforest_precond.study.traffic.tables import batch_rows, file_rows, times, window_rows


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_rate, _scipy, _batches, _windows, _files)
    return [finding for maker in makers if (finding := maker(study))]


def _rate(study: JsonObject) -> Finding | None:
    rows = times(study)
    if not rows:
        return None
    best, paper = max(rows, key=lambda row: row["rate"]), keyed_numbers("traffic")
    text = f"At most {digits3(best['rate'] / 1e6)} million packets a second end to end ({label(best[CASE])})"
    theirs = f"{digits3(paper['rate_1'] / 1e6)} million on 8 GPUs with one batch"
    sequential = f"{digits3(paper['rate_sequential'] / 1e6)} million sequentially"
    return Finding("Rate", f"{text}; the thesis has {theirs} and {sequential}, with files that are read.")


def _scipy(study: JsonObject) -> Finding | None:
    rows = [row for row in times(study) if row["same"] is not None]
    if not rows:
        return None
    last = max(rows, key=lambda row: row["packets"])
    same = sum(row["same"] for row in rows)
    speedups = " and ".join(
        f"{digits3(last[f'{task}_speedup'])} times as long {words}"
        for task, words in (("analysis", "in the analysis"), ("end_to_end", "end to end"))
    )
    text = f"On {label(last[CASE])}, NumPy and SciPy on one thread take {speedups}"
    return Finding("Against SciPy", f"{text}; {same} of {len(rows)} cases have the same statistics.")


def _batches(study: JsonObject) -> Finding | None:
    rows = batch_rows(study)
    if not rows:
        return None
    last = max(rows, key=lambda row: row["rate"] * row["seconds"])[CASE]["name"]
    own = [row for row in rows if row[CASE]["name"] == last]
    first, most = own[0], own[-1]
    text = (
        f"{count(most['batches'])} batches take {digits3(most['seconds'] / first['seconds'])} times as long"
    )
    return Finding("Batches", f"{text} as {count(first['batches'])} on {label(most[CASE])}.")


def _windows(study: JsonObject) -> Finding | None:
    cases, rows = done(study, "windows"), window_rows(study)
    if not rows:
        return None
    most = max(row["packets"] * row["windows"] for row in rows)
    own = [row for row in rows if row["packets"] * row["windows"] == most]
    short, long = own[0], own[-1]
    same = sum(case["windows"]["same"] for case in cases)
    shares = [row["unique_links"] / row["packets"] for row in (short, long)]
    text = f"A window of {count(short['packets'])} packets has {digits3(shares[0])} links a packet on average"
    text += f", one of {count(long['packets'])} has {digits3(shares[1])}"
    return Finding(
        "Windows", f"{text}; {same} of {len(cases)} streams of windows have the statistics of the whole."
    )


def _files(study: JsonObject) -> Finding | None:
    rows = file_rows(study)
    if not rows:
        return None
    same, last = sum(row["same"] for row in rows), max(rows, key=lambda row: row["links"])
    rates = [digits3(last["links"] / last[task] / 1e6) for task in ("write", "read")]
    text = f"{same} of {len(rows)} Matrix Market files give the same statistics"
    return Finding(
        "Files",
        f"{text}; {rates[0]} million links a second are written, {rates[1]} read ({label(last[CASE])}).",
    )
