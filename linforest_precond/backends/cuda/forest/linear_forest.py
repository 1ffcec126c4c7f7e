"""From a [0,2]-factor to a linear forest by list ranking, where each cycle is cut, and its ordering."""

import functools
import itertools

import numpy as np

from linforest_precond.backends.returns import ForestArrays

from ..runtime import INDICES, WEIGHTS, Program, Struct, address, cupy, launch
from ..runtime.grid_sums import add_up

# Upper bounds on the nodes of each stage of the list ranking, as shares of the vertices. Neighbours are never
# both splitters, so a path needs 3, 5, 9 or 17 vertices to have 2 nodes in that stage.
SHARES = 2 / 3, 2 / 5, 2 / 9, 2 / 17
# Bytes of a node in each array of struct RankingStage: previous, origin, links, records.
NODE_BYTES = 4, 4, 16, 8
# Words for the barrier and the round counters of a cooperative launch. The number of rounds is logarithmic:
# pointer jumping at least doubles the distance in each.
ROUNDS = 256
# Large blocks, because the cost of a grid barrier grows with their number.
BLOCK = 512

# The structs and counters of the kernels.
PATHS = Struct("Paths", "forest/ranking_stages.cuh", stages="P" * len(NODE_BYTES) * len(SHARES))
WEAKEST = Struct("Weakest", "forest/linear_forest.cu")
PATH_COUNT, LONGEST, CYCLES, CYCLIC, NODES = range(5)
PROGRAM = Program("forest/linear_forest", cooperative=True, WEIGHT=WEIGHTS, INDEX=INDICES)
ORDERING = Program("forest/ordering", INDEX=INDICES)


def linear_forest(neighbors, values, slots, in_place=False):
    run = _Run(neighbors, values)
    run.rank()
    # stall: arrays are copied only if there are cycles
    if not in_place and run.counters[CYCLES].item():
        neighbors, values = neighbors.copy(), values.copy()
        slots = None if slots is None else slots.copy()
        in_place = True
        run.follow(neighbors)
    if in_place:
        # Without cycles both kernels return at once.
        run.cut(values, slots)
        run.rank(second_run=True)
    outputs = run.path_id, run.position, run.lengths, run.counters[:NODES]
    return ForestArrays(neighbors, values, slots, *outputs)


def most_lost(neighbors, values):
    lost = cupy.empty(neighbors.shape[0], values.dtype)
    launch(PROGRAM(WEIGHT=values, INDEX=neighbors).find_most_lost, (neighbors, values, lost.size, lost))
    return lost


@functools.lru_cache(256)
def _offsets(n):
    """Of all stages, the vertices' records, the jumped links and the vertices on cycles in one buffer."""
    nodes = [int(share * n) + 1 for share in SHARES]
    sizes = [count * size for count in nodes for size in NODE_BYTES]
    sizes += [8 * n, 16 * nodes[-1], 4 * n]
    return list(itertools.accumulate((-(-size // 256) * 256 for size in sizes), initial=0))


class _Run:
    """The list ranking of one factor: its output, its workspace and its launches."""

    def __init__(self, neighbors, values):
        n, index = neighbors.shape[0], neighbors.dtype
        self.n = n
        self.program = PROGRAM(WEIGHT=values, INDEX=neighbors)
        self.path_id, self.position = cupy.empty(n, index), cupy.empty(n, index)
        self.lengths = cupy.zeros(n, index)
        # The counters of struct Paths, then the barriers and round counters of the three launches.
        self.words = cupy.zeros(NODES + len(SHARES) + 3 * ROUNDS, np.uint64)
        self.counters = self.words[: NODES + len(SHARES)]
        self.rounds = address(self.words) + 8 * self.counters.size
        offsets = _offsets(n)
        self.buffer = cupy.empty(offsets[-1], np.uint8)
        first = address(self.buffer)
        *self.stages, self.records, self.jumped, self.cyclic = (first + offset for offset in offsets[:-1])
        self.follow(neighbors)

    def follow(self, neighbors):
        """Set the array of the vertices' neighbours."""
        self.paths = PATHS(
            rows=neighbors, records=self.records, path_id=self.path_id, position=self.position,
            lengths=self.lengths, counters=self.counters, vertices=self.n, stages=self.stages,
            jumped=self.jumped, cyclic=self.cyclic,
        )  # fmt: skip

    def rank(self, second_run=False):
        """Give every vertex its path id and position; the second run is for the vertices of cut cycles."""
        rounds = self.rounds + second_run * 8 * ROUNDS
        arguments = self.paths, rounds, rounds + 8, int(second_run)
        launch(self.program.rank_paths, arguments, block=BLOCK)

    def cut(self, values, slots):
        """Remove the weakest edge of every cycle, in place."""
        # In the memory of stage 0, free between the two runs: more than two words for each vertex.
        weakest = WEAKEST(weight=self.stages[0], ends=self.stages[0] + 8 * self.n)
        arguments = self.paths, values, address(slots), weakest, self.rounds + 16 * ROUNDS
        launch(self.program.cut_cycles, arguments, block=BLOCK)


def order_by_scan(path_id, position, lengths):
    n = path_id.size
    order, rank, path_ends = (cupy.empty(n, path_id.dtype) for _ in range(3))
    add_up(lengths, path_ends)
    launch(ORDERING(INDEX=path_id).place_vertices, (path_id, position, n, path_ends, order, rank))
    return order, rank


def order_by_radix_sort(path_id, position, lengths):
    """Sort words of path id and position; CuPy sorts integers by CUB's radix sort."""
    n = path_id.size
    words, rank = cupy.empty(n, np.uint64), cupy.empty_like(path_id)
    program = ORDERING(INDEX=path_id)
    launch(program.pack_path_keys, (path_id, position, n, words))
    order = cupy.argsort(words).astype(path_id.dtype)
    launch(program.invert_order, (order, n, rank))
    return order, rank
