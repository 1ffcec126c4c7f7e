"""The Python context of a PETSc PC, for ``-pc_type python``."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from linforest_precond.backends import backend_named, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.matrix import csr_on
from linforest_precond.distributed.partition.mpi import MPICommunicator
from linforest_precond.distributed.petsc.library import end_job_on_uncaught_error, petsc_module
from linforest_precond.distributed.petsc.matrices import (
    SharedVector,
    as_distributed,
    diagonal_block,
    near_null_space,
    on_gpu,
    rows_of,
    with_rows,
)
from linforest_precond.distributed.petsc.options import STEM, PCSettings, from_database
from linforest_precond.matrix.pattern_digest import PatternDigest, pattern_digest
from linforest_precond.precond.parts.number_types import held_bytes

# An updated preconditioner is kept as long as solves take at most this many iterations.
LEAST_STALE = 10


class PC:
    """A preconditioner of this package inside PETSc: ``-pc_type python``.

    With ``-pc_python_type linforest_precond.petsc.PC``, options come from PETSc's database:
    ``-pc_linforest_kind``, ``-pc_linforest_seed`` and so on, after the prefix of the PC. An instance can also
    be given to `setPythonContext` of a PC; options of the database replace its own.

    Parameters
    ----------
    kind : str
        The function of `linforest_precond` that sets it up: "tridiagonal", "multilevel", "ilu" and so on.
    scope : {"local", "global"}
        Of a parallel matrix, take the block of each rank, or the whole matrix
        (`linforest_precond.distributed`): then iterations do not depend on the number of ranks.
    update : bool
        Whether a matrix with new values and the old pattern updates the preconditioner. Otherwise it is set
        up anew, as it is after a solve with more than twice the iterations of the first solve after a setup.
    **arguments
        Those of the function. "multilevel" takes the near-null space and the block size that the matrix has,
        unless these are given.

    Examples
    --------
    >>> from petsc4py import PETSc  # doctest: +SKIP
    >>> pc = PETSc.PC().create()  # doctest: +SKIP
    >>> pc.setType("python")  # doctest: +SKIP
    >>> pc.setPythonContext(PC(kind="block_tridiagonal", seed=1))  # doctest: +SKIP
    """

    def __init__(self, **arguments: Any):
        petsc_module()
        self._given = self._settings = PCSettings.of(arguments)
        self._comm: Communicator | None = None
        self._forget()
        end_job_on_uncaught_error()

    def _forget(self) -> None:
        self._made: Any = None
        self._operator: Any = None
        self._pattern: PatternDigest | None = None
        self._gpu, self._flops = False, 0.0
        # Iterations of the first solve after a setup, and whether a later solve took more than twice as many.
        self._iterations: int | None = None
        self._stale = False

    def setFromOptions(self, pc: Any) -> None:  # noqa: N802  the names are PETSc's
        """Read the database; with -help, print the options of the kind."""
        prefix = pc.getOptionsPrefix() or ""
        settings = from_database(prefix, self._given)
        if petsc_module().Options().hasName("help"):
            petsc_module().Sys.Print("\n".join(settings.help(prefix)), comm=pc.getComm())
        if settings != self._settings:
            self._settings = settings
            self._forget()

    def setUp(self, pc: Any) -> None:  # noqa: N802
        """Set up for the matrix, or update where only its values are new."""
        P = pc.getOperators()[1]
        if pc.getComm().size > 1 or self._settings.scope == "global":
            self._agree(pc)
        with with_rows(P) as readable:
            if self._settings.scope == "global":
                self._set_up_all(P, readable, self._comm)
            else:
                with contextlib.nullcontext() if self._comm is None else self._comm.checking():
                    self._set_up_block(P, readable)

    def _agree(self, pc: Any) -> None:
        """Refuse options that differ between ranks."""
        if self._comm is None:
            self._comm = MPICommunicator.of(pc.getComm())
        stem = f"-{pc.getOptionsPrefix() or ''}{STEM}"
        agreed = self._settings.agreed
        self._comm.same("the options of PC", {stem + name: value for name, value in agreed.items()})

    def _set_up_block(self, P: Any, readable: Any) -> None:
        A = diagonal_block(readable)
        pattern = pattern_digest(A)
        self._gpu = on_gpu(P)
        if self._gpu:
            A = csr_on(backend_named("cuda"), (A.data, A.indices, A.indptr), A.shape)
        self._make_or_update(P, A, pattern, self._is_known(pattern))

    def _set_up_all(self, P: Any, readable: Any, comm: Any) -> None:
        with comm.checking():
            rows = rows_of(readable)
            pattern = pattern_digest(rows)
        with comm.together():
            known = comm.all(self._is_known(pattern))
        self._make_or_update(P, as_distributed(rows, P, comm), pattern, known)

    def _is_known(self, pattern: PatternDigest) -> bool:
        old = self._pattern
        return old is not None and (old.shape, old.words) == (pattern.shape, pattern.words)

    def _make_or_update(self, P: Any, A: Any, pattern: PatternDigest, known: bool) -> None:
        if known and self._settings.update and not self._stale:
            self._made.update(A)
        else:
            self._made = self._settings.make(A, **self._told_by(P))
            self._iterations, self._stale = None, False
        self._pattern = pattern
        # An update of a hierarchy does not change its preconditioners.
        self._operator = (
            self._made.aspreconditioner() if hasattr(self._made, "aspreconditioner") else self._made
        )
        self._flops = flops_of(self._operator._part)

    def postSolve(self, pc: Any, ksp: Any, b: Any, x: Any) -> None:  # noqa: N802
        """Set up anew for the next matrix where updates have doubled the iterations."""
        iterations = ksp.getIterationNumber()
        if self._iterations is None:
            self._iterations = iterations
        elif iterations > max(2 * self._iterations, LEAST_STALE) and not self._stale:
            self._stale = True
            petsc_module().Sys.Print(
                f"linforest {self._settings.kind}: {iterations} iterations, {self._iterations} after the last"
                " setup; set up anew for the next matrix",
                comm=pc.getComm(),
            )

    def _told_by(self, P: Any) -> dict[str, Any]:
        """Properties of a matrix that multigrid uses; none where scaling changes the unknowns."""
        if self._settings.kind != "multilevel" or self._settings.arguments.get("scaling") is not None:
            return {}
        size = P.getBlockSize()
        return {"B": near_null_space(P), "block_size": size if size > 1 else None}

    def apply(self, pc: Any, x: Any, y: Any) -> None:
        """y = M x."""
        self._apply(self._operator, x, y)
        petsc_module().Log.logFlops(self._flops)

    def applyTranspose(self, pc: Any, x: Any, y: Any) -> None:  # noqa: N802
        """y = M^T x."""
        self._apply(self._operator.T, x, y)
        petsc_module().Log.logFlops(self._flops)

    def _apply(self, M: Any, x: Any, y: Any) -> None:
        if self._gpu:
            apply_on_gpu(M, x, y)
        else:
            y.setArray(M @ writable(x.getArray(readonly=True)))

    def matApply(self, pc: Any, X: Any, Y: Any) -> None:  # noqa: N802
        """Y = M X, for the columns of a dense matrix."""
        columns = writable(X.getDenseArray(readonly=True))
        own = backend_named("cuda" if self._gpu else "cpu").xp.asarray(columns)
        Y.getDenseArray()[...] = on_host(self._operator @ own)  # stall: dense matrices of the host
        petsc_module().Log.logFlops(self._flops * columns.shape[1])

    def view(self, pc: Any, viewer: Any) -> None:
        """Print the preconditioner."""
        if viewer.getType() == "ascii":
            for line in self._lines(pc):
                viewer.printfASCII(f"{line}\n")

    def _lines(self, pc: Any) -> list[str]:
        if self._made is None:
            return [f"  linforest {self._settings.kind}, {self._settings.scope}: not set up"]
        where = "one for all ranks" if self._settings.scope == "global" else "for this block"
        if pc.getComm().size > 1 and self._settings.scope == "local":
            where = "one for the block of each rank; that of rank 0:"
        gpu = ["  vectors stay on the GPU; the matrix is copied through the host in each setup"] * self._gpu
        return [f"  linforest: {where}", *gpu, *(f"  {line}" for line in str(self._made).splitlines())]

    def reset(self, pc: Any) -> None:
        """Free what belongs to the matrix."""
        self._forget()

    def destroy(self, pc: Any) -> None:
        """Free everything."""
        self._forget()
        if isinstance(self._comm, MPICommunicator):
            self._comm.free()
        self._comm = None


def writable(array: Array) -> Array:
    """A copy in C order: PETSc locks what it passes, and compiled kernels take writable arrays."""
    return np.array(array, order="C")


def apply_on_gpu(M: Any, x: Any, y: Any) -> None:
    """The product with a vector on the GPU; PETSc and CuPy may use different streams."""
    import cupy

    given = cupy.from_dlpack(SharedVector(x, "r"))
    streams = backend_of(given).runtime.streams
    streams.finish_all()  # stall: x may come from a stream of PETSc
    cupy.from_dlpack(SharedVector(y, "w"))[...] = M @ given
    streams.finish()  # stall: PETSc may go on with y on another stream


def flops_of(part: Any) -> float:
    """The operations of one product on this rank, for ``-log_view``: two for each number that it reads.

    On levels of multigrid, of the matrix in each step of a smoother and in the residual, and of both
    transfers; a W-cycle visits each level twice as often as the one above, and K-cycles count as these.
    """
    part = getattr(part, "inner", part)  # of scaled matrices
    if hasattr(part, "levels"):
        levels = part.levels if part.coarsest is None else part.levels[:-1]
        visits = [1 if part.cycle in "VF" else 2**i for i in range(len(part.levels))]
        coarsest = 2.0 * visits[-1] * held_bytes(part.coarsest) / part.stored.itemsize
        return coarsest + sum(
            count * _flops_of_level(level, part.options) for count, level in zip(visits, levels)
        )
    if part.bands is not None:
        return 2.0 * sum(band.size for band in (part.bands.lower, part.bands.diagonal, part.bands.upper))
    if part.kind in ("jacobi", "block_jacobi"):
        return 2.0 * part.inverse.size
    entry = part.stored.itemsize + np.dtype(np.int32).itemsize
    return 2.0 * part.nbytes / entry  # of sparse factors, with their indices


def _flops_of_level(level: Any, options: Any) -> float:
    steps = len(getattr(level.smoother, "steps", (0,))) * (options.presmooth + options.postsmooth)
    transfers = sum(values.size for values in getattr(level.transfer, "values", ()))
    return 2.0 * (level.csr.data.size * max(steps, 1) + transfers)
