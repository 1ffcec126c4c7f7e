"""Records of a rank's part of factors and forests."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.ordering import ForestOrder
from linforest_precond.records.forest import progress_rows
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False, repr=False)
class RankFactor(ReadOnlyArrays, Printed):
    """A rank's part of a [0,n]-factor: the edges of its own vertices.

    Attributes
    ----------
    neighbors : (own rows, n) array of int64
        The other ends of each vertex's edges, global ids in ascending order, -1 where empty.
    values : (own rows, n) array
        The graph's values on these edges, 0 where empty.
    iterations, maximal
        Number of proposition rounds, and whether no edge can be added, as far as is proven.
    coverage
        Share of the off-diagonal weight in the edges of all ranks.
    n_edges
        Edges of all ranks.
    """

    neighbors: Array
    values: Array
    iterations: int
    maximal: bool
    coverage: float
    n_edges: int

    @property
    def n(self) -> int:
        """The largest degree allowed."""
        return int(self.neighbors.shape[1])

    def _printout(self) -> Printout:
        own = ("own vertices", f"{self.neighbors.shape[0]:,}")
        edges = ("edges", f"{self.n_edges:,}")
        return Printout.of(f"[0,{self.n}]-factor over ranks", own, edges, *progress_rows(self))


@dataclass(frozen=True, eq=False, repr=False)
class RankForest(ReadOnlyArrays, Printed):
    """A rank's part of a linear forest: the edges of its own vertices, their paths and their order.

    Attributes
    ----------
    neighbors : (own rows, 2) array of int64
        The other ends of each vertex's edges, global ids in ascending order, -1 where empty.
    values : (own rows, 2) array
        The graph's values on these edges, 0 where empty.
    path_id : (own rows,) array of int64
        The smaller vertex id of the path's two ends.
    position : (own rows,) array of int64
        Position in the path, counted from 1 at the end with the smaller id.
    order : ForestOrder
        Vertices sorted by (path id, position).
    n_paths, longest_path, n_cycles_broken, iterations, maximal, coverage
        Of the whole forest, as in `linforest_precond.records.forest.Forest`.
    identity_coverage
        Share of the off-diagonal weight on the sub- and superdiagonal, in the rows' own order.
    """

    neighbors: Array
    values: Array
    path_id: Array
    position: Array
    order: ForestOrder
    n_paths: int
    longest_path: int
    n_cycles_broken: int
    iterations: int
    maximal: bool
    coverage: float
    identity_coverage: float

    def _printout(self) -> Printout:
        return Printout.of(
            "linear forest over ranks",
            ("vertices", f"{int(self.order.cuts[-1]):,}"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} vertices"),
            ("cycles broken", f"{self.n_cycles_broken:,}"),
            *progress_rows(self, of="factor"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class RankBlockForest(ReadOnlyArrays, Printed):
    """A rank's part of a linear forest whose vertices are blocks, small groups of strongly coupled vertices.

    Attributes
    ----------
    order : ForestOrder
        The vertices, block after block along the paths.
    n_paths, longest_path
        Paths, and the blocks of the longest one.
    coverage, m, pairing
        As in `linforest_precond.records.forest.BlockForest`.
    """

    order: ForestOrder
    n_paths: int
    longest_path: int
    coverage: float
    m: tuple[int, ...]
    pairing: str = "edges"

    @property
    def block_size(self) -> int:
        """Vertices of a block, ghosts included."""
        return self.order.block_size

    @property
    def n_blocks(self) -> int:
        """Blocks of all ranks."""
        return self.order.n_blocks

    def _printout(self) -> Printout:
        return Printout.of(
            "linear forest of blocks over ranks",
            ("vertices", f"{int(self.order.offsets[-1]):,}"),
            ("blocks", f"{self.n_blocks:,} of {self.block_size}"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} blocks"),
            ("coverage", f"{self.coverage:.4f} of the off-diagonal weight"),
            ("pairs", "along edges" if self.pairing == "edges" else "across paths"),
            ("m", ", ".join(map(str, self.m))),
        )
