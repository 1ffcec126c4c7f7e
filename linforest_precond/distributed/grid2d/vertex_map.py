"""The renumbering of vertices to positions, and the row and column groups that own these.

Vertices are dealt to stripes cyclically, and a stripe's vertices get consecutive positions. So every row
group and every column group owns a range of positions, while neighbours in the original numbering are spread
over all groups. Where R = C the stripes are the groups; otherwise there are lcm(R, C) stripes, so that both
are unions of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.owners import owners_of
from linforest_precond.distributed.partition.scatter import equal_shares


@dataclass(frozen=True, eq=False)
class VertexMap:
    """Vertices, positions, and the ranges of positions of row groups and of column groups.

    Offsets are on the host, vertices and positions where the caller has them.
    """

    n: int
    stripes: Array  # the first position of each stripe, and n
    row_offsets: Array  # (R + 1,)
    column_offsets: Array  # (C + 1,)

    @classmethod
    def striped(cls, n: int, shape: tuple[int, int]) -> VertexMap:
        """Vertex v is in stripe v mod lcm(R, C)."""
        count = math.lcm(*shape)
        sizes = (n + count - 1 - np.arange(count)) // count
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(n, starts, *(starts[:: count // groups] for groups in shape))

    @classmethod
    def in_blocks(cls, n: int, shape: tuple[int, int]) -> VertexMap:
        """Vertices keep their numbers: groups own equal ranges of them."""
        return cls(n, np.array([0, n]), *(equal_shares(n, groups) for groups in shape))

    def positions(self, vertices: Array) -> Array:
        """The position of each vertex."""
        index, stripe = xp_of(vertices).divmod(vertices, self.stripes.size - 1)
        return xp_of(vertices).asarray(self.stripes)[stripe] + index

    def vertices(self, positions: Array) -> Array:
        """The vertex at each position."""
        stripe = owners_of(self.stripes, positions)
        begins = xp_of(positions).asarray(self.stripes)[stripe]
        return (positions - begins) * (self.stripes.size - 1) + stripe

    def block_owner(self, sources: Array, targets: Array) -> Array:
        """The rank whose block of the adjacency matrix has entries at these positions."""
        columns = self.column_offsets.size - 1
        return owners_of(self.row_offsets, sources) * columns + owners_of(self.column_offsets, targets)


@dataclass(frozen=True)
class Window:
    """A range of positions, and the local id of its first one in arrays of vertex states."""

    begin: int
    end: int
    start: int = 0

    @property
    def size(self) -> int:
        """How many positions."""
        return max(self.end - self.begin, 0)

    @property
    def ids(self) -> slice:
        """The local ids."""
        return slice(self.start, self.start + self.size)

    def local(self, positions: Array) -> Array:
        """Local ids of positions."""
        return positions - (self.begin - self.start)

    def positions(self, ids: Array) -> Array:
        """Positions of local ids."""
        return ids + (self.begin - self.start)

    def among(self, ids: Array) -> Array:
        """The local ids that are in this window."""
        return ids[(ids >= self.start) & (ids < self.start + self.size)]

    def intersected(self, begin: int, end: int) -> Window:
        """The part of the window within a range of positions."""
        first = max(self.begin, int(begin))
        return Window(first, max(min(self.end, int(end)), first), self.start + first - self.begin)


def windows(rows: tuple[int, int], columns: tuple[int, int]) -> tuple[Window, Window, int]:
    """The windows of a rank's row and column vertices, and the number of local ids.

    Vertices in both have one id (types 1 and 2 of table 6.2); otherwise the columns follow the rows (type 0).
    """
    (r, r_end), (c, c_end) = rows, columns
    if max(r, c) >= min(r_end, c_end):
        return Window(r, r_end), Window(c, c_end, r_end - r), r_end - r + c_end - c
    first = min(r, c)
    return Window(r, r_end, r - first), Window(c, c_end, c - first), max(r_end, c_end) - first
