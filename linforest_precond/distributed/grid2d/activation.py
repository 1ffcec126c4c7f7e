"""Active vertices of pulls: the neighbours of vertices whose state has changed."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.grid2d.exchange import distinct
from linforest_precond.distributed.grid2d.graph import Graph2D


def neighbouring_rows(graph: Graph2D, rows: Array) -> Array:
    """The rows of this rank's row group with an edge from one of some rows, the same on all its ranks.

    The rows are the same on all ranks of a row group. Only positions are passed, as in a sparse push.
    """
    _, _, targets = graph.expand(rows)
    positions = graph.columns.positions(distinct(targets, graph.n_states))
    found = np.unique(graph.grid.column.allgather_arrays(positions))
    piece = graph.push.pieces[graph.grid.j]
    mine = found[(found >= piece.begin) & (found < piece.end)]
    return graph.grid.row.allgather_arrays(mine) - graph.rows.begin
