"""Tables and plot of docs/guide/cache_orderings.md, from the results of `cache_orderings.py`."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

from benchmarks.measures.results import FOLDER

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PLOT = DOCS / "guide" / "cache_orderings.md", DOCS / "cache_orderings.svg"
DEVICES = {"cpu": "CPU", "cuda": "GPU"}
TIMES = {"spmv_ms": "SpMV", "bfs_ms": "BFS", "cg_ms": "iteration of CG"}
NUMBERS = "rows", "entries", "order_ms", "linear_gap", "log_gap", "misses", *TIMES


def results_file(device) -> Path:
    return FOLDER / f"cache_orderings_{device}.csv"


def read(device) -> list[dict]:
    path = results_file(device)
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return [line | {name: float(line[name]) for name in NUMBERS} for line in csv.DictReader(file)]


def write() -> None:
    text = PAGE.read_text(encoding="utf-8")
    lines = {device: read(device) for device in DEVICES}
    for device in DEVICES:
        if lines[device]:
            text = with_section(text, f"{device} means", means_table(lines[device]))
            text = with_section(text, f"{device} cases", cases_table(lines[device]))
    if lines["cpu"]:
        text = with_section(text, "correlations", correlations_table(lines))
    PAGE.write_text(text, encoding="utf-8")
    draw(lines)


def with_section(text, name, content):
    """The text with new content between its markers."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    return re.sub(
        f"({re.escape(begin)}\n).*({re.escape(end)})",
        lambda m: f"{m[1]}\n{content}\n\n{m[2]}",
        text,
        flags=re.S,
    )


def by_case(lines) -> dict[str, dict[str, dict]]:
    """{case: {ordering: line}}."""
    found: dict[str, dict[str, dict]] = {}
    for line in lines:
        found.setdefault(line["case"], {})[line["ordering"]] = line
    return found


def gains(lines, column) -> dict[str, float]:
    """{ordering: the geometric mean over all cases of natural / ordering}."""
    found: dict[str, list[float]] = {}
    for orderings in by_case(lines).values():
        natural = orderings["natural"][column]
        for name, line in orderings.items():
            found.setdefault(name, []).append(natural / line[column])
    return {name: math.exp(sum(map(math.log, ratios)) / len(ratios)) for name, ratios in found.items()}


def means_table(lines) -> str:
    columns = {"log_gap": "log gap", "linear_gap": "linear gap", "misses": "misses", **TIMES}
    means = {column: gains(lines, column) for column in columns}
    rows = [[name, *(f"{means[column][name]:.2f}" for column in columns)] for name in means["log_gap"]]
    return markdown(["ordering", *columns.values()], rows)


def cases_table(lines) -> str:
    header = ["case", "rows", "natural: log gap", "misses", "SpMV ms", "best SpMV", "best BFS", "best CG"]
    rows = []
    for case, orderings in by_case(lines).items():
        natural = orderings["natural"]
        numbers = (
            f"{natural['rows']:,.0f}",
            per_entry(natural),
            f"{natural['misses']:.3f}",
            f"{natural['spmv_ms']:.3g}",
        )
        rows.append([case, *numbers, *(best(orderings, column) for column in TIMES)])
    return markdown(header, rows)


def per_entry(line) -> str:
    return f"{line['log_gap'] / line['entries']:.2f}"


def best(orderings, column) -> str:
    line = min(orderings.values(), key=lambda line: line[column])
    return f"{line['ordering']} {orderings['natural'][column] / line[column]:.2f} x"


def correlations_table(lines) -> str:
    """Pearson's coefficients of metrics and times, each in units of the worst ordering of its case."""
    rows = []
    for device, name in DEVICES.items():
        for column, title in {"misses": "misses", **TIMES}.items() if lines[device] else ():
            rows.append(
                [
                    f"{title}, {name}",
                    *(f"{correlation(lines[device], m, column):.2f}" for m in ("linear_gap", "log_gap")),
                ]
            )
    return markdown(["", "linear gap", "log gap"], rows)


def correlation(lines, first, second) -> float:
    pairs = []
    for orderings in by_case(lines).values():
        worst = {column: max(line[column] for line in orderings.values()) for column in (first, second)}
        pairs += [[line[column] / worst[column] for column in (first, second)] for line in orderings.values()]
    means = [sum(values) / len(values) for values in zip(*pairs)]
    shifted = [[value - mean for value, mean in zip(pair, means)] for pair in pairs]
    moments = [sum(pair[i] * pair[j] for pair in shifted) for i, j in ((0, 1), (0, 0), (1, 1))]
    return moments[0] / max(math.sqrt(moments[1] * moments[2]), 1e-300)


def markdown(header, rows) -> str:
    ruler = ["---", *("---:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ruler, *rows))


def draw(lines) -> None:
    """Time of an SpMV against the log gap, both in units of the natural order of each case."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "linforest"
    from matplotlib import pyplot

    devices = [device for device in DEVICES if lines[device]]
    figure, axes = pyplot.subplots(1, len(devices), figsize=(5.5 * len(devices), 4), squeeze=False)
    for axis, device in zip(axes[0], devices):
        for case, orderings in by_case(lines[device]).items():
            natural = orderings["natural"]
            points = [
                (line["log_gap"] / natural["log_gap"], line["spmv_ms"] / natural["spmv_ms"])
                for line in orderings.values()
            ]
            axis.plot(*zip(*sorted(points)), "o-", markersize=3, linewidth=0.6, label=case)
        axis.axhline(1.0, color="grey", linewidth=0.5)
        axis.set(xlabel="log gap / natural", ylabel="time of SpMV / natural", title=DEVICES[device])
        axis.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})
