"""Records of ranks: what each knows of a factor, a forest and its order, and the exchange of vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.host_arrays import on_host
from linforest_precond.printing import Printed, Printout
from linforest_precond.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False)
class Redistribution:
    """Which values a rank sends to which other when vectors change from the rows' partition to the order's.

    A collective object: all ranks call `forward` and `backward` in the same order.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    n_rows, n_places : int
        Own rows of the matrix, and own places of the order.
    sent : dict
        For each rank with places of own rows: these rows, numbered from 0 on this rank.
    received : dict
        For each rank with rows at own places: these places, numbered from 0 on this rank.
    """

    comm: Communicator
    n_rows: int
    n_places: int
    sent: dict[int, Array]
    received: dict[int, Array]

    def forward(self, values: Array) -> Array:
        """Values at the own places, from an array with one row (of any shape) for each own row.

        Places without a vertex get 0. Arrays of CuPy are staged through the host.
        """
        return self._moved(values, self.sent, self.received, self.n_places)

    def backward(self, values: Array) -> Array:
        """The reverse: values of the own rows, from an array with one row for each own place."""
        return self._moved(values, self.received, self.sent, self.n_rows)

    def _moved(self, values: Array, taken: dict[int, Array], put: dict[int, Array], count: int) -> Array:
        xp, like = backend_of(values).xp, np.empty((0, *values.shape[1:]), values.dtype)
        # stall: MPI sends from the host
        parts = {r: on_host(values[xp.asarray(places)]) for r, places in taken.items()}
        found = self.comm.exchange_known(parts, {r: places.size for r, places in put.items()}, like)
        out = xp.zeros((count, *values.shape[1:]), values.dtype)
        for r, places in put.items():
            out[xp.asarray(places)] = xp.asarray(found[r])
        return out


@dataclass(frozen=True, eq=False)
class ForestOrder(ReadOnlyArrays):
    """The order of a forest over ranks: each owns an equal stretch of it, whatever rows it owns.

    Places are numbered over all ranks, block after block along the paths. A block of a forest of blocks has
    `block_size` places, all on one rank; a place without a vertex is a ghost, which pads a block.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    offsets : (size + 1,) array of int64
        Rank r owns the rows ``offsets[r]:offsets[r + 1]`` of the matrix.
    cuts : (size + 1,) array of int64
        Rank r owns the places ``cuts[r]:cuts[r + 1]``, multiples of `block_size`.
    positions : (own rows,) array of int64
        The place of each own row.
    paths : (own rows,) array of int64
        The path of each own row; paths are numbered in their order, from 0.
    vertices : (own places,) array of int64
        The row at each own place, -1 for a ghost: this rank's part of ``order[new] = old``.
    starts_path : (own blocks,) array of bool
        Whether a block is the first of its path. It is then not coupled to the block before it.
    redistribution : Redistribution
        Moves vectors from the partition of the rows to that of the places, and back.
    block_size : int
        1, 2 or 4.
    """

    comm: Communicator
    offsets: Array
    cuts: Array
    positions: Array
    paths: Array
    vertices: Array
    starts_path: Array
    redistribution: Redistribution
    block_size: int = 1

    @property
    def n_blocks(self) -> int:
        """Blocks of all ranks."""
        return int(self.cuts[-1]) // self.block_size


class RankRecord(ReadOnlyArrays, Printed):
    """What records of ranks share: `print` shows the numbers that all ranks agree on."""

    iterations: int
    maximal: bool
    coverage: float

    def _table(self, title: str, *rows: tuple[str, str], of: str = "") -> Printout:
        ending = f"maximal {of}" if self.maximal else f"{of} not proven maximal"
        return Printout.of(
            title,
            *rows,
            ("coverage", f"{self.coverage:.4f} of the off-diagonal weight"),
            ("iterations", f"{self.iterations} ({ending.strip()})"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class RankFactor(RankRecord):
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
        return self._table(f"[0,{self.n}]-factor over ranks", own, ("edges", f"{self.n_edges:,}"))


@dataclass(frozen=True, eq=False, repr=False)
class RankForest(RankRecord):
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
        Of the whole forest, as in `linforest_precond.records.Forest`.
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
        return self._table(
            "linear forest over ranks",
            ("vertices", f"{int(self.order.cuts[-1]):,}"),
            ("paths", f"{self.n_paths:,}"),
            ("longest path", f"{self.longest_path:,} vertices"),
            ("cycles broken", f"{self.n_cycles_broken:,}"),
            of="factor",
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
        As in `linforest_precond.records.BlockForest`.
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
