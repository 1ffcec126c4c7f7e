"""How much of three anisotropic grids a [0,n]-factor and a linear forest hold, beside the paper's values.

The coverage of a factor is the share of the matrix's off-diagonal weight that lies on its edges. The values
are those of Table 5 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted Graph on
GPUs" (2022), whose grids have 2500 x 2500 vertices. Run `python aniso_coverage.py [SIDE]`.
"""

import sys
import time

import linforest_precond as lf

DEGREES = (1, 2, 3, 4)
COLUMNS = ("c_id", "n=1", "n=2", "n=3", "n=4", "greedy n=2", "forest")

# Table 5: c_id, the parallel factors after five iterations, the sequential factor for n = 2. It has no
# column for forests.
PAPER = {
    1: (0.68, 0.27, 0.67, 0.72, 0.79, 0.67),
    2: (0.13, 0.27, 0.67, 0.72, 0.79, 0.67),
    3: (0.68, 0.27, 0.67, 0.72, 0.79, 0.67),
}


def coverages(A, forest):
    """One row of the table, in the order of COLUMNS."""
    factors = [lf.graph.factor(A, n).coverage for n in DEGREES]
    return (lf.graph.identity_coverage(A), *factors, lf.graph.greedy_factor(A, 2).coverage, forest.coverage)


def print_row(name, cells):
    print(f"{name:<16}" + "".join(f"{cell:>12}" for cell in cells))


def main(side=1000):
    print(f"Coverage of ANISO grids, {side} x {side} vertices, five iterations (forest: as many as pay)\n")
    print_row("", COLUMNS)
    forests = {}
    start = time.perf_counter()
    for kind, published in PAPER.items():
        A = lf.matrices.aniso(kind, side)
        forests[kind] = lf.linear_forest(A)
        print_row(f"ANISO{kind}", (f"{value:.2f}" for value in coverages(A, forests[kind])))
        print_row("  paper", (*(f"{value:.2f}" for value in published), "-"))
    print(f"\nin {time.perf_counter() - start:.1f} s, compilation included. The forests:")
    for kind, forest in forests.items():
        print(f"\nANISO{kind}\n{forest}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
