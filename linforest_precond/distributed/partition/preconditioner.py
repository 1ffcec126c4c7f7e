"""Preconditioners over ranks as LinearOperators on each rank's part of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, check_matrix
from linforest_precond.matrix.checked import rounding_in_words
from linforest_precond.matrix.pattern_digest import PatternDigest, pattern_digest
from linforest_precond.precond.parts.number_types import result_dtype
from linforest_precond.precond.parts.part import OperatorState, SetupTime
from linforest_precond.precond.preconditioner import Applied, Preconditioner
from linforest_precond.precond.products import operator_class


@dataclass(frozen=True, eq=False)
class RankPattern:
    """The partition of a matrix, and the pattern of a rank's rows."""

    offsets: Array
    ghosts: Array
    rows: PatternDigest

    @classmethod
    def of(cls, A: Matrix) -> RankPattern:
        return cls(A.offsets, A.ghosts, pattern_digest(A.rows))

    def require_same(self, other: RankPattern) -> None:
        """Raise a ValueError that names the difference, if there is one."""
        for name, what in (("offsets", "partition"), ("ghosts", "pattern")):
            if not np.array_equal(getattr(self, name), getattr(other, name)):
                raise ValueError(f"A must have the {what} of the matrix that the operator was made from")
        self.rows.require_same(other.rows)


class RankPreconditioner(Preconditioner):
    """An approximate inverse of a matrix over ranks: products take and give each rank's part of vectors.

    Made by `linforest_precond.distributed.tridiagonal`, `block_tridiagonal` and `jacobi`, and by the method
    `aspreconditioner` of a `RankHierarchy`. It is a LinearOperator of the shape (own rows, own rows).
    Products, transposed ones (``M.T``, ``M.H``) included, and `update` are collective: all ranks call them in
    the same order. Where the rows of A are on a GPU, the setup is on the host and products are on the GPU.
    `print` is not collective.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    global_rows : int
        Rows of the whole matrix.
    """

    comm: Communicator
    global_rows: int

    @property
    def forest(self) -> Any:
        return self._part.forest

    @property
    def capturable(self) -> bool:
        return False  # ranks wait for messages

    def update(self, A: Any) -> Self:  # type: ignore[override]  # there are no stacks over ranks
        """Take the values of another matrix of the same pattern and partition: collective.

        Parameters
        ----------
        A : Matrix
            The forest, and so the order of the rows, or the aggregates stay.

        Raises
        ------
        ValueError, TypeError
            On all ranks; the operator is then unchanged.
        """
        with self.comm.checking():
            check_matrix(A)
            pattern: Any = self._pattern
            pattern.require_same(RankPattern.of(A))
        old: Any = self._part
        with self.comm.together():
            self._applied, self._setup = _timed(A, old.refreshed)
        return self

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        """One product; also of no rows, since others may have some."""
        conjugate = conjugate and self._part.stored.kind == "c"
        result = result_dtype(self.dtype, r.dtype)
        columns = r.astype(result, copy=False).reshape(r.shape[0], 1 if r.ndim == 1 else r.shape[1])
        x: Array = xp_of(r).empty(columns.shape, result)
        self.apply_into(columns.conj() if conjugate else columns, x, transpose)
        return (x.conj() if conjugate else x).reshape(r.shape)

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        with self.comm.together():
            super().apply_into(b, x, transpose)

    def _with(self, applied: Applied) -> RankPreconditioner:
        operator: Any = super()._with(applied)
        operator.comm, operator.global_rows = self.comm, self.global_rows
        return operator

    def __reduce__(self) -> Any:
        raise TypeError("a preconditioner over ranks cannot be pickled: make it again from its matrix")

    @property
    def _rows(self) -> int:
        return self.global_rows

    def _held(self) -> list[tuple[str, str]]:
        return []


# Kinds and types of earlier setups in this process: the first setup of each compiles.
_seen: set[tuple[str, ...]] = set()
# Returns the part of A 2**-exponent on the host, and the exponent.
MakePart = Callable[[Matrix], tuple[Any, int]]


def set_up(A: Matrix, make: MakePart) -> RankPreconditioner:
    """The operator with the part that `make` gives for A: timed, collective."""
    with A.comm.together():
        (part, exponent, symmetry), time = _timed(A, make)
        types = part.name, A.backend.name, str(part.stored), str(A.dtype), str(A.rows.indices.dtype)
        time.first = types not in _seen
        _seen.add(types)
        pattern: Any = RankPattern.of(A)
        device = getattr(A.rows.data, "device", None)
        state = OperatorState(part, pattern, A.dtype, time, A.backend, device, exponent, symmetry)
        operator: Any = operator_class(RankPreconditioner, A.backend.linear_operators)(state)
        operator.comm, operator.global_rows = A.comm, A.shape[0]
        return operator


def _timed(A: Matrix, make: MakePart) -> tuple[Applied, SetupTime]:
    """The part of A, made exactly Hermitian where it is so to rounding, and the time of the setup.

    It is made on the host, and moved to where the rows of A are.
    """
    watch = A.backend.runtime.streams.Stopwatch()
    given = A.on(host)
    exact = without_rounding(given)
    part, exponent = make(exact)
    part = part.on(A.backend)
    watch.stop()
    symmetry = "" if exact.rows is given.rows else rounding_in_words(A.dtype)
    return Applied(part, exponent, symmetry), SetupTime(watch.milliseconds)
