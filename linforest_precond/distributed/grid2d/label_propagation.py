"""Communities by label propagation on a grid of ranks."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.hash_keys import SHIFT_11, VERTEX_STRIDE, iteration_keys, mixed
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.distributed.grid2d.blocks import run_begins
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.vectors import (
    numbered_by_first,
    own_results,
    sent_to_shares,
    spread_rows,
    vertex_dtype,
)
from linforest_precond.distributed.partition import host

HALF = host.csgraph.label_propagation.HALF


@renamed_arguments(max_iter="max_rounds")
def label_propagation(graph: Graph2D, max_rounds: int = 20, seed: int = 0) -> Array:
    """Find communities: vertices repeatedly take the most frequent label of their neighbours.

    In each round, a rank counts the labels along its edges. Of a row group, each rank has the final counts of
    a share of its vertices ("2.5D"), where the label of each vertex is chosen.

    Parameters
    ----------
    graph : Graph2D
        Directions of edges do not matter.
    max_rounds, seed : int
        As for `graph.label_propagation`.

    Returns
    -------
    array of int32
        The community of each of this rank's vertices (``graph.offsets``): the same as
        `graph.label_propagation` of the whole matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.distributed import grid2d, scatter, simulate
    >>> triangles = np.kron(np.eye(2), np.ones((3, 3)))
    >>> triangles[2, 3] = 1
    >>> A = scipy.sparse.csr_array(triangles)
    >>> def labels(comm):
    ...     return grid2d.label_propagation(grid2d.Graph2D.from_matrix(scatter(A, comm))).tolist()
    >>> simulate(2, labels)
    [[0, 0, 0], [1, 1, 1]]
    """
    max_rounds, seed = graph.grid.comm.agreed(
        "max_rounds and seed",
        lambda: (as_integer("max_rounds", max_rounds, 0, 2**31 - 1), as_integer("seed", seed) % 2**64),
    )
    with graph.grid.comm.together():
        state = propagate_labels(graph.undirected(), max_rounds, seed)
        return numbered_by_first(graph, own_results(graph, state))[1].astype(vertex_dtype(graph.n))


def propagate_labels(graph: Graph2D, max_rounds: int, seed: int) -> Array:
    """The labels of row and column vertices of a symmetric graph: vertices, in the original numbering."""
    labels, vertices = graph.vertices.copy(), graph.vertices[graph.rows.ids]
    # A vertex is active if a neighbour's label has changed since its last update.
    active = graph.xp.ones(graph.rows.size, bool)
    for number in range(max_rounds):
        if not graph.grid.comm.total(int(active.sum())):  # stall: whether a round follows
            break
        selected = active & are_positive(vertices, iteration_keys(seed, number)[0], HALF)
        changed = update(graph, labels, graph.xp.flatnonzero(selected))
        active[selected] = False
        active[graph.neighbouring_rows(changed)] = True
    return labels


def are_positive(vertices: Array, charge_key: np.uint64, threshold: np.uint64) -> Array:
    """Whether the charges of vertices are positive, with a probability of the threshold / 2**53."""
    words = mixed(vertices.astype(np.uint64) * VERTEX_STRIDE + charge_key)
    return (words >> SHIFT_11) < threshold


def update(graph: Graph2D, labels: Array, rows: Array) -> Array:
    """Give rows their modal labels, on all ranks that hold these vertices; returns the rows that changed."""
    counts = count_labels(graph, labels, rows)
    found, new = modal_labels(graph, labels, sent_to_shares(graph, counts))
    changed = new != labels[found + graph.rows.start]
    return spread_rows(graph, labels, found[changed], new[changed])


def count_labels(graph: Graph2D, labels: Array, rows: Array) -> Array:
    """Triples (row, label, count): the labels of neighbours along this rank's edges, without loops."""
    _, sources, targets = graph.expand(rows)
    edges = sources != targets
    pairs = (sources[edges] - graph.rows.start) * graph.n + labels[targets[edges]]
    pairs.sort()
    begins = run_begins(pairs)
    counts = graph.xp.diff(begins, append=pairs.size)
    return graph.xp.column_stack([*graph.xp.divmod(pairs[begins], max(graph.n, 1)), counts])


def modal_labels(graph: Graph2D, labels: Array, triples: Array) -> tuple[Array, Array]:
    """Rows and their most frequent labels; ties: the own label if it is among them, else the lowest."""
    xp, pairs = graph.xp, triples[:, 0] * graph.n + triples[:, 1]
    order = xp.argsort(pairs)
    pairs, parts = pairs[order], triples[order, 2]
    begins = run_begins(pairs)
    ends = xp.cumsum(parts)[xp.append(begins[1:], pairs.size) - 1] if pairs.size else begins
    rows, found = xp.divmod(pairs[begins], max(graph.n, 1))
    counts = xp.diff(ends, prepend=0)
    is_other = (found != labels[rows + graph.rows.start]).astype(np.int64)
    order = graph.blocks.lexicographic_order((found, is_other, -counts, rows))
    best = order[run_begins(rows[order])]
    return rows[best], found[best]
