"""The undirected weighted graph of a matrix over ranks, partitioned by vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.entries import weights_of, weights_of_rows
from linforest_precond.distributed.partition.halo import Halo, OwnRows
from linforest_precond.distributed.partition.local_rows import without_duplicates
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import send_to_owners
from linforest_precond.records.forest import magnitudes_of


@dataclass(frozen=True, eq=False)
class RankGraph(OwnRows):
    """The rows of a rank's own vertices, as in `linforest_precond.matrix.graphs.Graph`."""

    comm: Communicator
    offsets: Array  # rank r owns the vertices offsets[r]:offsets[r + 1]
    indptr: Array  # of the own rows, whose entries are sorted by the global ids of their columns
    columns: Array  # numbered on this rank: own vertices from 0, then the ghosts
    values: Array
    halo: Halo
    # As in `matrix.checked.CheckedMatrix`; twice the matrix's weights where the graph is |A| + |A|^T.
    total_weight: float = 0.0
    adjacent_weight: float = 0.0
    scale: float = 1.0

    @property
    def backend(self) -> Backend:
        """That of the arrays; the halo and its ids are on the host."""
        return backend_of(self.values)

    def on(self, backend: Backend) -> RankGraph:
        """The graph with its arrays on a backend."""
        xp, index = backend.xp, self.columns.dtype
        arrays = self.indptr.astype(index, copy=False), self.columns, self.values
        indptr, columns, values = (xp.asarray(array) for array in arrays)
        return replace(self, indptr=indptr, columns=columns, values=values)

    @property
    def n(self) -> int:
        """Vertices of all ranks."""
        return int(self.offsets[-1])

    @cached_property
    def rows(self) -> Array:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_local), np.diff(self.indptr))

    def with_ghosts(self, values: Array) -> Array:
        """Values of the own vertices, and then of the ghosts: one for each column."""
        return self.halo.with_ghosts(values)


def graph_of(A: Matrix, backend: Backend | None = None) -> RankGraph:
    """The graph of a matrix on the host: magnitudes without the diagonal, made symmetric where they are not.

    On a backend, if one is given: with the arrays of the rows there, where they are symmetric.
    """
    values = A.rows.data
    if values.dtype.kind == "c":
        values = magnitudes_of(values)
    symmetric, *weights = weights_of(A)
    graph = RankGraph(A.comm, A.offsets, A.rows.indptr, A.rows.indices, values, A.halo, *weights)
    graph = graph if symmetric else symmetrized(graph)
    if backend is None or backend is A.backend:
        return graph
    if not symmetric:
        return graph.on(backend)
    rows = A.on(backend).rows
    values = magnitudes_of(rows.data) if rows.dtype.kind == "c" else rows.data
    return replace(graph, indptr=rows.indptr, columns=rows.indices, values=values)


def weighed(graph: RankGraph) -> RankGraph:
    """The graph with its weights summed."""
    arrays = graph.ids, graph.indptr, graph.columns, graph.values
    _, total, adjacent, scale = weights_of_rows(graph.comm, *arrays)
    return replace(graph, total_weight=total, adjacent_weight=adjacent, scale=scale)


def symmetrized(graph: RankGraph) -> RankGraph:
    """The graph of |A| + |A|^T: every entry is also sent to the owner of its column."""
    ids, weights = graph.ids, np.abs(graph.values)
    rows, columns = ids[graph.rows], ids[graph.columns]
    mirrored = send_to_owners(graph.comm, graph.offsets, columns, rows, weights)
    entries = (np.concatenate(pair) for pair in zip((rows, columns, weights), mirrored, strict=True))
    both = graph_of_entries(graph.comm, graph.offsets, *entries)
    return replace(
        both,
        total_weight=2.0 * graph.total_weight,
        adjacent_weight=2.0 * graph.adjacent_weight,
        scale=graph.scale,
    )


def graph_of_entries(
    comm: Communicator, offsets: Array, rows: Array, columns: Array, weights: Array
) -> RankGraph:
    """The graph with these entries of own rows, by global ids; duplicates are summed left to right.

    Sums that overflow become the largest number.
    """
    rows, columns, sums = without_duplicates(rows, columns, weights)
    weights = np.minimum(sums, np.finfo(sums.dtype).max)
    halo, local = Halo.numbering(comm, offsets, columns)
    indptr = np.searchsorted(rows, np.arange(halo.first, halo.first + halo.n_local + 1))
    return RankGraph(comm, offsets, indptr.astype(local.dtype), local, weights, halo)
