"""Scaled and permuted matrices over ranks: B = P D_r A D_c.

The entries of A are gathered on rank 0, which finds the scaling of one process, and sends every rank its
part. So B has the bits of one process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.entries import entry_rows, matrix_of_entries
from linforest_precond.distributed.partition.matrix import Matrix, scaled_into_range, with_values
from linforest_precond.distributed.partition.owners import send_to, send_to_owners
from linforest_precond.distributed.partition.redistribution import Redistribution, redistribution
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.precond.parts.number_types import held_bytes
from linforest_precond.precond.scaling.matrix_scaling import METHODS, MatrixScaling
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.scaling.scaling import scaling_of

# The most entries that rank 0 gathers. In double precision they take 0.6 GB there, and a few times as much
# while they are matched; matrices with more need a scaling by their application.
MOST_GATHERED = 50_000_000

Make = Callable[[Matrix], tuple[Any, int]]


@dataclass(frozen=True, eq=False)
class RankScaling:
    """This rank's part of a `MatrixScaling`.

    Attributes
    ----------
    row, column
        Factors of the own rows and columns.
    places, move
        The row of B that each own row of A becomes, and the exchange of vectors that moves them there; None
        for A's own order.
    """

    row: Array
    column: Array
    places: Array | None
    move: Redistribution | None
    is_symmetric: bool
    words: str

    @classmethod
    def of(cls, A: Matrix, method: str) -> RankScaling | None:
        """The scaling that `scaling_of` finds, None where it finds none: collective."""
        comm = A.comm
        whole = _gathered(A)
        with comm.checking():
            found = None if whole is None else scaling_of(whole, method, symmetric=True)
        told = None if found is None else (found.permutation is not None, found.is_symmetric, found.summary())
        (told,) = comm.allgather(told)[:1]
        if told is None:
            return None
        is_permuted, is_symmetric, words = told
        ids, factors, places = _columns_of(found)
        _, factors, places = send_to_owners(comm, A.offsets, ids, factors, places)
        row, column = np.ascontiguousarray(factors.T)
        if not is_permuted:
            return cls(row, column, None, None, is_symmetric, words)
        return cls(row, column, places, redistribution(comm, A.offsets, places), is_symmetric, words)

    def applied(self, A: Matrix) -> Matrix:
        """B of A on the host, with A's partition: collective."""
        rows = entry_rows(A)
        factors = self.row[rows] * A.halo.with_ghosts(self.column)[A.rows.indices]
        with np.errstate(over="ignore", under="ignore"):
            data = (A.rows.data * factors).astype(A.dtype, copy=False)
        if self.places is None:
            return with_values(A, data)
        columns = A.columns[A.rows.indices]
        return matrix_of_entries(A.comm, A.offsets, self.places[rows], columns, data)


def _gathered(A: Matrix) -> CheckedMatrix | None:
    """The whole matrix on rank 0, None on the others: collective."""
    comm, entries = A.comm, A.comm.total(A.rows.nnz)
    with comm.checking():
        if entries > MOST_GATHERED:
            raise ValueError(
                f"scaling over ranks gathers A on rank 0, which is for at most {MOST_GATHERED:,} entries, "
                f"got {entries:,}; scale the matrix in the application, or pass scaling=None"
            )
    (lengths,) = send_to(comm, np.zeros(A.n_local, np.int64), np.diff(A.rows.indptr))
    to_first = np.zeros(A.rows.nnz, np.int64)
    columns, data = send_to(comm, to_first, A.columns[A.rows.indices], A.rows.data)
    if comm.rank:
        return None
    index = index_dtype(max(entries, A.shape[0]))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    return described(indptr, columns.astype(index), data)


def _columns_of(found: MatrixScaling | None) -> tuple[Array, Array, Array]:
    """Ids, both factors, and places of all rows; none where nothing is known."""
    if found is None:
        return np.empty(0, np.int64), np.empty((0, 2)), np.empty(0, np.int64)
    ids = np.arange(found.n)
    places = ids.copy()
    if found.permutation is not None:
        places[found.permutation] = ids
    return ids, np.stack([found.row, found.column], axis=1), places


@dataclass(frozen=True, eq=False)
class RankScaledPart(ScaledPart):
    """The part of B between both scalings and the exchange of rows."""

    inner: Any
    scaling: Any  # a `RankScaling`, on the host
    _factors: tuple[Array, Array] = field(kw_only=True)  # of rows and columns, where vectors are

    @classmethod
    def of(cls, inner: Any, scaling: RankScaling) -> RankScaledPart:
        return cls(inner, scaling, _factors=(scaling.row, scaling.column))

    def on(self, backend: Backend) -> RankScaledPart:
        """The part for vectors on a backend."""
        row, column = (backend.xp.asarray(each) for each in (self.scaling.row, self.scaling.column))
        return replace(self, inner=self.inner.on(backend), _factors=(row, column))

    @property
    def positive_definite(self) -> bool:
        return self.scaling.is_symmetric and self.inner.positive_definite

    @property
    def nbytes(self) -> int:
        own = self.scaling
        return self.inner.nbytes + held_bytes(own.row, own.column, own.places)

    def refreshed(self, A: Any) -> Any:
        in_range, exponent = scaled_into_range(A, self.stored)
        inner, more = self.inner.refreshed(self.scaling.applied(in_range))
        return self.of(inner, self.scaling), exponent + more

    def with_cycle(self, cycle: str) -> RankScaledPart:
        """Of a hierarchy."""
        return replace(self, inner=self.inner.with_cycle(cycle))

    def details(self) -> list[tuple[str, str]]:
        return [("scaling", self.scaling.words), *self.inner.details()]

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        own, xp = self.scaling, xp_of(b)
        first, last = self._factors[::-1] if transpose else self._factors
        given = xp.empty_like(b)
        xp.multiply(b, first[:, None], out=given, casting="same_kind")
        if own.move is not None and not transpose:
            given = own.move.forward(given)
        self.inner.solve_into(given, x, transpose)
        if own.move is not None and transpose:
            x[...] = own.move.backward(x)
        xp.multiply(x, last[:, None], out=x, casting="same_kind")


def as_scaling(scaling: Any) -> str | None:
    """The name of a scaling, checked."""
    if scaling is None:
        return None
    return as_choice("scaling over ranks", scaling, ("auto", *METHODS))


def with_scaling(make: Make, method: str | None, stored: DType) -> Make:
    """`make` for the scaled matrix, between both scalings."""
    if method is None:
        return make

    def make_scaled(A: Matrix) -> tuple[Any, int]:
        in_range, exponent = scaled_into_range(A, stored)
        scaling = RankScaling.of(in_range, method)
        if scaling is None:
            part, more = make(in_range)
            return part, exponent + more
        part, more = make(scaling.applied(in_range))
        return RankScaledPart.of(part, scaling), exponent + more

    return make_scaled
