"""Strongly connected components by signature propagation (ECL-SCC), or by forward-backward searches.

They are numbered by their lowest vertex.
"""

import dataclasses

import numpy as np

from ..matrix.entries import rows_of, transposed
from ..runtime import INDICES, Program, Struct, address, cupy, launch
from ..runtime.grid_sums import add_up
from .breadth_first import depths_from
from .components import BLOCK, labels_of_marked_roots, weak_components

# Edges sampled to estimate in-degrees, from which the pivot is chosen.
SAMPLE = 2**20

STRONG_COMPONENTS = Struct(
    "StrongComponents", "csgraph/strong_components.cu", tails="PP", heads="PP", vertices="PP"
)
# 64-bit words of the struct Counters.
COUNTER_WORDS = 9
PROGRAM = Program("csgraph/strong_components", cooperative=True, INDEX=INDICES)
NO_PIVOT = -1  # as an unsigned number it is above all words
FORWARD_BACKWARD = Program("csgraph/forward_backward", INDEX=INDICES)


def strong_components(pattern):
    n, nnz = pattern.n, pattern.nnz
    rows = rows_of(pattern.indptr, nnz)
    tails, heads = ([cupy.empty(nnz, np.int32) for _ in range(2)] for _ in range(2))
    vertices = [cupy.empty(n, np.int32) for _ in range(2)]
    members, lowest, roots, is_root = (cupy.empty(n, np.int32) for _ in range(4))
    in_degrees, signatures = cupy.zeros(n, np.int32), cupy.empty(n, np.uint64)
    counters = cupy.zeros(COUNTER_WORDS, np.uint64)
    arguments = STRONG_COMPONENTS(
        rows=rows, columns=pattern.indices, out_degrees=pattern.degrees, in_degrees=in_degrees,
        signatures=signatures, tails=[*map(address, tails)], heads=[*map(address, heads)],
        vertices=[*map(address, vertices)], members=members, lowest=lowest, roots=roots, is_root=is_root,
        counters=counters, edges=nnz, sampling=max(nnz // SAMPLE, 1), n=n,
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr).find_strong_components, (arguments,), block=BLOCK)
    return labels_of_marked_roots(roots, is_root)


def forward_backward_components(pattern):
    n, program = pattern.n, FORWARD_BACKWARD(INDEX=pattern.indptr)
    forward, backward = pattern, _transposed(pattern)
    members, regions, count = cupy.full(n, -1, np.int32), cupy.zeros(n, np.int32), 1
    lowest, classes = cupy.full(n, n, np.int32), cupy.empty(n, np.uint8)
    while True:
        pivots, left = cupy.full(count, NO_PIVOT, np.int64), cupy.zeros(1, np.uint64)
        launch(program.choose_pivots, (regions, members, n, pivots), items=n)
        sources = cupy.ascontiguousarray(
            pivots.view(np.int32)[::2]
        )  # the low halves, which hold the vertices
        ahead, behind = depths_from(forward, sources), depths_from(backward, sources)
        rows = forward.indptr, backward.indptr
        arguments = *rows, regions, pivots, ahead, behind, n, members, lowest, classes, left
        launch(program.settle_components, arguments, items=n)
        if not int(left[0]):  # stall: whether another round follows
            break
        forward, backward = _edges_within(forward, backward, classes)
        count, regions = weak_components(forward)
    roots, is_root = cupy.empty((2, n), np.int32)
    launch(program.roots_of_members, (members, lowest, n, roots, is_root), items=n)
    return labels_of_marked_roots(roots, is_root)


def _transposed(pattern):
    if not pattern.nnz:
        return pattern
    indptr, rows, _ = transposed(
        pattern.indptr, pattern.indices.astype(pattern.indptr.dtype, copy=False), None
    )
    return _with_edges(pattern, indptr, rows.astype(np.int32, copy=False))


def _edges_within(forward, backward, classes):
    """Both patterns without the edges of settled vertices and between classes."""
    if not forward.nnz:
        return forward, backward
    ends = [_ends_of_kept(pattern, classes) for pattern in (forward, backward)]
    count = int(ends[0][-1])  # stall: the number of edges that are left
    return _compacted(forward, ends[0], count), _compacted(backward, ends[1], count)


def _ends_of_kept(pattern, classes):
    """The inclusive scan of the marks of edges that are kept."""
    kept = cupy.empty(pattern.nnz, pattern.indptr.dtype)
    rows = rows_of(pattern.indptr, pattern.nnz)
    arguments = rows, pattern.indices, classes, pattern.nnz, kept
    launch(FORWARD_BACKWARD(INDEX=pattern.indptr).mark_edges, arguments, items=pattern.nnz)
    return add_up(kept)


def _compacted(pattern, ends, count):
    indptr, indices = cupy.empty_like(pattern.indptr), cupy.empty(count, np.int32)
    arguments = pattern.indptr, pattern.indices, ends, pattern.n, pattern.nnz, indptr, indices
    launch(
        FORWARD_BACKWARD(INDEX=pattern.indptr).compact_edges, arguments, items=max(pattern.n + 1, pattern.nnz)
    )
    return _with_edges(pattern, indptr, indices)


def _with_edges(pattern, indptr, indices):
    return dataclasses.replace(pattern, indptr=indptr, indices=indices, symmetric=False)
