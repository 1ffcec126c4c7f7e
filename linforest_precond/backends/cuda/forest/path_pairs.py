"""Pairs across paths: the work for each vertex, each sampled entry and each path."""

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.returns import NumberedPaths

from ..matrix.entries import lanes_for, magnitudes
from ..matrix.row_merging import merge_rows
from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch
from ..runtime.grid_sums import add_up
from .pairs import fits_blocks, grouped_graph, merge_groups

NUMBERED = Struct("Numbered", "forest/path_pairs.cu")
LINES = Struct("Lines", "forest/path_pairs.cu")
MATES = Struct("Mates", "forest/path_pairs.cu")
PROGRAM = Program("forest/path_pairs", VALUE=WEIGHTS, INDEX=INDICES)


class PathSamples(NamedTuple):
    """Two neighbouring vertices in the middle of each path, and the path of each vertex."""

    vertices: Any
    path_of: Any


def drop_weak_edges(neighbors, values):
    kept = cupy.empty_like(neighbors), cupy.empty_like(values)
    program = PROGRAM(VALUE=values, INDEX=neighbors)
    launch(program.drop_weak_edges, (neighbors, values, neighbors.shape[0], *kept))
    return kept


def number_paths(order, rank, position, count):
    flags, starts = cupy.zeros_like(order), cupy.empty(count + 1, order.dtype)
    program = PROGRAM(VALUE=np.float64, INDEX=order)
    launch(program.mark_starts, (position, rank, order.size, flags))
    paths = NumberedPaths(order, rank, add_up(flags), starts)
    launch(program.list_starts, (_numbered(paths),))
    return paths


def sample_rows(graph, paths):
    index = paths.order.dtype
    samples = PathSamples(cupy.empty((paths.starts.size - 1, 2), index), cupy.empty_like(paths.order))
    launch(PROGRAM(VALUE=graph.values, INDEX=index).sample_rows, (_numbered(paths), *samples))
    return samples


def merge_samples(graph, samples):
    program = PROGRAM(VALUE=graph.values, INDEX=graph.indices)
    if fits_blocks(graph):
        return merge_groups(program.merge_samples, graph, *samples)
    # A row may be sampled twice: the terms may be too many for the graph's index type.
    wide = [array.astype(np.int64) for array in (graph.indptr, graph.indices, *samples)]
    matrix = wide[0], cupy.clip(wide[1], 0, graph.n - 1), magnitudes(graph.values)
    members = wide[2].reshape(-1)
    begins = cupy.arange(0, members.size + 1, 2)
    indptr, indices, sums = merge_rows(matrix, begins, members, wide[3])
    longest, index = int((indptr[1:] - indptr[:-1]).max()), graph.indices.dtype  # stall: one number
    sums = cupy.where(cupy.isinf(sums), np.finfo(sums.dtype).max, sums)
    return indptr.astype(index), indices.astype(index), sums, longest


def partners(graph, paths, samples, lines):
    count, index = paths.starts.size - 1, paths.order.dtype
    program = PROGRAM(VALUE=graph.values, INDEX=index)
    sums = cupy.zeros((2, 2, count), np.int64)
    mates, aligned, directions = (cupy.empty(count, index) for _ in range(3))
    found = MATES(mates=mates, counts=sums[0], sums=sums[1], aligned=aligned, directions=directions)
    # The graph of the paths may have wider indices.
    names = "path_id", "position", "order", "rank"
    arrays = {name: getattr(lines, name).astype(index, copy=False) for name in names}
    numbered, lanes = _numbered(paths), lanes_for(graph.indices.size, graph.n)
    launch(program.find_mates, (LINES(**arrays), count, mates), items=count)
    arguments = numbered, grouped_graph(graph, *samples), lanes, found
    launch(program.meet_mates, arguments, items=2 * count * lanes)
    launch(program.align_mates, (numbered, found), items=count)
    partners_of = cupy.empty_like(paths.order)
    launch(program.list_partners, (numbered, found, partners_of))
    return partners_of


def _numbered(paths):
    return NUMBERED(
        order=paths.order, rank=paths.rank, number=paths.number, starts=paths.starts,
        vertices=paths.order.size, paths=paths.starts.size - 1,
    )  # fmt: skip
