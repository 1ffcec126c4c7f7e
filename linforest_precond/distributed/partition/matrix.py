"""A matrix whose rows are partitioned among ranks."""

from __future__ import annotations

import copy
import functools
import importlib
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from linforest_precond.backends import Backend, backend_named, backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import device_name, on_host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.exact_sums import inner
from linforest_precond.distributed.partition.halo import Halo, OwnRows
from linforest_precond.distributed.partition.local_rows import checked_rows
from linforest_precond.distributed.partition.mpi import communicator_of
from linforest_precond.distributed.partition.rank_entries import RankEntries
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.matrix.value_range import NO_EXPONENT, exponent_of, least_exponent_of, shifted
from linforest_precond.matrix.vectors import shaped_vectors
from linforest_precond.precond.scaling.number_range import exponent_down, safe_limit

Options = TypeVar("Options")


class Matrix(OwnRows):
    """A square sparse matrix whose rows are partitioned contiguously among ranks.

    Collective: all ranks call it, with their rows. No rank holds rows of another; of other ranks' columns, a
    rank knows those that its rows refer to (its ghosts).

    Parameters
    ----------
    local_rows : sparse matrix of SciPy or CuPy
        This rank's rows, n_local x n with global columns; there may be none. Integers become float64,
        duplicates are summed left to right as stored.
    comm : communicator, optional
        Of mpi4py, petsc4py or `simulate`; all ranks by default.
    offsets : (size + 1,) array of int, optional
        Rank r owns rows ``offsets[r]:offsets[r + 1]``; by default they follow from the numbers of rows.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    offsets : (size + 1,) array of int64
        The same on all ranks.
    shape, dtype
        Of the whole matrix.
    rows : csr_array
        This rank's rows, with the columns renumbered: first its own, then the ghosts. The entries of a row
        stay in the order of their global columns, so a sum over a row has one order for any number of ranks.
    ghosts : array of int64
        The global ids of the other columns, ascending.
    halo : Halo
        Exchanges values of the ghosts.

    Raises
    ------
    TypeError, ValueError
        On all ranks, for rows that are not valid on one, or that differ in type or width between ranks.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.distributed import Matrix, simulate
    >>> A = lf.matrices.poisson((4, 3))
    >>> def halves(comm):
    ...     return Matrix(A[6 * comm.rank : 6 * comm.rank + 6], comm).ghosts.tolist()
    >>> simulate(2, halves)
    [[6, 7, 8], [3, 4, 5]]
    """

    def __init__(self, local_rows: Any, comm: Any = None, offsets: Any = None) -> None:
        self.comm: Communicator = communicator_of(comm)
        with self.comm.checking():
            rows = checked_rows(local_rows)
            device = device_name(local_rows)
        with self.comm.together():
            self._take(rows, device, offsets)

    @classmethod
    def of_checked(cls, rows: RectangularCSR, comm: Communicator, device: str, offsets: Any) -> Matrix:
        """The matrix of checked rows, which are on the host."""
        found = cls.__new__(cls)
        found.comm = comm
        found._take(rows, device, offsets)
        return found

    def _take(self, rows: RectangularCSR, device: str, offsets: Any) -> None:
        """Agree with the other ranks on the whole matrix, and renumber the columns."""
        self.comm.same("the number of columns of A", rows.width)
        self.comm.same("the dtype of A", rows.data.dtype.name)
        self.comm.same("the device of A", device)
        self.offsets = agreed_offsets(self.comm, rows, offsets)
        self.shape = rows.width, rows.width
        self.dtype: DType = rows.data.dtype
        self.halo, local = Halo.numbering(self.comm, self.offsets, rows.indices)
        arrays = rows.data, local, rows.indptr.astype(local.dtype)
        self.rows = csr_on(backend_named(device), arrays, (self.n_local, self.halo.ids.size))

    def __repr__(self) -> str:
        rows = f"rows {self.first}:{self.first + self.n_local}"
        return (
            f"<distributed.Matrix {self.shape[0]} x {self.shape[1]}, {self.dtype}; rank {self.comm.rank} of "
            f"{self.comm.size}: {rows}, {self.rows.nnz} entries, {self.ghosts.size} ghosts>"
        )

    columns = OwnRows.ids

    @property
    def ghosts(self) -> Array:
        """The global ids of the columns that other ranks own, ascending."""
        return self.halo.ghosts

    @property
    def operator(self) -> Any:
        """A LinearOperator on this rank's parts of vectors, for Krylov solvers: n_local x n_local.

        Its attribute ``global_rows`` is the number of rows of the whole matrix, and ``rank_entries`` has the
        entries that verify residuals.
        """
        linalg = importlib.import_module(f"{self.backend.sparse.__name__}.linalg")
        shape = self.n_local, self.n_local
        found = linalg.LinearOperator(
            shape, self.matvec, self.rmatvec, self.matvec, dtype=self.dtype, rmatmat=self.rmatvec
        )
        found.global_rows, found.rank_entries = self.shape[0], self._rank_entries
        return found

    @functools.cached_property
    def _rank_entries(self) -> RankEntries:
        return RankEntries(self.backend, self.rows, self.halo, self.shape[0])

    @property
    def T(self) -> Any:  # noqa: N802
        """The transpose, as a LinearOperator on this rank's parts of vectors."""
        return self.operator.T

    @property
    def backend(self) -> Backend:
        """The backend of the own rows."""
        return backend_of(self.rows.data)

    def on(self, backend: Backend) -> Matrix:
        """The matrix with its rows on a backend: itself, or a copy, which remembers what it is a copy of."""
        if backend is self.backend:
            return self
        source: Matrix | None = self.__dict__.get("_source")
        if source is not None:
            return source
        # stall: setups are made on the host
        arrays = (on_host(part) for part in (self.rows.data, self.rows.indices, self.rows.indptr))
        found = with_rows(self, csr_on(backend, arrays, self.rows.shape))
        found.__dict__["_source"] = self
        return found

    @functools.cached_property
    def operand(self) -> Any:
        """The own rows, as the backend's vector operations take them."""
        rows = self.rows
        return self.backend.multigrid.vector_ops.Matrix(rows.indptr, rows.indices, rows.data, None)

    def diagonal(self) -> Array:
        """The diagonal entries of the own rows."""
        is_host = isinstance(self.rows.data, np.ndarray)
        return (self.rows if is_host else self.rows.copy()).diagonal()  # CuPy sorts in place

    def matvec(self, x: Array) -> Array:
        """The own rows times a vector, or several, of which each rank has its part.

        Each row is summed in the order of its global columns, so the bits do not depend on the partition.
        """
        with self.comm.together():
            x = shaped_vectors("x", x, self.n_local, self.backend)
            return self.backend.krylov.spmv.multiply_in_order(self.rows, self.halo.with_ghosts(x))

    __matmul__ = matvec

    def rmatvec(self, x: Array) -> Array:
        """The own part of the product of the conjugate transpose with a vector, or several."""
        with self.comm.together():
            x = shaped_vectors("x", x, self.n_local, self.backend)
            found = self._adjoint_rows @ x
            return self.halo.send_back(found[self.n_local :], "sum", into=found[: self.n_local])

    @functools.cached_property
    def _adjoint_rows(self) -> Any:
        """The conjugate transpose of the own rows; of a copy, because CuPy sorts entries in place."""
        return self.rows.copy().conj().T.tocsr()

    def inner(self, u: Array, v: Array) -> float | complex:
        """The inner product of two vectors with u conjugated; the bits do not depend on the partition.

        See `linforest_precond.distributed.inner`.
        """
        with self.comm.together():
            return inner(self.comm, u, v)


