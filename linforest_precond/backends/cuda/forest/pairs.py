"""Pairs of vertices, and the graph between them."""

import numpy as np

from ..matrix.entries import rows_of
from ..matrix.long_row_split import lanes_to_a_row
from ..matrix.row_merging import LONGEST_ROW, merge_tiles, rows_of_tile, tiles_fit
from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch
from ..runtime.grid_sums import add_up

GROUPED_GRAPH = Struct("GroupedGraph", "forest/grouped_rows.cuh")
PROGRAM = Program("forest/pairs", VALUE=WEIGHTS, INDEX=INDICES)


def pair_up(neighbors):
    vertices, index = neighbors.size, neighbors.dtype
    program = PROGRAM(VALUE=np.float64, INDEX=index)
    leads, places = cupy.empty(vertices, index), cupy.empty(vertices, index)
    launch(program.mark_leads, (neighbors, vertices, leads))
    opened = add_up(leads)
    pairs = int(opened[-1]) if vertices else 0  # stall: how many there are
    members = cupy.empty((pairs, 2), index)
    launch(program.number_pairs, (neighbors, vertices, opened, members, places))
    return members, places


def members_of(pairs, members):
    found = cupy.empty(2 * pairs.size, members.dtype)
    launch(PROGRAM(VALUE=np.float64, INDEX=members).list_members, (pairs, pairs.size, members, found))
    return found


def coarse_graph(graph, members, places):
    program = PROGRAM(VALUE=graph.values, INDEX=graph.indices)
    merge = _merge_by_tiles if fits_blocks(graph) else _merge_by_sorting
    return merge(graph, members, places, program)


def fits_blocks(graph):
    """Whether any two rows of a graph can be merged by a block."""
    return 2 * graph.longest_row <= LONGEST_ROW


def _merge_by_tiles(graph, members, places, program):
    """One pass over the entries."""
    heaviest = cupy.empty(members.shape, graph.values.dtype)
    return *merge_groups(program.merge_pairs, graph, members, places, heaviest), heaviest


def merge_groups(kernel, graph, members, places, *arguments):
    """The rows of two members of each group, merged by a kernel that calls `merge_all_rows`.

    No row of the graph has more than half of `LONGEST_ROW` entries. CSR arrays, and the longest row's length.
    """
    groups, terms, dtype = members.shape[0], graph.indices.size, graph.values.dtype
    rows = rows_of_tile(groups, terms * min(1, members.size / max(graph.n, 1)), dtype)
    out = cupy.zeros(groups + 1, graph.indptr.dtype), *map(cupy.empty_like, (graph.indices, graph.values))
    room = None
    if not tiles_fit(rows, 2 * graph.longest_row, dtype):
        room = cupy.empty_like(graph.indices), cupy.empty_like(graph.values)
    grouped = grouped_graph(graph, members, places)
    entries, longest = merge_tiles(kernel, (grouped, *arguments), out, room, rows)
    return out[0], out[1][:entries], out[2][:entries], longest


def grouped_graph(graph, members, places):
    """The struct of a graph, groups of its vertices, and the numbers that its columns get."""
    return GROUPED_GRAPH(
        indptr=graph.indptr, indices=graph.indices, values=graph.values,
        members=members, places=places, vertices=graph.n, groups=members.shape[0],
    )  # fmt: skip


def _merge_by_sorting(graph, members, places, program):
    """For graphs with rows too long for a block: all entries are sorted by pair and key."""
    entries, pairs, index = graph.indices.size, members.shape[0], graph.indices.dtype
    words = cupy.empty(entries, np.uint64)
    rows = rows_of(graph.indptr, entries)
    launch(program.pack_keys, (rows, graph.indices, graph.values, entries, graph.n, places, words))
    order = cupy.argsort(words)
    words = words[order]
    heads = words != np.uint64(2**64 - 1)
    heads[1:] &= words[1:] >> np.uint64(2) != words[:-1] >> np.uint64(2)
    heads = cupy.flatnonzero(heads)  # stall: CuPy counts them to allocate
    indices, values = cupy.empty(heads.size, index), cupy.empty(heads.size, graph.values.dtype)
    arguments = words, order, graph.values, entries, heads, heads.size, indices, values
    launch(program.merge_sorted, arguments)
    found = (words[heads] >> np.uint64(32)).astype(np.int64)
    indptr = cupy.searchsorted(found, cupy.arange(pairs + 1)).astype(index)
    longest = int((indptr[1:] - indptr[:-1]).max()) if pairs else 0  # stall: one number
    return indptr, indices, values, longest, _heaviest_two(program, indptr, values)


def _heaviest_two(program, indptr, values):
    """The two largest weights of each row, 0 where it has fewer; there is no diagonal."""
    rows = indptr.size - 1
    found = cupy.empty((rows, 2), values.dtype)
    lanes = lanes_to_a_row(values.size / max(rows, 1))
    launch(program.find_heaviest, (indptr, values, rows, lanes, found))
    return found
