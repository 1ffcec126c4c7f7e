"""Pairs across paths: the work for each vertex, each sampled entry and each path."""

import numpy as np

from linforest_precond.backends.returns import NumberedPaths, SampledRows

from ..matrix.entries import lanes_for
from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import INDICES, WEIGHTS, Program
from ..runtime.prefix_sum import add_up
from ..runtime.structs import Struct

# The structs in path_pairs.cu.
NUMBERED = Struct(
    "Numbered", "forest/path_pairs.cu", order="P", rank="P", number="P", starts="P", vertices="q", paths="q"
)
SAMPLED = Struct(
    "Sampled", "forest/path_pairs.cu",
    indptr="P", rows="P", paths="P", targets="P", target_paths="P", weights="P",
)  # fmt: skip
LINES = Struct("Lines", "forest/path_pairs.cu", path_id="P", position="P", order="P", rank="P")
MATES = Struct("Mates", "forest/path_pairs.cu", mates="P", counts="P", sums="P", aligned="P", directions="P")
PROGRAM = Program("forest/path_pairs", VALUE=WEIGHTS, INDEX=INDICES)


def drop_weak_edges(neighbors, values):
    """A [0,2]-factor without the edges below half of the heaviest at both ends; the others come first."""
    kept = cupy.empty_like(neighbors), cupy.empty_like(values)
    program = _program(values.dtype, neighbors.dtype)
    launch(program.drop_weak_edges, (neighbors, values, neighbors.shape[0], *kept))
    return kept


def number_paths(order, rank, position, count):
    """Number the `count` paths of a forest in its order."""
    flags, starts = cupy.zeros_like(order), cupy.empty(count + 1, order.dtype)
    program = _program(np.float64, order.dtype)
    launch(program.mark_starts, (position, rank, order.size, flags))
    paths = NumberedPaths(order, rank, add_up(flags), starts)
    launch(program.list_starts, (_numbered(paths),))
    return paths


def sample_rows(graph, paths):
    """The entries of two neighbouring rows from the middle of each path."""
    count, index = 2 * (paths.starts.size - 1), graph.indices.dtype
    program = _program(graph.values.dtype, index)
    first, indptr = cupy.empty(count, index), cupy.empty(count + 1, np.int64)
    launch(program.measure_samples, (_numbered(paths), graph.indptr, first, indptr), items=count)
    add_up(indptr)
    entries = int(indptr[-1])  # stall: the number of entries
    rows, paths_of_rows, targets, target_paths = (cupy.empty(entries, index) for _ in range(4))
    weights = cupy.empty(entries, graph.values.dtype)
    samples = SampledRows(indptr, rows, paths_of_rows, targets, target_paths, weights)
    lanes = lanes_for(entries, count)
    arguments = _numbered(paths), graph.indices, graph.values, first, lanes, _sampled(samples)
    launch(program.copy_samples, arguments, items=count * lanes)
    return samples


def partners(paths, samples, lines):
    """The partner of each vertex, at the same distance from the aligned places of both paths; or -1."""
    count, index = paths.starts.size - 1, paths.order.dtype
    program = _program(samples.weights.dtype, index)
    sums = cupy.zeros((2, 2, count), np.int64)
    mates, aligned, directions = (cupy.empty(count, index) for _ in range(3))
    found = MATES(mates=mates, counts=sums[0], sums=sums[1], aligned=aligned, directions=directions)
    # The graph of the paths may have wider indices.
    names = "path_id", "position", "order", "rank"
    arrays = {name: getattr(lines, name).astype(index, copy=False) for name in names}
    numbered, sampled = _numbered(paths), _sampled(samples)
    launch(program.find_mates, (LINES(**arrays), count, mates), items=count)
    launch(program.meet_mates, (sampled, samples.rows.size, found), items=samples.rows.size)
    launch(program.align_mates, (numbered, found), items=count)
    partners_of = cupy.empty_like(paths.order)
    launch(program.list_partners, (numbered, found, partners_of))
    return partners_of


def _program(dtype, index):
    return PROGRAM(VALUE=np.dtype(dtype).type, INDEX=index.type)


def _numbered(paths):
    return NUMBERED(
        order=paths.order, rank=paths.rank, number=paths.number, starts=paths.starts,
        vertices=paths.order.size, paths=paths.starts.size - 1,
    )  # fmt: skip


def _sampled(samples):
    return SAMPLED(**samples._asdict())
