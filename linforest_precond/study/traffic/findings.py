"""The summary of the study: rates, agreement with SciPy, batches, windows and files."""

from __future__ import annotations

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import count, digits3
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import CASE, JsonObject, label
from linforest_precond.study.traffic.tables import batch_rows, file_rows, longest_stream, times, window_rows

findings = Findings()


@findings.about("Rate", times)
def _rate(rows: list[JsonObject]) -> str:
    """Rates end to end, that of the thesis' number of packets beside the thesis'."""
    best, paper = max(rows, key=lambda row: row["rate"]), keyed_numbers("traffic")
    whole = [row for row in rows if row["packets"] == paper["packets"]]
    text = f"At most {_millions(best['rate'])} packets a second end to end ({label(best[CASE])})"
    if whole:
        generated = ", with their generation" if whole[0]["analysis"] is None else ""
        text += (
            f", {_millions(whole[0]['rate'])} of the thesis' {count(whole[0]['packets'])} packets{generated}"
        )
    text += f"; the thesis has {_millions(paper['rate_1'])} on 8 GPUs with one batch and"
    text += (
        f" {_millions(paper['rate_sequential'])} sequentially, of {count(paper['packets'])} packets in files"
    )
    return f"{text} that are read."


def _millions(rate: float) -> str:
    return f"{digits3(rate / 1e6)} million"


@findings.about("Against SciPy", lambda study: [row for row in times(study) if row["same"] is not None])
def _scipy(rows: list[JsonObject]) -> str:
    last = max(rows, key=lambda row: row["packets"])
    same = sum(row["same"] for row in rows)
    speedups = " and ".join(
        f"{digits3(last[f'{task}_speedup'])} times as long {words}"
        for task, words in (("analysis", "in the analysis"), ("end_to_end", "end to end"))
    )
    text = f"On {label(last[CASE])}, NumPy and SciPy on one thread take {speedups}"
    return f"{text}; {same} of {len(rows)} cases have the same statistics."


@findings.about("Batches", batch_rows)
def _batches(rows: list[JsonObject]) -> str:
    last = max(rows, key=lambda row: row["rate"] * row["seconds"])[CASE]["name"]
    own = [row for row in rows if row[CASE]["name"] == last]
    first, most = own[0], own[-1]
    times_as_long = digits3(most["seconds"] / first["seconds"])
    text = f"{count(most['batches'])} batches take {times_as_long} times as long as"
    return f"{text} {count(first['batches'])} on {label(most[CASE])}."


@findings.about("Windows", window_rows)
def _windows(rows: list[JsonObject]) -> str:
    own = longest_stream(rows)
    cases = {row[CASE]["name"]: row[CASE] for row in rows}.values()
    same = [case["windows"]["same"] for case in cases if case["windows"]["same"] is not None]
    short, long = own[0], own[-1]
    shares = [row["unique_links"] / row["packets"] for row in (short, long)]
    text = f"A window of {count(short['packets'])} packets has {digits3(shares[0])} links a packet on average"
    text += f", one of {count(long['packets'])} has {digits3(shares[1])}"
    if same:
        text += f"; {sum(same)} of {len(same)} streams of windows have the statistics of the whole"
    return f"{text}."


@findings.about("Files", file_rows)
def _files(rows: list[JsonObject]) -> str:
    same, last = sum(row["same"] for row in rows), max(rows, key=lambda row: row["links"])
    rates = [digits3(last["links"] / last[task] / 1e6) for task in ("write", "read")]
    text = f"{same} of {len(rows)} Matrix Market files give the same statistics"
    return f"{text}; {rates[0]} million links a second are written, {rates[1]} read ({label(last[CASE])})."
