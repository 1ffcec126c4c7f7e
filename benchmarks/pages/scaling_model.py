"""The plot and the tables of docs/scaling_model.md: counted messages, modelled for 2 to 4096 ranks.

python -m benchmarks.pages.scaling_model [--write]

A rank's own work, and the messages on this machine, are those of runs on two ranks of MPI, which needs
mpi4py; runs with other numbers of rows are compared with the model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
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
MODULE = "benchmarks.pages.scaling_model"
COUNTED = 2, 4, 8, 16, 32
RANKS = [2**k for k in range(1, 13)]
ROWS, COUNTED_ROWS = 100_000, 1600  # of each rank: modelled, counted
ENTRIES = {"ANISO2": 9, "7-point": 7}
# Ranks of the runs that the model is calibrated by and compared with, rows of each, and repetitions, of which
# the least time counts.
RUNS, SIZES, REPEATED = 2, (25_000, ROWS, 400_000), 9
# Bytes of the short and the long messages whose times give latency and bandwidth, and how many are timed: an
# interrupted rank misses many of them.
SHORT, LONG, MESSAGES = 8, 2**20, 2000
WAYS = "neighbours", "allgather", "two levels"


def matrix(name: str, rows: int):
    """A matrix with about this number of rows."""
    if name == "ANISO2":
        return lf.matrices.aniso(2, round(rows**0.5))
    return lf.matrices.poisson((round(rows ** (1 / 3)),) * 3)


def counts(name: str, ranks: int) -> dict[str, Counts]:
    """The counts of a setup and of a product."""
    A = matrix(name, COUNTED_ROWS * ranks)

    def work(comm, part):
        own = distributed.scatter(A, comm)
        with part("setup"):
            M = distributed.tridiagonal(own)
        with part("product"):
            M @ np.ones(own.n_local)

    return counted(ranks, work)


def scaled(fitted: Counts, rows: int = ROWS) -> Counts:
    """The same for more rows of each rank: the bytes of messages are proportional to them."""
    return replace(fitted, message_bytes=fitted.message_bytes * rows / COUNTED_ROWS)


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


def run() -> None:
    """Print seconds of setups and products on the ranks of MPI, and of messages between two of them."""
    comm = distributed.communicator_of()
    found: dict[str, float] = {}
    for name in ENTRIES:
        for rows in SIZES:
            A = distributed.scatter(matrix(name, rows * comm.size), comm)
            M, x = distributed.tridiagonal(A), np.ones(A.n_local)
            found[f"{name}, {rows}: setup"] = least_seconds(comm, lambda A=A: distributed.tridiagonal(A))
            found[f"{name}, {rows}: product"] = least_seconds(comm, lambda M=M, x=x: M @ x)
    for size in (SHORT, LONG) if comm.size > 1 else ():
        found[f"{size} bytes"] = least_seconds(comm, lambda size=size: exchanged(comm, size), MESSAGES)
    if comm.rank == 0:
        print(json.dumps(found))


def least_seconds(comm: distributed.Communicator, work, repeated: int = REPEATED) -> float:
    """The least of several times; each is that of the slowest rank."""
    times = []
    for _ in range(repeated):
        comm.barrier()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(comm.allreduce(times, "max").min())


def exchanged(comm: distributed.Communicator, size: int) -> None:
    """Both ranks send a message of `size` bytes to the other one."""
    values, other = np.zeros(size, np.uint8), 1 - comm.rank
    comm.exchange_known({other: values}, {other: size}, values)


def run_on_ranks(module: str, ranks: int, *arguments: str) -> dict[str, float]:
    """What `python -m module --run` prints, on ranks of MPI with one thread each."""
    own = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else "mpiexec"
    command = [launcher, "-n", str(ranks), sys.executable, "-m", module, "--run", *arguments]
    done = subprocess.run(command, env={**os.environ, **own}, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class Calibration:
    """Runs on one and on two ranks, and the machine whose messages were timed between these."""

    def __init__(self, fits: dict[str, dict[str, Fit]], machine: Machine) -> None:
        self.fits, self.alone, self.together = fits, *(run_on_ranks(MODULE, n) for n in (1, RUNS))
        # An exchange has one round and one message to the other rank.
        self.latency = self.together[f"{SHORT} bytes"]
        self.bandwidth = (LONG - SHORT) / max(self.together[f"{LONG} bytes"] - self.latency, 1e-9)
        self.here = replace(machine, latency=self.latency, overhead=0.0, bandwidth=self.bandwidth)

    def messages(self, name: str, part: str, rows: int = ROWS) -> float:
        """Modelled seconds of the messages between two ranks."""
        return scaled(self.fits[name][part](RUNS), rows).seconds(RUNS, self.here)

    def work(self, name: str, part: str, rows: int = ROWS) -> float:
        """Seconds of a rank's own work beside others: that of `ROWS` rows is what messages do not take."""
        return rows / ROWS * (self.together[f"{name}, {ROWS}: {part}"] - self.messages(name, part))

    def markdown(self) -> str:
        """The model beside runs on two ranks of this machine; it is calibrated by those with `ROWS` rows."""
        lines = [
            f"An exchange of {SHORT} bytes between two ranks took {self.latency * 1e6:.1f} µs, and long ones "
            f"moved at {self.bandwidth / 1e9:.1f} GB/s. In milliseconds:",
            "",
            "|   | rows of a rank | one rank | two ranks: own work | messages | model | measured |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for name in self.fits:
            for part in ("product", "setup"):
                for rows in SIZES:
                    own, sent = self.work(name, part, rows), self.messages(name, part, rows)
                    alone, seen = (each[f"{name}, {rows}: {part}"] for each in (self.alone, self.together))
                    cells = " | ".join(f"{1e3 * each:.2f}" for each in (alone, own, sent, own + sent, seen))
                    lines.append(f"| {name}: a {part} | {rows:,} | {cells} |")
        return "\n".join(lines)


def modelled(fits: dict[str, Fit], machine: Machine, local: float, setup: float) -> dict[str, list[float]]:
    """Seconds of a product and of a setup by parts, for all numbers of ranks.

    Those of a rank's own work are given.
    """
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
    parser.add_argument("--run", action="store_true", help="on ranks of MPI: print the times of runs")
    given = parser.parse_args()
    if given.run:
        run()
        return
    write = given.write
    machine = Machine(unknown=seconds_of_unknown())
    fits = {}
    for name in ENTRIES:
        found = {ranks: counts(name, ranks) for ranks in COUNTED}
        fits[name] = {
            part: Fit({r: each[part] for r, each in found.items()}) for part in ("setup", "product")
        }
    runs = Calibration(fits, machine)
    unknown = f"Seconds for an unknown of the reduced system: {machine.unknown:.1e}."
    tables, texts = {}, [unknown, "", runs.markdown(), ""]
    for name in ENTRIES:
        tables[name] = modelled(fits[name], machine, runs.work(name, "product"), runs.work(name, "setup"))
        texts += [markdown(name, fits[name], tables[name]), ""]
    texts += [
        "| rows of a rank | own work | split from ranks | with blocks of two rows |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for rows in (10_000, 100_000, 1_000_000):
        work = runs.work("ANISO2", "product", rows)
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
