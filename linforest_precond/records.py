"""What flows through the house: small frozen records, from a checked matrix to its tridiagonal bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.printing import as_table, numbers_of


@dataclass(frozen=True, eq=False)
class CSR:
    """A checked square matrix: finite, columns strictly increasing in each row.

    Attributes
    ----------
    indptr, indices, data
        The three CSR arrays: the user's own where they were in order already.
    symmetric
        Whether the magnitudes ``|A|`` are symmetric.
    total_weight
        The sum of the off-diagonal magnitudes, times `scale`.
    adjacent_weight
        The part of it that lies on the sub- and superdiagonal.
    diagonal
        The diagonal, 0 where nothing is stored.
    longest_row
        Stored entries of the longest row.
    scale
        A power of two: 1, or less where the plain sum would overflow.
    """

    indptr: Array
    indices: Array
    data: Array
    symmetric: bool
    total_weight: float
    adjacent_weight: float
    diagonal: Array
    longest_row: int
    scale: float = 1.0

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def nnz(self) -> int:
        return self.indices.size


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a square matrix has stored entries: an edge from each entry's row to its column.

    Attributes
    ----------
    indptr, indices
        As in `CSR`, but that `indices` are 32-bit whatever `indptr` is. Diagonal entries may be stored; they
        are no edges.
    degrees
        Number of each vertex's neighbours, itself not counted, 32-bit.
    symmetric
        Whether every edge goes both ways.
    longest_row
        Stored entries of the longest row.
    """

    indptr: Array
    indices: Array
    degrees: Array
    symmetric: bool
    longest_row: int

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def nnz(self) -> int:
        return self.indices.size


@dataclass(frozen=True, eq=False)
class Graph:
    """The undirected weighted graph of a matrix: ``|A| - diag(|A|)``, made symmetric where it was not.

    The weight of an edge is the magnitude of its (real) value. Diagonal and zero entries may be stored; they
    are no edges. `slots_are_matrix` says whether an entry's place is also its place in A, and
    `values_are_matrix` whether the values are A's own, signs included.
    """

    indptr: Array
    indices: Array
    values: Array
    total_weight: float
    scale: float
    longest_row: int
    slots_are_matrix: bool
    values_are_matrix: bool

    @property
    def n(self) -> int:
        return self.indptr.size - 1


def covered_share(kept: tuple[Array, ...], total_weight: float, scale: float) -> float:
    """Share of the weight in `kept` (Eq. 4 of Klein & Strzodka, 2022); without edges all is covered."""
    if total_weight == 0.0:
        return 1.0
    weight = sum(backend_of(values).matrix.sums.tree_sum(values, scale) for values in kept)
    return min(1.0, weight / total_weight)


def ratio_to_finest(numbers: Sequence[int]) -> float:
    """The sum over the levels of a hierarchy divided by the finest level's number: a complexity."""
    return sum(numbers) / max(numbers[0], 1)


class ChosenEdges:
    """What factors, forests and matchings tell of themselves from `values`, `progress` and the weight.

    `progress` are two numbers, rounds and whether the choice is maximal; they are on the device until someone
    asks, so that making a choice does not wait for it.
    """

    values: Array
    progress: Array
    total_weight: float
    scale: float

    @cached_property
    def iterations(self) -> int:
        """Rounds of propositions, the paper's M_max when `maximal`; 1 of methods that have none."""
        return numbers_of(self.progress)[0]

    @cached_property
    def maximal(self) -> bool:
        """Whether it is known that no edge can be added; of a forest, to the factor that it was made from."""
        return bool(numbers_of(self.progress)[1])

    @cached_property
    def coverage(self) -> float:
        """Share of the off-diagonal weight that these edges hold (Eq. 4 of Klein & Strzodka, 2022)."""
        return covered_share((self.values,), self.total_weight, self.scale)

    def _table(self, title: str, *rows: tuple[str, str], of: str = "") -> str:
        """The rows, then coverage and iterations, which are those `of` something else if that is named."""
        ending = f"maximal {of}" if self.maximal else f"{of} not proven maximal"
        return as_table(
            title,
            *rows,
            ("coverage", f"{self.coverage:.4f} of the off-diagonal weight"),
            ("iterations", f"{self.iterations} ({ending.strip()})"),
        )


@dataclass(frozen=True, eq=False)
class Factor(ChosenEdges):
    """A [0,n]-factor: a subgraph in which every vertex keeps at most n of its edges.

    Attributes
    ----------
    neighbors : (N, n) integer array
        The other ends of each vertex's edges in ascending order, -1 where empty.
    values : (N, n) array
        The graph's values on these edges, 0 where empty: A's own entries where its magnitudes are real and
        symmetric.
    slots : (N, n) integer array or None
        Where each edge is stored in the matrix's CSR arrays, -1 where empty; None where the graph's
        pattern is not the matrix's (a nonsymmetric pattern).
    progress : array of two numbers
        What `iterations` and `maximal` read; on the device, so that making a factor does not wait for it.
    total_weight, scale
        What coverages are measured against.
    """

    neighbors: Array
    values: Array
    slots: Array | None
    progress: Array
    total_weight: float
    scale: float = 1.0

    @property
    def n(self) -> int:
        """The largest degree allowed."""
        return self.neighbors.shape[1]

    @property
    def weights(self) -> Array:
        """The weights of the edges: magnitudes, 0 where empty."""
        return backend_of(self.values).matrix.entries.magnitudes(self.values)

    @property
    def degrees(self) -> Array:
        """Number of confirmed edges of each vertex."""
        return (self.neighbors >= 0).sum(axis=1)

    def __str__(self) -> str:
        vertices = self.neighbors.shape[0]
        edges = int((self.neighbors >= 0).sum()) // 2  # stall: printing reads one number
        return self._table(f"[0,{self.n}]-factor", ("vertices", f"{vertices:,}"), ("edges", f"{edges:,}"))

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Ordering:
    """A permutation: ``order[new] = old`` and its inverse ``rank[old] = new``."""

    order: Array
    rank: Array


