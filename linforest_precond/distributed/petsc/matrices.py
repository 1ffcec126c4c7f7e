"""Conversion of PETSc's matrices and vectors to those of this package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond import distributed
from linforest_precond.backends import cuda_status
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.local_rows import check_finite
from linforest_precond.distributed.partition.mpi import communicator_of
from linforest_precond.distributed.petsc.library import petsc_module

# Parts of the names of matrix types whose vectors are on a GPU.
ON_GPU = "cusparse", "kokkos"
# Types without entries: PETSc would convert them by a product for each column.
MATRIX_FREE = "shell", "python", "mffd"


@contextlib.contextmanager
def with_rows(P: Any) -> Iterator[Any]:
    """P, or its conversion to AIJ where its rows cannot be read (symmetric storage, nests): collective.

    The conversion is destroyed afterwards: PETSc, not Python, holds its memory.
    """
    kind = P.getType()
    if kind in MATRIX_FREE:
        raise TypeError(
            f"P must have entries, got a matrix of the type {kind!r}: pass an assembled matrix, or an "
            "approximation of it, as the second one of setOperators"
        )
    if "aij" in kind and "sbaij" not in kind:
        yield P
        return
    converted = P.convert("aij", type(P)())
    try:
        yield converted
    finally:
        converted.destroy()


def rows_of(P: Any) -> sp.csr_array:
    """This rank's rows of a matrix of `with_rows`, with global columns."""
    world = petsc_module().COMM_WORLD
    alone = world.size > P.getComm().size == 1
    name = f"P, a matrix of rank {world.rank} alone," if alone else "P"
    return _finite_rows(P, name, (P.getOwnershipRange()[0], 0))


def diagonal_block(P: Any) -> sp.csr_array:
    """The square block of a matrix of `with_rows` that couples this rank's unknowns with each other."""
    if P.getComm().size == 1:
        return rows_of(P)
    first = P.getOwnershipRange()[0]
    return _finite_rows(P.getDiagonalBlock(), "P", (first, first))


def _finite_rows(P: Any, name: str, first: tuple[int, int]) -> sp.csr_array:
    """The rows of this rank, the first of which are at `first` in the matrix that a message names."""
    indptr, indices, data = P.getValuesCSR()
    check_finite(indptr, indices, data, name, first=first)
    (n, _), (_, width) = P.getSizes()
    return sp.csr_array((data, indices, indptr), shape=(n, width))


def distributed_matrix(P: Any, comm: Any = None) -> Any:
    """A parallel matrix of PETSc as a `linforest_precond.distributed.Matrix`.

    Parameters
    ----------
    P : petsc4py.PETSc.Mat
        Square, of a type whose rows can be read or that PETSc can convert to AIJ.
    comm : Communicator, optional
        The ranks of P, if a communicator for them exists already.

    Returns
    -------
    Matrix
        With P's rows on the ranks that own them.
    """
    comm = communicator_of(P.getComm() if comm is None else comm)
    with with_rows(P) as readable, comm.checking():
        rows = rows_of(readable)
    return as_distributed(rows, P, comm)


def as_distributed(rows: sp.csr_array, P: Any, comm: Communicator) -> Any:
    """The Matrix of this rank's rows, partitioned as P."""
    return distributed.Matrix(rows, comm=comm, offsets=np.asarray(P.getOwnershipRanges(), np.int64))


def on_gpu(P: Any) -> bool:
    """Whether vectors of a matrix are on a GPU that this package can use."""
    return any(name in P.getType() for name in ON_GPU) and cuda_status()[0]


def near_null_space(P: Any) -> Array | None:
    """The near-null space that is attached to a matrix: this rank's rows of its vectors."""
    space = P.getNearNullSpace()
    if not space.handle:
        return None
    columns = [vector.getArray(readonly=True) for vector in space.getVecs()]
    if space.hasConstant():
        columns.insert(0, np.ones(P.getLocalSize()[0], dtype=columns[0].dtype if columns else None))
    return np.stack(columns, axis=1)


class SharedVector:
    """A vector for `from_dlpack`, opened for reading ("r") or writing ("w")."""

    def __init__(self, vector: Any, mode: str):
        self.vector, self.mode = vector, mode

    def __dlpack__(self, **options: Any) -> Any:
        return self.vector.toDLPack(self.mode)

    def __dlpack_device__(self) -> Any:
        return self.vector.__dlpack_device__()
