"""`Fill` holds the predicted fill-in of a factorization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_dtype
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays

# Bytes of a row index and of a column pointer of compressed factors.
ROW_INDEX, POINTER = 4, 8


@dataclass(frozen=True, eq=False, repr=False)
class Fill(OnBackend, ReadOnlyArrays, Printed):
    """The size and the cost of the factors L and U of a matrix with the pattern of A + A^T, in some order.

    Pivots are taken from the diagonal, and no entry cancels: L has the pattern of the Cholesky factor, U that
    of its transpose. Diagonal entries count, whether A stores them or not.

    Attributes
    ----------
    counts : (N,) integer array
        Entries of each column of L with its diagonal, in the order of elimination.
    height : int
        Columns on the longest path of the elimination tree: that many must be eliminated one after another.
    pattern_entries : int
        Entries of A + A^T with the whole diagonal.
    entries : int
        Entries of L with its diagonal: the sum of c over all counts c.
    cholesky_flops : float
        Operations of a Cholesky factorization: the sum of c². A column has a root, c - 1 divisions, and
        c (c - 1) multiplications and subtractions.
    lu_flops : float
        Operations of an LU factorization: the sum of (c - 1) + 2 (c - 1)², divisions, then multiplications
        and subtractions.
    largest_front : int
        The largest count: rows of the largest frontal matrix.
    """

    counts: Array
    height: int
    pattern_entries: int
    entries: int
    cholesky_flops: float
    lu_flops: float
    largest_front: int

    @property
    def lu_entries(self) -> int:
        """Entries of L and U together, the diagonal once."""
        return 2 * self.entries - int(self.counts.size)

    @property
    def ratio(self) -> float:
        """Entries of L and U in units of `pattern_entries`; 1 if there is no fill-in."""
        return self.lu_entries / max(self.pattern_entries, 1)

    def memory(self, dtype: npt.DTypeLike = np.float64, *, lu: bool = False) -> int:
        """Bytes of L, or of L and U, in compressed columns: values, 32-bit row indices, 64-bit pointers."""
        entries = self.lu_entries if lu else self.entries
        return entries * (as_dtype("dtype", dtype).itemsize + ROW_INDEX) + (1 + lu) * POINTER * (
            self.counts.size + 1
        )

    def _printout(self) -> Printout:
        return Printout.of(
            "fill-in of a factorization",
            ("entries of L", f"{self.entries:,}, with U {self.lu_entries:,}"),
            ("fill ratio", f"{self.ratio:.2f} x the entries of A + A^T"),
            ("flops", f"{self.cholesky_flops:.3g} of Cholesky, {self.lu_flops:.3g} of LU"),
            ("memory", f"{self.memory() / 2**20:.3g} MiB of L, {self.memory(lu=True) / 2**20:.3g} MiB of LU"),
            ("largest front", f"{self.largest_front:,} of {self.counts.size:,} rows"),
            ("elimination tree", f"{self.height:,} columns high"),
        )
