"""The block tridiagonal bands along a forest of blocks."""

from __future__ import annotations

from linforest_precond.backends import backend_of
from linforest_precond.records import CSR, Bands, BlockForest


def copy_block_bands(csr: CSR, forest: BlockForest) -> Bands:
    """The entries of a checked matrix inside the blocks and between neighbouring blocks of a path, in order.

    Each band has a b x b block for each block row. A ghost is decoupled: its row and column are 0 apart from
    the diagonal. The forest may be that of another matrix of the same size, with the other index type.
    """
    members = forest.members.astype(csr.indices.dtype, copy=False).reshape(-1, forest.block_size)
    starts_path = forest.forest.position[forest.forest.order] == 1
    return Bands(*backend_of(csr.data).forest.block_bands.extract(csr, members, starts_path))
