"""The reduced system of the unknowns at the cuts between ranks, which every rank factors and solves."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.distributed.partition import host
from linforest_precond.precond.tridiagonal.segments import Triple

size, perturb_tiny = host.runtime.arithmetic.size, host.tridiagonal.pivoting.perturb_tiny


def entries_of_blocks(places: Array, blocks: Array) -> Triple:
    """Rows, columns and values of (m, r, c) blocks; `places` are row and column of their first entries."""
    rows, columns = places.reshape(2, -1, 1, 1) + np.indices(blocks.shape[1:])[:, None]
    return rows.ravel(), columns.ravel(), blocks.ravel()


def joined(entries: list[Triple]) -> Triple:
    """The entries of several sets of blocks, one after the other."""
    rows, columns, values = (np.concatenate(part) for part in zip(*entries))
    return rows, columns, values


class BandedLU:
    """LU factors of a banded matrix with partial pivoting (LAPACK's gbtrf), from its n rows' entries.

    The last `free` columns are 0. Their pivots are set to 1 after the factorization, so that the last
    components of a solution are the eliminated right-hand sides. Pivots that have `vanished` are perturbed.
    """

    def __init__(
        self,
        entries: Triple,
        n: int,
        below: int,
        above: int,
        dtype: DType,
        free: int = 0,
    ) -> None:
        self.widths, diagonal = (below, above), below + above
        matrix = np.zeros((below + diagonal + 1, n), dtype, order="F")
        rows, columns, values = entries
        matrix[diagonal + rows - columns, columns] = values
        sizes = size(matrix).max(axis=0, initial=0)
        factorize, self._solve = get_lapack_funcs(("gbtrf", "gbtrs"), (matrix,))
        self.factors, self.exchanges, _ = factorize(matrix, below, above, overwrite_ab=True)
        pivots = self.factors[diagonal]
        self.vanished: Array = size(pivots[: n - free]) < np.finfo(dtype).tiny
        perturb_tiny(pivots[: n - free], sizes[: n - free])
        pivots[n - free :] = 1

    @property
    def nbytes(self) -> int:
        return int(self.factors.nbytes + self.exchanges.nbytes)

    def solve(self, right: Array, transpose: bool = False) -> Array:
        """Solve for the columns of an (n, k) array."""
        if not right.size:
            return right.copy()
        columns = np.array(right, self.factors.dtype, order="F")
        x: Array = self._solve(
            self.factors, *self.widths, columns, self.exchanges, trans=int(transpose), overwrite_b=True
        )[0]
        return x
