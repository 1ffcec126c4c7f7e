"""The matrix of a level over ranks, with the properties that the setup needs."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.returns import RowFacts
from linforest_precond.distributed.multigrid.vector_ops import RankVectorOps
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.entries import is_hermitian, mirrored_upper
from linforest_precond.distributed.partition.matrix import Matrix, csr_of_rows, with_values
from linforest_precond.matrix.checked import ZERO_SUM, described
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.precond.multigrid.eigenvalue_estimates import (
    STEPS,
    ApplyInto,
    eigenvalue_from,
    gershgorin_bound,
)
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.parts.lockstep import completed
from linforest_precond.records.forest import magnitudes_of

DOMINANCE = host.multigrid.strength.DOMINANCE


class RankLevelMatrix(LevelMatrix):
    """A partitioned matrix and its properties, each computed once.

    All ranks make it together, and first read `largest_eigenvalue` together. `csr` has the own rows, with the
    columns of `Matrix.rows`.
    """

    def __init__(self, A: Matrix, finest: LevelMatrix | None = None):
        super().__init__(csr_of_rows(A), finest)
        self.A, self.comm, self.ops = A, A.comm, RankVectorOps(A.halo, A.offsets, A.backend)
        # Not cached properties: before Python 3.12 these lock the class, and ranks as threads would deadlock.
        self._facts = facts_of_ranks(self) if finest is None else finest.facts
        self._entries = A.comm.total(A.rows.nnz)
        self._largest_eigenvalue: float | None = None

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def entries(self) -> int:
        """Of all ranks."""
        return self._entries

    @property
    def facts(self) -> RowFacts:
        return self._facts

    @property
    def largest_eigenvalue(self) -> float:
        if self._largest_eigenvalue is None:
            self._largest_eigenvalue = self._estimated_eigenvalue()
        return self._largest_eigenvalue

    def estimated_eigenvalue(self, apply: ApplyInto, definite: bool, dtype: DType) -> float:
        """The largest eigenvalue of M A for the product with M, which works in this precision: collective."""
        csr, local = self.csr, self.backend.multigrid.vector_ops
        data = csr.data.astype(dtype, copy=False)
        steps = eigenvalue_from(
            local.pseudorandom_vector(csr.n, dtype, self.A.first),
            local.Matrix(csr.indptr, csr.indices, data, csr.longest_row),
            apply,
            definite,
            self.ops.DotProducts(dtype, 2 * STEPS),
        )
        return completed(steps)

    def _estimated_eigenvalue(self) -> float:
        csr, ops, weights = self.csr, self.ops, self.inverse_diagonal
        estimate = self.estimated_eigenvalue(
            lambda r, z: ops.scale(weights, 1.0, r, z), self.definite, csr.data.dtype
        )
        bound = gershgorin_bound(csr, self.row_magnitudes) if csr.n else 0.0
        return min(estimate, self.comm.largest(bound)) or 1.0

    def holds_in_all_rows(self, flags: Array) -> bool:
        """Collective."""
        return self.comm.all(flags.all())

    def has_one_sign(self) -> bool:
        """Whether all diagonal entries are positive, or none is: collective."""
        return self.comm.total(np.count_nonzero(self.csr.diagonal.real > 0)) in (0, self.n)

    def coarse(self, A: Matrix) -> RankLevelMatrix:
        """The matrix of the next level, from the Galerkin product."""
        if self.hermitian:
            A = with_values(A, mirrored_upper(A))
        return RankLevelMatrix(A, self.finest)

    def gathered(self) -> LevelMatrix:
        """The whole matrix, on every rank."""
        return LevelMatrix(described(*gathered_rows(self.A)), self.finest)


def gathered_rows(A: Matrix) -> tuple[Array, Array, Array]:
    """The CSR arrays of the whole matrix."""
    parts = A.comm.allgather((np.diff(A.rows.indptr), A.columns[A.rows.indices], A.rows.data.copy()))
    lengths, columns, data = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    index = index_dtype(max(columns.size, A.shape[0]))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return indptr.astype(index), columns.astype(index), data


def facts_of_ranks(matrix: RankLevelMatrix) -> RowFacts:
    """The row facts of all ranks, as `row_facts` on one rank."""
    csr, comm = matrix.csr, matrix.comm
    tolerance = ZERO_SUM * float(np.finfo(csr.data.dtype).eps)
    sizes, sums = matrix.backend.multigrid.strength.row_sums(csr)
    own = magnitudes_of(csr.diagonal).astype(np.float64)
    flags = csr.diagonal.real <= 0, sums > tolerance * sizes, DOMINANCE * own >= sizes - own
    not_positive, not_centered, dominant = comm.totals(*map(np.count_nonzero, flags))
    with np.errstate(over="ignore"):  # of zeros on the diagonal
        ratios = tree_sum(comm, sizes / np.maximum(own, np.finfo(csr.data.dtype).tiny))
    return RowFacts(
        hermitian=is_hermitian(matrix.A),
        positive=not not_positive,
        centered=not not_centered,
        dominant_share=dominant / max(matrix.n, 1),
        mean_ratio=ratios / max(matrix.n, 1),
        smallest_diagonal=float(comm.allreduce(own.min(initial=np.inf), "min")),
        largest_diagonal=comm.largest(own.max(initial=0.0)),
    )
