"""A graph whose adjacency matrix is distributed in two dimensions: a block for each rank of a grid."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of, is_on
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.distributed.grid2d.blocks import (
    distinct_pairs,
    is_symmetric,
    route_edges,
    row_pointers,
    split_pairs,
)
from linforest_precond.distributed.grid2d.exchange import Direction, distinct
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.grid2d.vertex_map import VertexMap, windows
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.scatter import checked_offsets

DISTRIBUTIONS = {"striped": VertexMap.striped, "blocks": VertexMap.in_blocks}
# Pairs (vertex, label) are sorted as one 64-bit number.
MOST_VERTICES = math.isqrt(2**63 - 1)


class Graph2D:
    """A graph on a grid of R x C ranks: rank (i, j) has the edges from row group i to column group j.

    Collective. A rank keeps its block of the adjacency matrix, and states of about n / R row vertices and
    n / C column vertices. What functions return, and vectors that they take, is partitioned by `offsets`.

    Edges in arrays of CuPy put the block on the current device: functions work there, and return arrays of
    CuPy. Ranks that have a GPU each exchange states by NCCL; others through pinned host memory, and they may
    share a GPU.

    Parameters
    ----------
    grid : Grid
        The ranks.
    n : int
        The number of vertices, the same on all ranks.
    sources, targets : arrays of integers
        Edges that this rank has, in any order; each leads from a source to a target. Any rank may have any
        edges; duplicates become one, with the sum of their weights. All ranks pass arrays of one library.
    weights : array, optional
        The weights of the edges, for `pagerank` and `matching`; for `pagerank` 1 by default.
    offsets : (size + 1,) array of int, optional
        Rank r has the results of vertices ``offsets[r]:offsets[r + 1]``; equal shares by default.
    distribution : {"striped", "blocks"}
        Whether vertices are dealt to the groups in turn, which balances the edges, or in equal ranges.

    Attributes
    ----------
    grid, n, offsets
        As above.
    dtype
        float32 if the weights are of that type, else float64; they are stored as float64.
    symmetric : bool
        Whether every edge has its reverse.
    n_edges : int
        The number of edges of all ranks, each direction by itself.
    block_edges : int
        The number of this rank's edges.

    Examples
    --------
    >>> from linforest_precond.distributed import grid2d, simulate
    >>> def path(comm):
    ...     edge = ([comm.rank], [comm.rank + 1]) if comm.rank < 3 else ([], [])
    ...     graph = grid2d.Graph2D(grid2d.Grid(comm), 4, *edge)
    ...     return grid2d.bfs(graph, 1)[0].tolist()
    >>> simulate(4, path)
    [[-1], [0], [1], [2]]
    """

    def __init__(
        self,
        grid: Grid,
        n: int,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        offsets: Any = None,
        distribution: str = "striped",
    ) -> None:
        with grid.comm.checking():
            n = as_integer("n", n, 0, MOST_VERTICES)
            backend = self.backend = backend_of(sources)
            tails, heads = (
                checked_vertices(backend, *each, n) for each in (("sources", sources), ("targets", targets))
            )
            self.dtype = np.dtype(np.float32 if getattr(weights, "dtype", None) == np.float32 else np.float64)
            values = None if weights is None else checked_weights(backend, weights)
            check_lengths(tails, heads, values)
            make = DISTRIBUTIONS[as_choice("distribution", distribution, DISTRIBUTIONS)]
        kind = "no" if values is None else self.dtype.name
        for name, value in (("n", n), ("distribution", distribution), ("the dtype of weights", kind)):
            grid.comm.same(name, value)
        grid.comm.same("the device of edges", backend.name)
        with grid.comm.together():
            offsets = checked_offsets(grid.comm, n, offsets)
            where = make(n, grid.shape)
            tails, heads = where.positions(tails), where.positions(heads)  # the vertices are freed
            edges = route_edges(backend, grid, where, tails, heads, values)
            self._set_block(grid, where, offsets, *edges)

    @classmethod
    def from_matrix(cls, A: Matrix, grid: Grid | None = None, *, distribution: str = "striped") -> Graph2D:
        """The graph of a matrix that is partitioned by rows: stored entries are edges from row to column.

        Parameters
        ----------
        A : Matrix
            Its values are the weights; complex ones are left out. The graph is on its device.
        grid : Grid, optional
            Of the same ranks in the same order; by default as square as possible.
        distribution : {"striped", "blocks"}
            As for `Graph2D`.
        """
        grid = Grid(A.comm) if grid is None else grid
        with grid.comm.checking():
            if (grid.comm.rank, grid.comm.size) != (A.comm.rank, A.comm.size):
                raise ValueError("grid must have the ranks of A, in the same order")
        ids, rows = A.backend.xp.asarray(A.columns), A.rows
        sources = ids[A.backend.matrix.entries.rows_of(rows.indptr, rows.indices.size)]
        edges = sources, ids[rows.indices], None if A.dtype.kind == "c" else rows.data
        return cls(grid, A.shape[0], *edges, offsets=A.offsets, distribution=distribution)

    @classmethod
    def of_own_pairs(cls, backend: Backend, grid: Grid, where: VertexMap, parts: list[Array]) -> Graph2D:
        """The graph of edges of which every rank has those of its block.

        `parts` are arrays of pairs ``source * n + target`` by positions. The list is emptied: at most three
        arrays of as many 64-bit numbers are held at once.
        """
        graph = cls.__new__(cls)
        graph.backend, graph.dtype = backend, np.dtype(np.float64)
        with grid.comm.together():
            offsets = checked_offsets(grid.comm, where.n, None)
            graph._set_block(grid, where, offsets, *split_pairs(where.n, distinct_pairs(parts)), None)
        return graph

    def _set_block(
        self,
        grid: Grid,
        where: VertexMap,
        offsets: Array,
        sources: Array,
        targets: Array,
        weights: Array | None,
    ) -> None:
        """Take the sorted edges of this rank's block, by positions; `targets` becomes local ids in place."""
        self.grid, self.n, self.offsets, self.where = grid, where.n, offsets, where
        rows, columns = where.row_offsets, where.column_offsets
        self.rows, self.columns, self.n_states = windows(
            (int(rows[grid.i]), int(rows[grid.i + 1])), (int(columns[grid.j]), int(columns[grid.j + 1]))
        )
        self.weights = weights
        self.indptr = row_pointers(sources, self.rows.begin, self.rows.size)
        self.symmetric = is_symmetric(grid, sources, targets)
        targets -= self.columns.begin - self.columns.start
        self.indices = targets
        self.n_edges = grid.comm.total(self.block_edges)
        positions = self.xp.empty(self.n_states, np.int64)
        for window in (self.rows, self.columns):
            positions[window.ids] = self.xp.arange(window.begin, window.begin + window.size)
        self.vertices = where.vertices(positions)  # of each local id
        self._undirected = self if self.symmetric else None
        self._set_directions()

    def _set_directions(self) -> None:
        grid, rows, columns = self.grid, self.where.row_offsets, self.where.column_offsets
        spread_in_row = [self.rows.intersected(*ends) for ends in zip(columns, columns[1:])]
        spread_in_column = [self.columns.intersected(*ends) for ends in zip(rows, rows[1:])]
        backend, rows_in_row = self.backend, (self.rows, grid.row)
        columns_in_column = self.columns, grid.column
        self.push = Direction(backend, *columns_in_column, *rows_in_row, spread_in_row)
        self.pull = Direction(backend, *rows_in_row, *columns_in_column, spread_in_column)

    @property
    def xp(self) -> Any:
        """NumPy or CuPy."""
        return self.backend.xp

    @property
    def blocks(self) -> Any:
        """The backend's functions of blocks."""
        return self.backend.csgraph.grid_blocks

    @property
    def block_edges(self) -> int:
        """The number of this rank's edges."""
        return int(self.indices.size)

    def undirected(self) -> Graph2D:
        """The graph with the reverse of every edge, without weights; itself if it is symmetric."""
        if self._undirected is None:
            self._undirected = self._with_reverses(None)
        return self._undirected

    def with_magnitudes(self) -> Graph2D:
        """The symmetric graph of magnitudes of weights: those of both directions added where they differ."""
        assert self.weights is not None
        magnitudes = abs(self.weights)
        if not is_symmetric(self.grid, *self._edges(), magnitudes):
            graph = self._with_reverses(magnitudes)
            assert graph.weights is not None
            graph.weights = graph.weights.astype(self.dtype).astype(np.float64)
            return graph
        graph = copy.copy(self)
        graph.weights = magnitudes
        return graph

    def _edges(self) -> tuple[Array, Array]:
        """The positions of the sources and the targets of this rank's edges."""
        tails = self.rows.begin + self.backend.matrix.entries.rows_of(self.indptr, self.block_edges)
        return tails, self.columns.positions(self.indices)

    def _with_reverses(self, weights: Array | None) -> Graph2D:
        tails, heads = self._edges()
        join = self.xp.concatenate
        both = join([tails, heads]), join([heads, tails])
        graph = copy.copy(self)
        twice = None if weights is None else join([weights, weights])
        edges = route_edges(self.backend, self.grid, self.where, *both, twice)
        graph._set_block(self.grid, self.where, self.offsets, *edges)
        return graph

    def expand(self, rows: Array) -> tuple[Array, Array, Array]:
        """The edges of some rows of the block: slots, local ids of sources, local ids of targets."""
        places, slots = self.blocks.expanded_rows(self.indptr, rows)
        return slots, rows[places] + self.rows.start, self.indices[slots]

    def entries_of(self, rows: Array) -> int:
        """The number of edges of some rows of the block."""
        return int((self.indptr[rows + 1] - self.indptr[rows]).sum())  # stall: how wide a frontier is

    def lower(self, rows: Array, is_pull: bool, values: Array, state: Array) -> Array:
        """Lower states along the edges of some rows to values of local ids; the ids of the lowered states.

        A push lowers states of the rows' neighbours, a pull those of the rows.
        """
        edges = self.indptr, self.indices, rows, self.rows.start
        return self.blocks.lower_along(*edges, is_pull, values, state)

    def neighbouring_rows(self, rows: Array) -> Array:
        """The rows of this rank's row group with an edge from one of some rows, the same on all its ranks.

        The rows are the same on all ranks of a row group. Only positions are passed, as in a sparse push.
        """
        _, _, targets = self.expand(rows)
        positions = self.columns.positions(distinct(targets, self.n_states))
        found = self.grid.column.allgather_arrays(positions)
        found = self.xp.unique(found) if found.size else found
        piece = self.push.pieces[self.grid.j]
        mine = found[(found >= piece.begin) & (found < piece.end)]
        return self.grid.row.allgather_arrays(mine) - self.rows.begin

    def totals(self, rows: Array, edges: Any) -> list[int]:
        """The sums over all ranks of rows, which are the same on all ranks of a row group, and of edges."""
        return self.grid.comm.totals(rows.size if self.grid.j == 0 else 0, edges)

    def rows_among(self, ids: Array) -> Array:
        """The rows of the block whose vertices have some of the local ids."""
        return self.rows.among(ids) - self.rows.start

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.grid.shape))
        return (
            f"Graph2D of {self.n} vertices and {self.n_edges} edges on {shape} ranks, {self.block_edges} here"
        )


