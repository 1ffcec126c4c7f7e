"""The plot and the tables of docs/scaling_model.md: counted messages, modelled for 2 to 4096 ranks.

python -m benchmarks.pages.scaling_model [--write]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import linforest_precond as lf
from benchmarks.pages.message_costs import (
    Counts,
    Fit,
    Machine,
    counted,
    coupling_seconds,
    splitting_point,
)
from linforest_precond import distributed
from linforest_precond.distributed.tridiagonal.reduced_system import BandedLU, entries_of_blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scaling_model.md"
COUNTED = 2, 4, 8, 16, 32
RANKS = [2**k for k in range(1, 13)]
ROWS, COUNTED_ROWS = 100_000, 1600  # of each rank: modelled, counted
ENTRIES = {"ANISO2": 9, "7-point": 7}
# Bytes per row of a product (gather, scatter and sweeps), and the number of times a setup reads A.
PRODUCT_BYTES, SETUP_PRODUCTS = 15 * 8, 40
WAYS = "neighbours", "allgather", "two levels"


def matrix(name: str, ranks: int):
    """A matrix with about `COUNTED_ROWS` rows for each rank."""
    rows = COUNTED_ROWS * ranks
    if name == "ANISO2":
        return lf.matrices.aniso(2, round(rows**0.5))
    return lf.matrices.poisson((round(rows ** (1 / 3)),) * 3)


def counts(name: str, ranks: int) -> dict[str, Counts]:
    """The counts of a setup and of a product."""
    A = matrix(name, ranks)

    def work(comm, part):
        own = distributed.scatter(A, comm)
        with part("setup"):
            M = distributed.tridiagonal(own)
        with part("product"):
            M @ np.ones(own.n_local)

    return counted(ranks, work)


def scaled(fitted: Counts) -> Counts:
    """The same for `ROWS` rows of each rank: the bytes of messages are proportional to them."""
    return replace(fitted, message_bytes=fitted.message_bytes * ROWS / COUNTED_ROWS)


def seconds_of_unknown() -> float:
    """The time of an unknown of the reduced system of 4096 ranks, on this machine."""
    n = 2 * 4095
    i = np.arange(n)
    entries = entries_of_blocks(np.stack([i, i]), np.ones((n, 1, 1)))
    lu, right = BandedLU(entries, n, 2, 2, np.dtype(float)), np.ones((n, 1))
    times = []
    for _ in range(50):
        start = time.perf_counter()
        lu.solve(right)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / n


def modelled(name: str, fits: dict[str, Fit], machine: Machine) -> dict[str, list[float]]:
    """Seconds of a product and of a setup by parts, for all numbers of ranks."""
    local = ROWS * PRODUCT_BYTES / machine.memory_bandwidth
    setup = ROWS * ENTRIES[name] * 12 * SETUP_PRODUCTS / machine.memory_bandwidth
    table: dict[str, list[float]] = {"sweeps": [], "exchange": [], "setup: work": [], "setup: messages": []}
    table |= {way: [] for way in WAYS}
    for ranks in RANKS:
        product = scaled(fits["product"](ranks))
        table["sweeps"].append(local)
        table["exchange"].append(product.seconds(ranks, machine))
        table["setup: work"].append(setup)
        table["setup: messages"].append(scaled(fits["setup"](ranks)).seconds(ranks, machine))
        for way in WAYS:
            table[way].append(coupling_seconds(ranks, machine, way=way))
    return table


def markdown(name: str, fits: dict[str, Fit], table: dict[str, list[float]]) -> str:
    """What was counted, and what is modelled."""
    lines = [
        f"**{name}**, counted on simulated ranks with {COUNTED_ROWS} rows each, the rank with the most:",
        "",
        "| ranks | product: messages | bytes | setup: rounds | messages | bytes | collectives |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for ranks in COUNTED:
        product, setup = fits["product"](ranks), fits["setup"](ranks)
        collectives = setup.allgathers + setup.allreduces + setup.alltoalls
        numbers = product.messages, product.message_bytes, setup.rounds, setup.messages
        numbers += setup.message_bytes, collectives
        lines.append(f"| {ranks} | " + " | ".join(f"{int(number):,}" for number in numbers) + " |")
    lines += [
        "",
        f"Modelled with {ROWS:,} rows on each rank, in microseconds (setup in milliseconds):",
        "",
        "| ranks | sweeps | exchange | cuts: neighbours | cuts: allgather | cuts: two levels | setup |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for i, ranks in enumerate(RANKS):
        if ranks in (2, 16, 64, 256, 1024, 4096):
            parts = [table[part][i] * 1e6 for part in ("sweeps", "exchange", *WAYS)]
            parts.append((table["setup: work"][i] + table["setup: messages"][i]) * 1e3)
            lines.append(f"| {ranks} | " + " | ".join(f"{part:,.1f}" for part in parts) + " |")
    return "\n".join(lines)


def draw(tables: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Times of a product and of a setup by the number of ranks."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 1 + len(tables), figsize=(4.2 * (1 + len(tables)), 3.6))
    for panel, (name, table) in zip(axes, tables.items()):
        for part in ("sweeps", "exchange", *WAYS):
            style = "--" if part in WAYS else "-"
            label = f"cuts: {part}" if part in WAYS else part
            panel.loglog(RANKS, np.array(table[part]) * 1e6, style, label=label)
        panel.set(title=f"a product, {name}", xlabel="ranks", ylabel="microseconds")
    for name, table in tables.items():
        axes[-1].loglog(RANKS, np.array(table["setup: messages"]) * 1e3, label=f"{name}: messages")
        axes[-1].loglog(RANKS, np.array(table["setup: work"]) * 1e3, "--", label=f"{name}: own work")
    axes[-1].set(title="a setup", xlabel="ranks", ylabel="milliseconds")
    for panel in axes:
        panel.legend(fontsize=7)
        panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the plot and the tables into the page")
    write = parser.parse_args().write
    machine = Machine(unknown=seconds_of_unknown())
    tables, texts = {}, [f"Seconds for an unknown of the reduced system: {machine.unknown:.1e}.", ""]
    for name in ENTRIES:
        found = {ranks: counts(name, ranks) for ranks in COUNTED}
        fits = {part: Fit({r: each[part] for r, each in found.items()}) for part in ("setup", "product")}
        tables[name] = modelled(name, fits, machine)
        texts += [markdown(name, fits, tables[name]), ""]
    texts += [
        "| rows of a rank | own work | split from ranks | with blocks of two rows |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for rows in (10_000, 100_000, 1_000_000):
        work = rows * PRODUCT_BYTES / machine.memory_bandwidth
        points = [f"{splitting_point(machine, work, numbers):,}" for numbers in (2, 4)]
        texts.append(f"| {rows:,} | {work * 1e6:,.0f} µs | " + " | ".join(points) + " |")
    text = "\n".join(texts)
    print(text)
    if write:
        draw(tables, PAGE.with_suffix(".svg"))
        before, _, after = PAGE.read_text().partition("<!-- counted -->\n")
        _, end, after = after.partition("<!-- end -->")  # what was there before
        PAGE.write_text(f"{before}<!-- counted -->\n\n{text}\n\n{end}{after}")


if __name__ == "__main__":
    main()