def check_matrix(A: Any) -> None:
    """Refuse what is not a matrix over ranks; without one there is no communicator, so each rank raises."""
    if not isinstance(A, Matrix):
        raise TypeError(
            f"A must be a distributed.Matrix, got {type(A).__name__}; distributed.scatter makes one"
        )


def csr_on(backend: Backend, arrays: Iterable[Array], shape: tuple[int, int]) -> Any:
    """The sparse matrix of a backend's library with these values, columns and row pointers."""
    csr = getattr(backend.sparse, "csr_array", None) or backend.sparse.csr_matrix
    return csr(tuple(backend.xp.asarray(array) for array in arrays), shape=shape)


def agreed_options(A: Matrix, check: Callable[[], Options]) -> Options:
    """The options that `check` returns, which must be the same on all ranks."""
    check_matrix(A)
    return A.comm.agreed("the options", check)


def csr_of_rows(A: Matrix) -> CheckedMatrix:
    """The record of own rows on the host; sums of weights are not computed."""
    indptr, indices, data = A.rows.indptr, A.rows.indices, A.rows.data
    return CheckedMatrix(
        indptr, indices, data, symmetric=False, total_weight=math.nan, adjacent_weight=math.nan,
        diagonal=A.diagonal(), longest_row=int(np.diff(indptr).max(initial=0)),
    )  # fmt: skip


def scaled_into_range(A: Matrix, stored: DType) -> tuple[Matrix, int]:
    """A 2**-exponent and the exponent: 0, and A itself, where its entries are in the safe range."""
    exponent = exponent_into_range(A, stored)
    if not exponent:
        return A, 0
    return with_values(A, shifted(A.rows.data, -exponent)), exponent


def with_values(A: Matrix, data: Array) -> Matrix:
    """The matrix of A's pattern with these values of the own rows."""
    return with_rows(A, type(A.rows)((data, A.rows.indices, A.rows.indptr), shape=A.rows.shape))


def with_rows(A: Matrix, rows: Any) -> Matrix:
    """The matrix with these own rows, whose columns are numbered as A's."""
    changed = copy.copy(A)
    for made_of_values in ("_adjoint_rows", "_rank_entries", "_weights", "_source", "operand"):
        changed.__dict__.pop(made_of_values, None)
    changed.rows = rows
    return changed


def exponent_into_range(A: Matrix, stored: DType) -> int:
    """The power of two that A is scaled down by, as `precond.scaling.number_range` has it: collective."""
    data, limit = A.rows.data, safe_limit(stored)
    largest = A.comm.largest(exponent_of(data))
    if -limit <= largest <= limit or largest == NO_EXPONENT:
        return 0
    own = least_exponent_of(data)
    least = int(A.comm.allreduce(-NO_EXPONENT if own == NO_EXPONENT else own, "min"))
    return exponent_down(largest, least, stored) if largest > limit else largest


def agreed_offsets(comm: Communicator, rows: RectangularCSR, offsets: Any = None) -> Array:
    """The first rows of all ranks, from their numbers of rows; refused where they do not fit the matrix."""
    found = comm.offsets(rows.n)
    with comm.checking():
        if found[-1] != rows.width:
            raise ValueError(
                f"A must be square: the ranks have {found[-1]} rows together, but {rows.width} columns"
            )
        if offsets is not None and np.asarray(offsets).tolist() != found.tolist():
            raise ValueError(
                f"offsets must be {found.tolist()} for these rows, got {np.asarray(offsets).tolist()}"
            )
    return found
