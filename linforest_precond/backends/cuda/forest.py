"""From a [0,2]-factor to disjoint paths, in work linear in the vertices."""

import numpy as np

from linforest_precond.records import ForestArrays

from .launch import address, launch, struct
from .lazy import cupy
from .loader import kernels

# The structs and counters in forest.cu.
POINTER = np.uint64
PATHS = dict.fromkeys(("neighbors", "records", "stops", "arcs", "counters"), POINTER) | {"vertices": np.int64}
CYCLES = dict.fromkeys(("values", "weakest", "stretches", "search"), POINTER)
STOPS, LEADERS, ENDS, LONE, CYCLIC_ARCS, LONGEST, CUT_ARCS, COUNTERS = range(8)

# Pointer jumping at least doubles the reach in every round.
MOST_ROUNDS = 64
# Blocks that wait for each other: few, since waiting costs more than jumping.
COOPERATIVE_BLOCKS = 4


def linear_forest(neighbors, values, slots, in_place=False):
    """Break the cycles and number the paths; the factor's own arrays are cut only if `in_place`."""
    run = _Run(neighbors, values)
    counters = run.rank()
    if counters[CYCLIC_ARCS]:
        if not in_place:
            neighbors, values = neighbors.copy(), values.copy()
            slots = None if slots is None else slots.copy()
        run.cut(neighbors, values, slots, int(2 * (counters[STOPS] + counters[LEADERS])))
        counters = run.rank_again()
    path_id, position, lengths = run.positions()
    cycles = int(counters[CUT_ARCS]) // 2
    n_paths = int(counters[ENDS]) // 2 + int(counters[LONE]) + cycles
    longest = max(int(counters[LONGEST]), min(1, int(counters[LONE])))
    return ForestArrays(neighbors, values, slots, path_id, position, lengths, n_paths, longest, cycles)


class _Run:
    """The arcs between the stops of one factor, on the device."""

    def __init__(self, neighbors, values):
        n, index = neighbors.shape[0], neighbors.dtype
        types = {"WEIGHT": values.dtype.type, "INDEX": index.type}
        self.program = kernels("forest", **types)
        self.cooperative = kernels("forest", cooperative=True, **types)
        self.n, self.index = n, index
        self.arrays = {
            "neighbors": neighbors,
            "records": cupy.empty(n, np.uint64),
            "stops": cupy.empty(n, np.uint32),
            "arcs": cupy.empty(2 * n, np.uint64),
            "counters": cupy.zeros(COUNTERS, np.uint64),
        }
        self.paths = struct(PATHS, vertices=n, **self.arrays)

    def rank(self):
        """Walk and rank all arcs; the counters, on the host."""
        launch(self.program.find_stops, (self.paths,))
        launch(self.program.walk_arcs, (self.paths, 0))
        launch(self.program.find_leaders, (self.paths,))
        launch(self.program.walk_arcs, (self.paths, 1))
        return self.rank_again(just_walked=1)

    def rank_again(self, just_walked=0):
        self._cooperate(self.cooperative.rank_arcs, self.paths, just_walked)
        return self.arrays["counters"].get()  # stall: are there cycles, and how much memory do they need

    def _cooperate(self, kernel, *arguments):
        rounds = cupy.zeros(MOST_ROUNDS + 1, np.uint64)
        arguments = *arguments, rounds, address(rounds) + 8
        launch(kernel, arguments, blocks_per_multiprocessor=COOPERATIVE_BLOCKS)

    def cut(self, neighbors, values, slots, arcs):
        """Open every cycle at its weakest edge, in the arcs and in the arrays given."""
        self.arrays["neighbors"] = neighbors
        self.paths = struct(PATHS, vertices=self.n, **self.arrays)
        edge_bytes = -(-(values.dtype.itemsize + 8) // values.dtype.itemsize) * values.dtype.itemsize
        arrays = {
            "values": values,
            "weakest": cupy.empty(arcs * edge_bytes, np.uint8),
            "stretches": cupy.empty(arcs, np.uint64),
            "search": cupy.full(arcs, 2**64 - 1, np.uint64),
        }
        cycles = struct(CYCLES, **arrays)
        launch(self.program.walk_cycles, (self.paths, cycles))
        self._cooperate(self.cooperative.find_weakest, self.paths, cycles)
        launch(self.program.cut_arcs, (self.paths, cycles))
        launch(self.program.remove_cut_edges, (self.paths, cycles, values, address(slots)))

    def positions(self):
        path_id, position = cupy.empty(self.n, self.index), cupy.empty(self.n, self.index)
        lengths = cupy.zeros(self.n, self.index)
        launch(self.program.settle_arcs, (self.paths, lengths))
        launch(self.program.assign_positions, (self.paths, path_id, position, lengths))
        return path_id, position, lengths
