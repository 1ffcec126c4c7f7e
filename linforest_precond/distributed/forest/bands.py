"""Bands along a forest over ranks: entries of the matrix, redistributed to the forest's order."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.ordering import ForestOrder
from linforest_precond.distributed.forest.records import RankBlockForest, RankForest
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, check_matrix
from linforest_precond.records.forest import Bands

NO_SLOT, find_slots_of_rows = host.forest.bands.NO_SLOT, host.forest.bands.find_slots_of_rows
gathered = host.matrix.entries.gathered


@named_arguments
def bands(A: Matrix, forest: RankForest | RankBlockForest) -> Bands:
    """Copy the entries of a matrix along the paths of a forest, for this rank's range of the order.

    Collective. Only the rows' entries along the paths are sent.

    Parameters
    ----------
    A : Matrix
        The matrix of the forest, or another one with the same partition.
    forest : RankForest or RankBlockForest
        From `linear_forest` or `block_forest`.

    Returns
    -------
    Bands
        One entry for each own place: ``lower[0]`` couples the first of them to the last place of the rank
        before. Along a forest of blocks a band has shape (own blocks, b, b). Where the forest is.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.poisson((4, 3))
    >>> def upper(comm):
    ...     own = distributed.scatter(A, comm)
    ...     return distributed.bands(own, distributed.linear_forest(own)).upper.tolist()
    >>> _, whole = lf.pipeline.tridiagonal_bands(A)
    >>> sum(distributed.simulate(2, upper), []) == whole.upper.tolist()
    True
    """
    check_matrix(A)
    with A.comm.checking():
        if not isinstance(forest, RankForest | RankBlockForest):
            raise TypeError(
                f"forest must come from linear_forest or block_forest, got {type(forest).__name__}"
            )
        if not np.array_equal(A.offsets, forest.order.offsets):
            raise ValueError("A must have the partition of the forest's matrix, got other offsets")
    with A.comm.together():
        return copy_bands(without_rounding(A), forest)


def copy_bands(A: Matrix, forest: RankForest | RankBlockForest) -> Bands:
    """The bands of this rank's range of the order, where the forest is: collective."""
    order = forest.order
    A = A.on(backend_of(order.positions))
    b, size = order.block_size, order.vertices.size
    rows = order.redistribution.forward(band_rows(A, order))
    bands = rows.reshape(size // b, b, 3, b).transpose(2, 0, 1, 3).copy()
    fill_ghosts(bands[1], order.vertices.reshape(-1, b) < 0)
    return Bands(*(bands.reshape(3, size) if isinstance(forest, RankForest) else bands))


def band_rows(A: Matrix, order: ForestOrder) -> Array:
    """For each own row its entries in the blocks before, at and after its own one: shape (own rows, 3, b)."""
    positions, paths = map(A.halo.with_ghosts, (order.positions, order.paths))
    if A.backend.name != "cpu":
        return _band_rows_on_device(A, positions, paths, order.block_size)
    slots = np.full((A.n_local, 3, order.block_size), NO_SLOT, np.int64)
    find_slots_of_rows(*map(readonly, (A.rows.indptr, A.rows.indices, positions, paths)), slots)
    return gathered(A.rows.data, slots)


def _band_rows_on_device(A: Matrix, positions: Array, paths: Array, b: int) -> Array:
    """`band_rows` by operations on the arrays of all entries."""
    xp, columns, data = A.backend.xp, A.rows.indices, A.rows.data
    if not A.n_local:
        return xp.zeros((0, 3, b), data.dtype)
    rows = A.backend.matrix.entries.rows_of(A.rows.indptr, columns.size)
    bands = positions[columns] // b - positions[rows] // b + 1
    kept = xp.flatnonzero((bands >= 0) & (bands <= 2) & (paths[columns] == paths[rows]))
    found: Array = xp.zeros((A.n_local, 3, b), data.dtype)
    found[rows[kept], bands[kept], positions[columns[kept]] % b] = data[kept]
    return found


def fill_ghosts(diagonal: Array, ghosts: Array) -> None:
    """Decoupled rows for ghosts: the diagonal entry of the block's first vertex, or 1 where that is 0."""
    xp = xp_of(diagonal)
    blocks, places = xp.nonzero(ghosts)
    first = diagonal[blocks, 0, 0]
    diagonal[blocks, places, places] = xp.where(first != 0, first, diagonal.dtype.type(1))
