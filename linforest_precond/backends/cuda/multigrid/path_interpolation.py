"""Interpolation along paths: every second vertex is kept, those between are weighted means of two."""

import numpy as np

from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import INDICES, WEIGHTS, Program
from ..runtime.structs import Struct

# The struct in path_interpolation.cu.
PATHS = Struct("Paths", "multigrid/path_interpolation.cu", neighbors="P", positions="P", sizes="P")
PROGRAM = Program("multigrid/path_interpolation", WEIGHT=WEIGHTS, INDEX=INDICES)


def interpolate(neighbors, positions, sizes, groups, count):
    """The CSR arrays of the prolongator, in double precision, and the number of vertices that are kept."""
    n, index = groups.size, groups.dtype
    program = PROGRAM(WEIGHT=sizes.dtype.type, INDEX=index.type)
    paths = PATHS(neighbors=neighbors, positions=positions, sizes=sizes)
    hosts, stays, counts = cupy.empty(count, index), cupy.empty(n, index), cupy.zeros(n + 1, index)
    for on_path in (0, 1):
        launch(program.find_hosts, (paths, groups, n, on_path, hosts))
    launch(program.mark_staying, (paths, groups, hosts, n, stays))
    launch(program.count_shares, (paths, groups, hosts, n, stays, counts[1:]))
    numbers, indptr = cupy.cumsum(stays, dtype=index), cupy.cumsum(counts, dtype=index)
    width, entries = (int(sums[-1]) if n else 0 for sums in (numbers, indptr))  # stall: how many
    columns, shares = cupy.empty(entries, index), cupy.empty(entries, np.float64)
    launch(program.fill_shares, (paths, groups, hosts, n, stays, numbers, indptr[1:], columns, shares))
    return indptr, columns, shares, width