def checked_vertices(backend: Backend, name: str, vertices: npt.ArrayLike, n: int) -> Array:
    """The ends of edges as int64."""
    found = on_backend(backend, name, vertices)
    if found.size and (found.dtype.kind not in "iu" or found.ndim != 1):
        raise TypeError(f"{name} must be a 1-D array of integers, got {found.dtype} of shape {found.shape}")
    if found.size and not (0 <= found.min() and found.max() < n):
        raise ValueError(f"{name} must be vertices in [0, {n}), got {found.min()} to {found.max()}")
    return found.astype(np.int64, copy=False).ravel()


def checked_weights(backend: Backend, weights: npt.ArrayLike) -> Array:
    """Real finite weights as float64."""
    found = on_backend(backend, "weights", weights)
    if found.size and found.dtype.kind not in "biuf":
        raise TypeError(f"weights must be real numbers, got {found.dtype}")
    found = backend.xp.ascontiguousarray(found, np.float64).ravel()
    if not backend.xp.isfinite(found).all():
        raise ValueError("weights must be finite")
    return found


def on_backend(backend: Backend, name: str, values: npt.ArrayLike) -> Array:
    """An argument as an array, which must be on the device of the others."""
    if not is_on(values, backend):
        raise TypeError(f"{name} must be on {backend.name} like the others, got a {type(values).__name__}")
    found: Array = backend.xp.asarray(values)
    return found


def check_lengths(sources: Array, targets: Array, weights: Array | None) -> None:
    """The arrays of a list of edges have one length."""
    lengths = sources.size, targets.size, sources.size if weights is None else weights.size
    if len(set(lengths)) > 1:
        raise ValueError(f"sources, targets and weights must have one length, got {lengths}")