@dataclass(frozen=True, eq=False)
class Forest(ChosenEdges):
    """A linear forest: disjoint paths that cover all vertices.

    Attributes
    ----------
    neighbors, values, slots
        As in `Factor` with n = 2, after the cycles were broken.
    path_id : (N,) integer array
        The smaller vertex id of the path's two ends.
    position : (N,) integer array
        Place in the path, counted from 1 at the end with the smaller id.
    ordering : Ordering
        Vertices sorted by (path id, position).
    counts : array of three numbers
        What `n_paths`, `longest_path` and `n_cycles_broken` read.
    progress : array of two numbers
        What `iterations` and `maximal` read, of the factor the forest was made from.
    """

    neighbors: Array
    values: Array
    slots: Array | None
    path_id: Array
    position: Array
    ordering: Ordering
    counts: Array
    progress: Array
    total_weight: float
    scale: float = 1.0

    @cached_property
    def n_paths(self) -> int:
        """Paths, lone vertices included."""
        return numbers_of(self.counts)[0]

    @cached_property
    def longest_path(self) -> int:
        """Vertices of the longest path."""
        return numbers_of(self.counts)[1]

    @cached_property
    def n_cycles_broken(self) -> int:
        """Cycles that lost their weakest edge."""
        return numbers_of(self.counts)[2]

    @property
    def weights(self) -> Array:
        """The weights of the edges: magnitudes, 0 where empty."""
        return backend_of(self.values).matrix.entries.magnitudes(self.values)

    @property
    def order(self) -> Array:
        """``order[new] = old``."""
        return self.ordering.order

    @property
    def rank(self) -> Array:
        """``rank[old] = new``, the inverse of `order`."""
        return self.ordering.rank

    def __str__(self) -> str:
        return self._table(
            "linear forest",
            ("vertices", f"{self.path_id.size:,}"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} vertices"),
            ("cycles broken", f"{self.n_cycles_broken:,}"),
            of="factor",
        )

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Pairs:
    """Vertices two by two.

    Attributes
    ----------
    members : (pairs, 2) integer array
        The vertices of each pair, the lower one first; -1, a ghost, beside a lone vertex.
    places : (N,) integer array
        Where each vertex stands among all members: twice its pair, plus one for a higher member.
    """

    members: Array
    places: Array


@dataclass(frozen=True, eq=False)
class BlockForest:
    """A linear forest of blocks: paths through groups of vertices that lie close together.

    Attributes
    ----------
    members : (blocks * block_size,) integer array
        The vertices block after block in the order of the paths, -1 for a ghost, which fills up a block
        that found too few partners.
    block_size
        Vertices of a block, ghosts included.
    forest : Forest
        The forest whose vertices are the blocks, in an order of its own: ``forest.order[i]`` is the
        block that comes i-th.
    coverage
        Share of the matrix's off-diagonal weight inside the blocks and along the paths (Eq. 4).
    m : tuple of int
        Of the factors: the pairings' first, then that of the paths.
    pairing : {"edges", "paths"}
        How the pairs were found: along heavy edges, or across heavy paths that run side by side (the
        pairings' m is then not used).
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
        """Paths of blocks, lone blocks included."""
        return self.forest.n_paths

    @property
    def longest_path(self) -> int:
        """Blocks of the longest path."""
        return self.forest.longest_path

    def __str__(self) -> str:
        ghosts = int((self.members < 0).sum())  # stall: printing reads one number
        return as_table(
            "linear forest of blocks",
            ("vertices", f"{self.members.size - ghosts:,}"),
            ("blocks", f"{self.n_blocks:,} of {self.block_size}, with {ghosts:,} ghosts"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} blocks"),
            ("coverage", f"{self.coverage:.4f} of the off-diagonal weight"),
            ("pairs", "along edges" if self.pairing == "edges" else "across paths"),
            ("m", ", ".join(map(str, self.m))),
        )

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Bands:
    """The tridiagonal part of ``A[order][:, order]`` along the forest, each band of length N.

    ``lower[i]`` couples row i to row i - 1 and ``upper[i]`` couples it to row i + 1, in the new order;
    both are 0 where a path ends. Along a forest of blocks a band has shape (blocks, b, b), and rows are
    rows of blocks.
    """

    lower: Array
    diagonal: Array
    upper: Array

    def __str__(self) -> str:
        return as_table(
            "tridiagonal bands",
            ("rows", " x ".join(f"{size:,}" for size in self.diagonal.shape)),
            ("dtype", str(self.diagonal.dtype)),
            ("bytes", f"{self.lower.nbytes + self.diagonal.nbytes + self.upper.nbytes:,}"),
        )

    __repr__ = __str__
