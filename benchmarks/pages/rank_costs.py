"""What ranks cost beside one process: the table in docs/guide/distributed.md.

    python -m benchmarks.pages.rank_costs [--write] [--side N]

Setups and iterations of CG for ANISO2 on an N x N grid: in one process without ranks, on one rank of MPI, and
on two. Every process has one thread. Needs mpi4py.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import linforest_precond as lf
from benchmarks.pages.scaling_model import least_seconds, run_on_ranks
from linforest_precond import distributed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "distributed.md"
BEGIN, END = "<!-- costs:begin -->\n", "<!-- costs:end -->"
SIDE, ITERATIONS, REPEATED = 1000, 20, 3
KINDS = {
    "tridiagonal": (lf.tridiagonal, distributed.tridiagonal),
    # Over ranks, Chebyshev is the default.
    "multilevel": (partial(lf.multilevel, smoother="chebyshev"), distributed.multilevel),
}


def run(side: int) -> None:
    """Print the seconds of setups and iterations, alone and on the ranks of MPI."""
    comm, found = distributed.communicator_of(), {}
    whole = lf.matrices.aniso(2, side)
    A = distributed.scatter(whole, comm)
    warnings.simplefilter("ignore")  # iterations that are counted do not converge
    for kind, (alone, over_ranks) in KINDS.items():
        ways = {"ranks": (over_ranks, A, distributed.cg, A.n_local)}
        if comm.size == 1:
            ways["alone"] = alone, whole, lf.solvers.cg, side * side
        for way, (make, matrix, solve, n) in ways.items():
            b = np.ones(n)
            M = make(matrix)
            setup = least_seconds(comm, lambda make=make, matrix=matrix: make(matrix), REPEATED)
            iterations = least_seconds(
                comm,
                lambda solve=solve, matrix=matrix, b=b, M=M: solve(
                    matrix, b, M=M, rtol=1e-300, maxiter=ITERATIONS
                ),
                REPEATED,
            )
            found[f"{kind}: {way}"] = setup, iterations / ITERATIONS
    if comm.rank == 0:
        print(json.dumps(found))


def markdown(one: dict, two: dict, side: int) -> str:
    lines = [
        f"ANISO2 {side}², milliseconds; every process has one thread:\n",
        "|   | one process | one rank | | two ranks | |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for part, name in enumerate(("setup", "iteration of CG")):
        for kind in KINDS:
            alone, single, double = (
                1e3 * found[f"{kind}: {way}"][part]
                for found, way in ((one, "alone"), (one, "ranks"), (two, "ranks"))
            )
            lines.append(
                f"| `{kind}`: {name} | {alone:,.1f} | {single:,.1f} | {single / alone:.2f} x "
                f"| {double:,.1f} | {double / alone:.2f} x |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--side", type=int, default=SIDE, help=f"of the grid ({SIDE})")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run(options.side)
    side = f"--side={options.side}"
    one, two = (run_on_ranks("benchmarks.pages.rank_costs", ranks, side) for ranks in (1, 2))
    table = markdown(one, two, options.side)
    print(table)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
