"""From a [0,2]-factor to a linear forest by bidirectional scans: Klein & Strzodka (2022), section 3.3.

Each step of a scan is one launch, which doubles the strides of all vertices.
"""

import numpy as np

from linforest_precond.backends.returns import ForestArrays

from ..runtime import INDICES, WEIGHTS, Program, address, cupy, launch

# Counters of the kernels: paths, vertices of the longest one, cycles.
COUNTERS = 3
PROGRAM = Program("forest/bidirectional_scan", WEIGHT=WEIGHTS, INDEX=INDICES)


def linear_forest(neighbors, values, slots, in_place=False):
    counters = cupy.zeros(COUNTERS, np.uint64)
    neighbors, values, slots = _break_cycles(neighbors, values, slots, in_place, counters)
    labels = _label_paths(neighbors, values.dtype, counters)
    return ForestArrays(neighbors, values, slots, *labels, counters)


def break_cycles(neighbors, values, slots, in_place=False):
    """The number of cycles is on the device."""
    counters = cupy.zeros(COUNTERS, np.uint64)
    return *_break_cycles(neighbors, values, slots, in_place, counters), counters[-1]


def label_paths(neighbors):
    return _label_paths(neighbors, np.dtype(np.float64), cupy.zeros(COUNTERS, np.uint64))


def scan_steps(n):
    return max(n - 1, 0).bit_length()


def _break_cycles(neighbors, values, slots, in_place, counters):
    if not in_place:
        neighbors, values = neighbors.copy(), values.copy()
        slots = None if slots is None else slots.copy()
    n, program = neighbors.shape[0], PROGRAM(WEIGHT=values, INDEX=neighbors)
    edges = (2 * n, values.dtype.itemsize + 8)  # bytes of struct Weakest: the bits of a weight, two vertices
    scan, other = ((cupy.empty_like(neighbors), cupy.empty(edges, np.uint8)) for _ in range(2))
    launch(program.begin_cycle_scan, (neighbors, values, n, *scan), items=n)
    for _ in range(scan_steps(n)):
        launch(program.cycle_scan_step, (*scan, n, *other), items=n)
        scan, other = other, scan
    launch(program.cut_weakest_edges, (*scan, n, neighbors, values, address(slots), counters), items=n)
    return neighbors, values, slots


def _label_paths(neighbors, weight, counters):
    n, program = neighbors.shape[0], PROGRAM(WEIGHT=weight, INDEX=neighbors)
    scan, other = ((cupy.empty_like(neighbors), cupy.empty_like(neighbors)) for _ in range(2))
    launch(program.begin_path_scan, (neighbors, n, *scan), items=n)
    for _ in range(scan_steps(n)):
        launch(program.path_scan_step, (*scan, n, *other), items=n)
        scan, other = other, scan
    path_id, position, lengths = (cupy.empty(n, neighbors.dtype) for _ in range(3))
    launch(program.label_by_ends, (*scan, n, path_id, position, lengths, counters), items=n)
    return path_id, position, lengths
