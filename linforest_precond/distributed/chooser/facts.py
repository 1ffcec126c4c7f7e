"""Facts of a matrix over ranks: the scans of one process on each rank's rows, reduced over all ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.facts import Facts, Scans, found_by
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.matrix import Matrix, scaled_into_range
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.scaling.scaling import count_tiny


class RankScans(Scans):
    """Scans of the own rows; what they return of all rows is the same on all ranks: collective."""

    def __init__(self, A: Matrix) -> None:
        self.whole = RankLevelMatrix(A)
        self.A, self.comm, self.csr, self.entries = A, A.comm, self.whole.csr, self.whole.entries

    def count(self, flags: Array) -> int:
        return self.comm.total(super().count(flags))

    def largest(self, values: Array) -> float:
        return float(self.comm.largest(values.max(initial=-np.inf)))

    def total(self, values: Array) -> float:
        return tree_sum(self.comm, values)

    def tiny_diagonal(self) -> int:
        A, n = self.A, self.A.n_local
        rows, columns, diagonal = self._with_ghosts().log_maxima
        columns = A.halo.send_back(columns[n:], "max", into=columns[:n])
        return self.comm.total(count_tiny(A.backend, rows[:n], columns, diagonal[:n]))

    def unmatched(self) -> Array:
        """Rows without entries; those that a matching would leave over are not known."""
        return self.comm.allgather_arrays(self.A.first + self.csr.zero_rows)

    def couplings(self) -> tuple[Array, Array]:
        totals, largest = Scans(self._with_ghosts()).couplings()
        return totals[: self.A.n_local], largest[: self.A.n_local]

    def _with_ghosts(self) -> CheckedMatrix:
        """The own rows and empty rows of ghosts, as a square matrix; the diagonal has the ghosts', too."""
        csr, halo = self.csr, self.A.halo
        of_ghosts = np.full(halo.ghosts.size, csr.nnz, csr.indptr.dtype)
        indptr = np.concatenate([csr.indptr, of_ghosts])
        return replace(csr, indptr=indptr, diagonal=halo.with_ghosts(csr.diagonal))


def facts_of_ranks(A: Matrix) -> Facts:
    """The facts of `chooser.facts.facts_of`, sums to rounding, the same bits for any number of ranks.

    The structural rank counts rows without entries alone.
    """
    return found_by(RankScans(scaled_into_range(A, A.dtype)[0]))
