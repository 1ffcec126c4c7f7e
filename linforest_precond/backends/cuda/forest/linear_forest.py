"""From a [0,2]-factor to disjoint paths, in work linear in the vertices."""

import numpy as np

from linforest_precond.backends.returns import ForestArrays

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address

# Most nodes a level can have, as shares of the vertices: every second node of a path of 3, 5, 9 or 17
# vertices, its ends included, can be an anchor.
SHARES = 2 / 3, 2 / 5, 2 / 9, 2 / 17
# Bytes of a node in each array of a level: its number below, its origin, its links, its record.
NODE_BYTES = 4, 4, 16, 8
# Words for the barrier and the rounds of a cooperative launch: a round at least doubles the reach.
ROUNDS = 256
# Large blocks: fewer of them wait for each other.
BLOCK = 512

# The structs and counters in forest.cu.
PATHS = Struct(
    "Paths", "forest/path_walks.cuh",
    rows="P", records="P", path_id="P", position="P", lengths="P", counters="P", vertices="q",
    levels="P" * len(NODE_BYTES) * len(SHARES), jumped="P", cyclic="P",
)  # fmt: skip
WEAKEST = Struct("Weakest", "forest/linear_forest.cu", weight="P", ends="P")
PATH_COUNT, LONGEST, CYCLES, CYCLIC, NODES = range(5)


def linear_forest(neighbors, values, slots, in_place=False):
    """Break the cycles and number the paths; the factor's own arrays are cut only if `in_place`."""
    run = _Run(neighbors, values)
    run.rank(neighbors)
    # stall: copies are made for cycles alone
    if not in_place and run.counters[CYCLES].item():
        neighbors, values = neighbors.copy(), values.copy()
        slots = None if slots is None else slots.copy()
        in_place = True
    if in_place:
        # Without cycles these two return at once.
        run.cut(neighbors, values, slots)
        run.rank(neighbors, second_run=True)
    outputs = run.path_id, run.position, run.lengths, run.counters[:NODES]
    return ForestArrays(neighbors, values, slots, *outputs)


class _Run:
    """One factor's paths on the device."""

    def __init__(self, neighbors, values):
        n, index = neighbors.shape[0], neighbors.dtype
        self.n = n
        self.program = kernels(
            "forest/linear_forest", cooperative=True, WEIGHT=values.dtype.type, INDEX=index.type
        )
        self.path_id, self.position = cupy.empty(n, index), cupy.empty(n, index)
        self.lengths = cupy.zeros(n, index)
        # Counters first, then the barriers and rounds of the three launches.
        self.words = cupy.zeros(NODES + len(SHARES) + 3 * ROUNDS, np.uint64)
        self.counters = self.words[: NODES + len(SHARES)]
        self.rounds = address(self.words) + 8 * self.counters.size
        self._allocate_levels()

    def _allocate_levels(self):
        """One buffer for all levels, the vertices' records and the other lists."""
        nodes = [int(share * self.n) + 1 for share in SHARES]
        sizes = [count * size for count in nodes for size in NODE_BYTES]
        sizes += [8 * self.n, 16 * nodes[-1], 4 * self.n]
        offsets = np.cumsum([0, *(-(-size // 256) * 256 for size in sizes)]).tolist()
        self.buffer = cupy.empty(offsets[-1], np.uint8)
        *self.levels, self.records, self.jumped, self.cyclic = (
            address(self.buffer) + at for at in offsets[:-1]
        )

    def _paths(self, neighbors):
        return PATHS(
            rows=neighbors, records=self.records, path_id=self.path_id, position=self.position,
            lengths=self.lengths, counters=self.counters, vertices=self.n, levels=self.levels,
            jumped=self.jumped, cyclic=self.cyclic,
        )  # fmt: skip

    def rank(self, neighbors, second_run=False):
        """Number the paths, the second time those of the cut cycles."""
        rounds = self.rounds + second_run * 8 * ROUNDS
        arguments = self._paths(neighbors), rounds, rounds + 8, int(second_run)
        launch(self.program.rank_paths, arguments, block=BLOCK)

    def cut(self, neighbors, values, slots):
        """Cut every cycle at its weakest edge in the arrays given."""
        # The levels are done with; their memory has room for two words a vertex.
        weakest = WEAKEST(weight=self.levels[0], ends=self.levels[0] + 8 * self.n)
        arguments = self._paths(neighbors), values, address(slots), weakest, self.rounds + 16 * ROUNDS
        launch(self.program.cut_cycles, arguments, block=BLOCK)
