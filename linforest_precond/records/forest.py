"""Frozen dataclasses of the stages from a checked matrix to its tridiagonal bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from linforest_precond.backends import OnBackend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.records.printing import Printed, Printout, numbers_of
from linforest_precond.records.read_only import ReadOnlyArrays

# Iterations and whether the result is maximal: an array on the device, or two numbers.
Progress: TypeAlias = Array | tuple[int, bool]


def magnitudes_of(values: Array) -> Array:
    """The magnitudes of real or complex values."""
    return backend_of(values).matrix.entries.magnitudes(values)


def share_of(weight: float, total_weight: float) -> float:
    """A weight as a share of that of all edges; 1 for a graph without edges."""
    return 1.0 if total_weight == 0.0 else min(1.0, weight / total_weight)


def ratio_to_finest(numbers: Sequence[int]) -> float:
    """The sum over all levels of a hierarchy divided by the finest level's number: its complexity.

    The operator complexity for numbers of entries, the grid complexity for numbers of unknowns.
    """
    return sum(numbers) / max(numbers[0], 1)


class ChosenEdges(OnBackend, ReadOnlyArrays, Printed):
    """Properties of factors, forests and matchings; `progress` (iterations, maximal) is read when needed."""

    values: Array
    progress: Progress
    total_weight: float
    scale: float

    @cached_property
    def iterations(self) -> int:
        """Number of proposition rounds, the paper's M_max when `maximal`; 1 for sequential methods."""
        return numbers_of(self.progress)[0]

    @cached_property
    def maximal(self) -> bool:
        """Whether no edge can be added, as far as is proven; for a forest, to its factor."""
        return bool(numbers_of(self.progress)[1])

    @cached_property
    def coverage(self) -> float:
        """Share of the off-diagonal weight in these edges (Eq. 4 of Klein & Strzodka, 2022)."""
        if self.total_weight == 0.0:
            return 1.0
        covered = self.backend.matrix.sums.tree_sums((self.values,), self.scale)[0]
        return share_of(covered, self.total_weight)

    def _table(self, title: str, *rows: tuple[str, str], of: str = "") -> Printout:
        """The given rows, then coverage and iterations; `of` names what the iterations belong to."""
        return Printout.of(title, *rows, *progress_rows(self, of))


