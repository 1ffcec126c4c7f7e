"""The block tridiagonal bands along a forest of blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import BandSlots, ghost_code
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.records.forest import Bands, BlockForest


def copy_block_bands(csr: CheckedMatrix, forest: BlockForest) -> Bands:
    """The entries of a checked matrix inside the blocks and between neighbouring blocks of a path, in order.

    Each band has a b x b block for each block row. A ghost is decoupled: its row and column are 0 apart from
    the diagonal. The forest may be that of another matrix of the same size, with the other index type.
    """
    return Bands(*csr.backend.forest.bands.extract_blocks(csr, *_blocks_in_order(csr, forest)))


def block_slots(csr: CheckedMatrix, forest: BlockForest) -> BandSlots:
    """The slots of the entries of `copy_block_bands` in a checked matrix."""
    rooms, members = csr.backend, _blocks_in_order(csr, forest)[0]
    # The bands of a matrix whose entries are their slot numbers plus 1; 0 means that no entry is stored.
    numbers = rooms.xp.arange(1.0, csr.nnz + 1)
    bands = copy_block_bands(replace(csr, data=numbers, diagonal=rooms.xp.ones(csr.n)), forest)
    index = np.promote_types(csr.indices.dtype, np.min_scalar_type(ghost_code(csr.nnz - 1)))
    places = rooms.xp.stack([band.astype(index) for band in (bands.lower, bands.diagonal, bands.upper)]) - 1
    b = forest.block_size
    own = places[1].reshape(-1, b * b)[:, :: b + 1]  # the diagonal entries of each block, a view
    own[...] = rooms.xp.where(members < 0, ghost_code(own[:, :1]), own)
    return rooms.forest.band_refresh.with_places(csr, places)


def _blocks_in_order(csr: CheckedMatrix, forest: BlockForest) -> tuple[Array, Array]:
    """The vertices of each block, and whether it is the first of its path."""
    members = forest.members.astype(csr.indices.dtype, copy=False).reshape(-1, forest.block_size)
    return members, forest.forest.position[forest.forest.order] == 1
