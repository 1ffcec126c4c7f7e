"""Consistent vertex states on all ranks that hold a vertex: dense and sparse exchanges, push and pull.

A push changes states of column vertices: they are combined in the column group, and spread in the row groups
by the ranks that hold them as row vertices too. A pull is the same with rows and columns swapped. A dense
exchange passes the states of all vertices, a sparse one pairs (position, state) of those that were changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.grid2d.vertex_map import Window
from linforest_precond.distributed.partition.communicator import Communicator

EXCHANGES = "auto", "dense", "sparse"
# Below a share of 1 / FEW, sorting ids is faster than flags.
FEW = 16


@dataclass(frozen=True)
class Direction:
    """Push or pull: the window that is combined and the one it is spread to, and the groups of ranks."""

    backend: Backend
    combined: Window
    combining: Communicator
    spread: Window
    spreading: Communicator
    pieces: Sequence[Window]  # the part of `spread` that each rank of `spreading` broadcasts


def is_dense(exchange: str, updates: int, n: int, shape: tuple[int, int]) -> bool:
    """Whether all states are passed: by default if at least n / max(R, C) were changed in the last round."""
    return exchange == "dense" or (exchange == "auto" and updates * max(shape) >= n)


def combine_minima(direction: Direction, state: Array, lower: Callable[[], Array], dense: bool) -> Array:
    """Lower states of the combined window, on all ranks that hold these vertices.

    `lower` does so on this rank, and returns the local ids of these states, which may be repeated. Returns
    the local ids, ascending, of all states that have changed here.
    """
    return (_dense_minima if dense else _sparse_minima)(direction, state, lower)


def _dense_minima(direction: Direction, state: Array, lower: Callable[[], Array]) -> Array:
    before = state.copy()
    lower()
    combined = direction.combined.ids
    state[combined] = direction.combining.allreduce(state[combined], "min")
    spread_all(direction, state)
    return xp_of(state).flatnonzero(state != before)


def spread_all(direction: Direction, state: Array) -> None:
    """Broadcast every piece of the spread window from the rank that has it combined."""
    for root, piece in enumerate(direction.pieces):
        if piece.size:
            state[piece.ids] = direction.spreading.broadcast(state[piece.ids], root)


def _sparse_minima(direction: Direction, state: Array, lower: Callable[[], Array]) -> Array:
    queue = distinct(lower(), state.size)
    found = gathered_pairs(direction.combining, direction.combined, state, queue)
    direction.backend.csgraph.grid_blocks.minimum_at(state, found[:, 0], found[:, 1])
    changed = distinct(found[:, 0], state.size)
    received = spread_some(direction, state, changed)
    return distinct(xp_of(state).concatenate([changed, received]), state.size)


def distinct(ids: Array, count: int) -> Array:
    """The different ones of ids below `count`, ascending: by flags, or sorted where there are few."""
    xp = xp_of(ids)
    if ids.size * FEW < count:
        return xp.unique(ids) if ids.size else ids
    flags = xp.zeros(count, bool)
    flags[ids] = True
    return xp.flatnonzero(flags)


def spread_some(direction: Direction, state: Array, changed: Array) -> Array:
    """Spread the states of the local ids that this rank has to broadcast; returns the ids received."""
    piece = direction.pieces[direction.spreading.rank]
    found = gathered_pairs(direction.spreading, direction.spread, state, piece.among(changed))
    state[found[:, 0]] = found[:, 1]
    return found[:, 0]


def gathered_pairs(ranks: Communicator, window: Window, state: Array, ids: Array) -> Array:
    """The pairs (local id, state) of all ranks of a group; they travel with positions."""
    found = ranks.allgather_arrays(xp_of(ids).column_stack([window.positions(ids), state[ids]]))
    found[:, 0] = window.local(found[:, 0])
    return found