def progress_rows(record: Any, of: str = "") -> list[tuple[str, str]]:
    """Coverage and iterations of a record, for print; `of` names what the iterations belong to."""
    ending = f"maximal {of}" if record.maximal else f"{of} not proven maximal"
    return [
        ("coverage", f"{record.coverage:.4f} of the off-diagonal weight"),
        ("iterations", f"{record.iterations} ({ending.strip()})"),
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Factor(ChosenEdges):
    """A [0,n]-factor: a subgraph in which every vertex keeps at most n of its edges.

    Attributes
    ----------
    neighbors : (N, n) integer array
        The other ends of each vertex's edges in ascending order, -1 where empty.
    values : (N, n) array
        The graph's values on these edges, 0 where empty: A's own entries where A is real and ``|A|`` is
        symmetric.
    slots : (N, n) integer array or None
        The index of each edge's entry in the matrix's CSR arrays, -1 where empty; None where the matrix has a
        nonsymmetric pattern, which is not the graph's.
    progress : array of two numbers
        `iterations` and `maximal`, on the device.
    total_weight, scale
        Those of the graph; coverages are relative to them.
    """

    neighbors: Array
    values: Array
    slots: Array | None
    progress: Progress
    total_weight: float
    scale: float = 1.0

    @property
    def n(self) -> int:
        """The largest degree allowed."""
        return int(self.neighbors.shape[1])

    @property
    def weights(self) -> Array:
        """The weights of the edges: magnitudes, 0 where empty."""
        return magnitudes_of(self.values)

    @property
    def degrees(self) -> Array:
        """Number of confirmed edges of each vertex."""
        return (self.neighbors >= 0).sum(axis=1)

    def _printout(self) -> Printout:
        vertices = self.neighbors.shape[0]
        edges = int((self.neighbors >= 0).sum()) // 2  # stall: printing reads one number
        return self._table(f"[0,{self.n}]-factor", ("vertices", f"{vertices:,}"), ("edges", f"{edges:,}"))


@dataclass(frozen=True, eq=False)
class Ordering(OnBackend, ReadOnlyArrays):
    """A permutation: ``order[new] = old`` and its inverse ``rank[old] = new``."""

    order: Array
    rank: Array


@dataclass(frozen=True, eq=False, repr=False)
class Forest(ChosenEdges):
    """A linear forest: disjoint paths that cover all vertices.

    Attributes
    ----------
    neighbors, values, slots
        As in `Factor` with n = 2, after the cycles were broken.
    path_id : (N,) integer array
        The smaller vertex id of the path's two ends.
    position : (N,) integer array
        Position in the path, counted from 1 at the end with the smaller id.
    ordering : Ordering
        Vertices sorted by (path id, position).
    counts : array of three numbers
        `n_paths`, `longest_path` and `n_cycles_broken`, on the device.
    progress : array of two numbers
        `iterations` and `maximal` of the factor that the forest was made from, on the device.
    total_weight, scale
        As in `Factor`.
    """

    neighbors: Array
    values: Array
    slots: Array | None
    path_id: Array
    position: Array
    ordering: Ordering
    counts: Array
    progress: Progress
    total_weight: float
    scale: float = 1.0

    @cached_property
    def n_paths(self) -> int:
        """Number of paths, isolated vertices included."""
        return numbers_of(self.counts)[0]

    @cached_property
    def longest_path(self) -> int:
        """Number of vertices of the longest path."""
        return numbers_of(self.counts)[1]

    @cached_property
    def n_cycles_broken(self) -> int:
        """Number of cycles that lost their weakest edge."""
        return numbers_of(self.counts)[2]

    @property
    def weights(self) -> Array:
        """The weights of the edges: magnitudes, 0 where empty."""
        return magnitudes_of(self.values)

    @property
    def order(self) -> Array:
        """``order[new] = old``."""
        return self.ordering.order

    @property
    def rank(self) -> Array:
        """``rank[old] = new``, the inverse of `order`."""
        return self.ordering.rank

    def _printout(self) -> Printout:
        return self._table(
            "linear forest",
            ("vertices", f"{self.path_id.size:,}"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} vertices"),
            ("cycles broken", f"{self.n_cycles_broken:,}"),
            of="factor",
        )


@dataclass(frozen=True, eq=False)
class Pairs(OnBackend, ReadOnlyArrays):
    """Disjoint pairs of vertices."""

    members: Array  # (pairs, 2): the lower vertex first; -1, a ghost, beside an unmatched one
    places: Array  # of each vertex in the raveled `members`


@dataclass(frozen=True, eq=False, repr=False)
class BlockForest(OnBackend, ReadOnlyArrays, Printed):
    """A linear forest whose vertices are blocks, small groups of strongly coupled vertices.

    Attributes
    ----------
    members : (blocks * block_size,) integer array
        The vertices, block after block in the order of the paths; -1 for a ghost, which pads a block of
        too few vertices.
    block_size
        Vertices of a block, ghosts included.
    forest : Forest
        The forest whose vertices are the blocks; ``forest.order[i]`` is the block that comes i-th.
    coverage
        Share of the matrix's off-diagonal weight inside the blocks and along the paths (Eq. 4).
    m : tuple of int
        Option m of the factors: those of the pairings first, then that of the paths.
    pairing : {"edges", "paths"}
        How the pairs were found: along heavy edges, or across neighbouring heavy paths (the m of the
        pairings is then not used).
    """

    members: Array
    block_size: int
    forest: Forest
    coverage: float
    m: tuple[int, ...]
    pairing: str = "edges"

    @property
    def order(self) -> Array:
        """``order[new] = old``, -1 for a ghost."""
        return self.members

    @property
    def n_blocks(self) -> int:
        return self.members.size // self.block_size

    @property
    def n_paths(self) -> int:
        """Number of paths, isolated blocks included."""
        return self.forest.n_paths

    @property
    def longest_path(self) -> int:
        """Number of blocks of the longest path."""
        return self.forest.longest_path

    def _printout(self) -> Printout:
        ghosts = int((self.members < 0).sum())  # stall: printing reads one number
        return Printout.of(
            "linear forest of blocks",
            ("vertices", f"{self.members.size - ghosts:,}"),
            ("blocks", f"{self.n_blocks:,} of {self.block_size}, with {ghosts:,} ghosts"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} blocks"),
            ("coverage", f"{self.coverage:.4f} of the off-diagonal weight"),
            ("pairs", "along edges" if self.pairing == "edges" else "across paths"),
            ("m", ", ".join(map(str, self.m))),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Bands(OnBackend, ReadOnlyArrays, Printed):
    """The tridiagonal part of ``A[order][:, order]`` along the forest, each band of length N.

    ``lower[i]`` couples row i to row i - 1 and ``upper[i]`` couples it to row i + 1, in the new order;
    both are 0 where a path ends. Along a forest of blocks a band has shape (blocks, b, b), and rows are
    rows of blocks.
    """

    lower: Array
    diagonal: Array
    upper: Array

    def _printout(self) -> Printout:
        return Printout.of(
            "tridiagonal bands",
            ("rows", " x ".join(f"{size:,}" for size in self.diagonal.shape)),
            ("dtype", str(self.diagonal.dtype)),
            ("bytes", f"{self.lower.nbytes + self.diagonal.nbytes + self.upper.nbytes:,}"),
        )
