"""`extract_bands` copies the bands along a linear forest, also of blocks; coverage of A's own order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.returns import BandSlots, ghost_code
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.forest.given_records import checked_forest
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.records.forest import Bands, BlockForest, Forest


@named_arguments
def extract_bands(A: MatrixLike | CheckedMatrix, forest: Forest) -> Bands:
    """Copy the entries of A along the forest's paths into three bands, in the forest's order.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy: the matrix of the forest, or another one of the same size.
    forest : Forest
        From `linforest_precond.linear_forest`, on A's device.

    Returns
    -------
    Bands
        Copies of A's entries, ``A[v, w]`` and ``A[w, v]`` of each edge; 0 where A stores nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[4.0, 0, -3], [0, 5, -1], [-2, -1, 6]])
    >>> bands = lf.extract_bands(A, lf.linear_forest(A))
    >>> bands.lower.tolist(), bands.diagonal.tolist(), bands.upper.tolist()
    ([0.0, -2.0, -1.0], [4.0, 6.0, 5.0], [-3.0, -1.0, 0.0])
    """
    csr = checked(A, shared=True)
    if not isinstance(forest, Forest):
        raise TypeError(f"forest must be a Forest from linear_forest(A), got {type(forest).__name__}")
    return copy_bands(csr, checked_forest(forest, csr.n, csr.backend))


def copy_bands(
    csr: CheckedMatrix, forest: Forest, values: Array | None = None, slots: Array | None = None
) -> Bands:
    """The bands of a checked matrix along a forest.

    If the forest was made from this matrix, its `values` or `slots` save the binary search for the entries. A
    forest of another matrix may have the other index type.
    """
    index = csr.indices.dtype
    neighbors, order = (array.astype(index, copy=False) for array in (forest.neighbors, forest.order))
    return Bands(*csr.backend.forest.bands.extract(csr, neighbors, order, values, slots))


@named_arguments
def identity_coverage(A: MatrixLike | CheckedMatrix) -> float:
    """Share of the off-diagonal weight on the sub- and superdiagonal, in A's own order.

    This is c_id, Eq. 5 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted
    Graph on GPUs" (2022), doi:10.1145/3545008.3545035: what a plain tridiagonal preconditioner keeps.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.

    Returns
    -------
    float
        Between 0 and 1; 1 for a matrix without off-diagonal entries.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> round(lf.graph.identity_coverage(lf.matrices.poisson((50, 50))), 2)
    0.5
    """
    csr = checked(A)
    if csr.total_weight == 0.0:
        return 1.0
    return min(1.0, csr.adjacent_weight / csr.total_weight)


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
