"""Traffic statistics of 2^k synthetic packets compared with SciPy on the CPU: the scaling figure.

    python -m benchmarks.pages.traffic [--device cpu|cuda] [--scales FIRST LAST] [--scipy LAST]
        [--write FOLDER]

Times are of two tasks, as in Mandulak et al., "Anonymized Network Sensing Using C++26 std::execution on GPUs"
(2025): the analysis of a matrix that exists, and end to end, from packets to statistics. On a GPU also end to
end from arrays of the host, in 1, 5 and 10 batches. `--write` writes traffic.json and traffic.svg.
"""

from __future__ import annotations

import argparse
import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf
from benchmarks.measures.provenance import surroundings
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.study import timing
from linforest_precond.study.drawing import SHADES, as_svg, new_figure, styled

REPEATS = 5
BATCHES = (1, 5, 10)
# Bytes that one pass reads: 12 of a link, 8 of a source, and the sums of both ends, written and read.
LINK_BYTES, SOURCE_BYTES, END_BYTES = 12, 8, 32


def measure(scale, device, with_scipy) -> dict:
    """One line of the table, in seconds."""
    packets = lf.matrices.packets(scale, device=device)
    A = lf.graph.traffic_matrix(*packets)
    seconds = {
        "analysis": best(lambda: lf.graph.traffic_statistics(A), device),
        "end to end": best(lambda: lf.graph.traffic_statistics(packets), device),
    }
    host = tuple(map(on_host, packets))
    if device == "cuda":
        for batches in BATCHES:
            call = partial(lf.graph.traffic_statistics, host, device=device, batches=batches)
            seconds[f"from the host, batches={batches}"] = best(call, device, 2)
    found = lf.graph.traffic_statistics(A)
    if with_scipy:
        seconds |= scipy_seconds(host, found)
    return {"scale": scale, **found.as_dict(), "bytes": bytes_of(found), "seconds": seconds}


def best(call, device, repeats=REPEATS) -> float:
    """The shortest of several calls, after one that compiles."""
    call()
    return min(timing.time_of(call, device)[0] for _ in range(repeats))


def bytes_of(found) -> int:
    """What one pass over the matrix moves at least."""
    ends = found.unique_sources + found.unique_destinations
    return LINK_BYTES * found.unique_links + SOURCE_BYTES * found.unique_sources + END_BYTES * ends


def scipy_seconds(packets, found) -> dict:
    """The same by NumPy and SciPy, once; the results are compared."""
    building, A = timing.time_of(lambda: scipy_matrix(*packets), "cpu")
    analysis, statistics = timing.time_of(lambda: scipy_statistics(A), "cpu")
    if statistics != tuple(found.as_dict().values()):
        raise AssertionError(f"SciPy finds {statistics}, got {found}")
    return {"SciPy, analysis": analysis, "SciPy, end to end": building + analysis}


def scipy_matrix(sources, destinations):
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in (sources, destinations))
    return sp.coo_array((np.ones(rows.size, np.int64), (rows, columns))).tocsr()


def scipy_statistics(A) -> tuple[int, ...]:
    """The nine properties of a canonical CSR matrix without zeros."""
    sides = (A.sum(axis=1), np.diff(A.indptr)), (A.sum(axis=0), np.bincount(A.indices))
    ends = [(np.count_nonzero(fan), packets.max(), fan.max()) for packets, fan in sides]
    return tuple(int(x) for x in (A.sum(), A.nnz, A.data.max(), *ends[0], *ends[1]))


def table_of(lines) -> str:
    """Packets per second of every task, and the speedups, as Markdown."""
    names = list(dict.fromkeys(name for line in lines for name in line["seconds"]))
    head = [
        "packets",
        "links",
        *(f"{name}, ms" for name in names),
        "× SciPy, analysis",
        "× SciPy, end to end",
    ]
    rows = [head, ["---"] * len(head)]
    for line in lines:
        seconds = line["seconds"]
        shown = [f"{1e3 * seconds[name]:.3g}" if name in seconds else "" for name in names]
        rows.append([f"2^{line['scale']}", f"{line['unique_links']:,}", *shown, *speedups(seconds)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def speedups(seconds) -> list[str]:
    tasks = ("analysis", "end to end")
    return [
        f"{seconds[f'SciPy, {task}'] / seconds[task]:.1f}" if f"SciPy, {task}" in seconds else ""
        for task in tasks
    ]


@styled
def scaling_figure(lines):
    """Seconds over packets, both logarithmic; dashed lines are SciPy's."""
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    names = [name for name in lines[0]["seconds"] if "batches" not in name] + [
        "SciPy, analysis",
        "SciPy, end to end",
    ]
    for name in dict.fromkeys(names):
        points = [(2 ** line["scale"], line["seconds"][name]) for line in lines if name in line["seconds"]]
        shade = SHADES[2] if "analysis" in name else SHADES[3]
        axes.loglog(*zip(*points), "o--" if "SciPy" in name else "o-", color=shade, label=name, markersize=3)
    axes.set(xlabel="packets", ylabel="seconds")
    axes.legend(frameon=False)
    return figure


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--scales", nargs=2, type=int, default=(16, 22), metavar=("FIRST", "LAST"))
    parser.add_argument(
        "--scipy", type=int, default=math.inf, metavar="LAST", help="no SciPy beyond 2^LAST packets"
    )
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    lines, (first, last) = [], options.scales
    for scale in range(first, last + 1):
        lines.append(measure(scale, options.device, scale <= options.scipy))
        rate = lines[-1]["bytes"] / lines[-1]["seconds"]["analysis"] / 1e9
        print(f"2^{scale}: {rate:.0f} GB/s in the analysis", json.dumps(lines[-1]["seconds"]), flush=True)
    print(table_of(lines))
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        content = {**surroundings(options.device), "lines": lines}
        (options.write / "traffic.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        (options.write / "traffic.svg").write_text(as_svg(scaling_figure(lines)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
