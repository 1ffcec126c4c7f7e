"""ILU(0): elimination on the pattern of a matrix, without fill-in (Meijerink & van der Vorst 1977)."""

import numpy as np

from linforest_precond.backends.returns import FactorFinding

from ..runtime import INDICES, VALUES, Program, Struct, cupy, launch
from ..runtime.grid_sums import add_up

WARP = 32
# Lanes per row of `copy_triangles`.
TEAM = 8

ELIMINATION = Struct("Elimination", "ilu/incomplete_factors.cu")
TRIANGLE = Struct("TriangleArrays", "ilu/incomplete_factors.cu")
PROGRAM = Program("ilu/incomplete_factors", VALUE=VALUES, INDEX=INDICES)


def factorize(indptr, indices, data, starts, hermitian, shift, weights):
    """The levels at `starts` are not needed here: rows find out by themselves when others are done."""
    n, index = indptr.size - 1, indptr.dtype
    program = PROGRAM(VALUE=data, INDEX=index)
    diagonals, ends = cupy.empty(n, index), [cupy.zeros(n + 1, index) for _ in range(2)]
    work, inverse, dropped = data.copy(), cupy.empty(n, data.dtype), cupy.empty(n)
    words, report = cupy.zeros(n + 1, np.uint32), cupy.zeros(len(FactorFinding), np.uint64)
    launch(program.find_diagonals, (indptr, indices, n, diagonals, *ends), items=n)
    elimination = ELIMINATION(
        indptr=indptr, indices=indices, diagonals=diagonals, data=work, inverse=inverse, weights=weights,
        dropped=dropped, ready=words[1:], ticket=words, report=report, n=n, hermitian=int(hermitian),
        shift=float(shift),
    )  # fmt: skip
    launch(program.eliminate, (elimination,), items=n * WARP)
    entries = indices.size - n
    lower_entries = int(add_up(ends[0])[-1])  # stall: how much is allocated
    add_up(ends[1])
    lower, upper = (
        (each, cupy.empty(count, index), cupy.empty(count, data.dtype))
        for each, count in zip(ends, (lower_entries, entries - lower_entries))
    )
    triangles = (TRIANGLE(indptr=a, indices=b, data=c) for a, b, c in (lower, upper))
    launch(program.copy_triangles, (elimination, *triangles), items=n * TEAM)
    return lower, upper, inverse, dropped, report
