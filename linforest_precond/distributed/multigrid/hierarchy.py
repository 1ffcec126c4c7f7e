"""The hierarchy over ranks, with PyAMG's interface on a rank's own parts of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.distributed import krylov
from linforest_precond.distributed.matrix import Matrix
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.level_setup import RankPart
from linforest_precond.distributed.multigrid.matrix_range import scaled_into_range
from linforest_precond.matrix.value_range import shift
from linforest_precond.precond.multigrid.multigrid_cycle import check_cycle
from linforest_precond.precond.number_types import result_dtype
from linforest_precond.records.forest import ratio_to_finest
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.solvers.history import History

ACCELERATORS = "auto", "cg", "fcg", "bicgstab", "minres", "gmres", "fgmres"


class RankCycle(Printed, LinearOperator):  # type: ignore[misc]
    """One cycle as a preconditioner of a rank's own parts of vectors; all ranks apply it together.

    ``M.T`` and ``M.H`` are cycles of the transposed hierarchy with pre- and postsmoothing exchanged, as on
    one rank. Where the cycle is not its own adjoint, the first product with one of them transposes the
    matrices of all levels, unless they are real and symmetric, and keeps them.

    Attributes
    ----------
    shape : tuple of int
        Own rows, twice.
    dtype
        A's.
    global_rows : int
        Rows of the whole matrix.
    """

    def __init__(
        self, part: RankPart, exponent: int, dtype: DType, transpose: bool = False, conjugate: bool = False
    ):
        rows = part.finest.csr.n
        super().__init__(dtype, (rows, rows))
        self.part, self.exponent, self.global_rows = part, exponent, part.finest.n
        self.flags = transpose, conjugate

    def _matmat(self, R: Array) -> Array:
        dtype = result_dtype(self.dtype, R.dtype)
        if dtype.kind == "c" and self.dtype.kind != "c":  # the parts of a complex R are columns of their own
            x = self._matmat(np.concatenate([R.real, R.imag], axis=1))
            return x[:, : R.shape[1]] + 1j * x[:, R.shape[1] :]
        transpose, conjugate = self.flags
        with self.part.finest.comm.together():
            x = np.empty(R.shape, dtype)
            b = np.ascontiguousarray(R, dtype)
            self.part.solve_into(b.conj() if conjugate else b, x, transpose)
            if self.exponent:
                shift(x, -self.exponent)
            return x.conj() if conjugate else x

    def _matvec(self, r: Array) -> Array:
        return self._matmat(r.reshape(-1, 1)).reshape(r.shape)

    def _transpose(self) -> RankCycle:
        return self._view(not self.flags[0], self.flags[1])

    def _adjoint(self) -> RankCycle:
        return self._view(not self.flags[0], not self.flags[1])

    def _view(self, transpose: bool, conjugate: bool) -> RankCycle:
        """The transpose, adjoint or conjugate; of a Hermitian cycle the transpose is the conjugate."""
        if transpose and self.part.part.is_self_adjoint:
            transpose, conjugate = False, not conjugate
        flags = transpose, conjugate and self.dtype.kind == "c"
        return self if flags == self.flags else RankCycle(self.part, self.exponent, self.dtype, *flags)

    def _printout(self) -> Printout:
        part = self.part.part
        return Printout.of(f"{part.name}, over {self.part.finest.comm.size} ranks", *described(self.part))


class RankHierarchy(Printed):
    """An algebraic multigrid hierarchy over ranks, made by `linforest_precond.distributed.multilevel`.

    Its methods are called by all ranks together. Vectors are a rank's own parts.

    Attributes
    ----------
    aggregates : list of arrays
        Of each level over ranks but the last: the aggregate of each own unknown, a global number.
    unknowns, entries : list of int
        Of all levels, those of all ranks.
    cycle : str
        The default of `solve` and `aspreconditioner`.
    stalled : bool
        Whether coarsening ended because too few unknowns were coupled strongly.
    dtype, shape
        Of the whole matrix.
    """

    def __init__(self, A: Matrix, part: RankPart, exponent: int):
        self._A, self._part, self._exponent = A, part, exponent

    cycle = property(lambda self: self._part.part.cycle)
    stalled = property(lambda self: self._part.part.stalled)
    shape = property(lambda self: self._A.shape)
    dtype = property(lambda self: self._A.dtype)
    aggregates = property(lambda self: [each.numbers for each in self._part.aggregates])
    unknowns = property(lambda self: [level.unknowns for level in self._part.part.levels])
    entries = property(lambda self: [level.entries for level in self._part.part.levels])

    def aspreconditioner(self, cycle: str | None = None) -> RankCycle:
        """One cycle as a preconditioner: ``M=`` of `cg`, and of `fcg` for F- and K-cycles.

        Parameters
        ----------
        cycle : {"V", "W", "F", "K"}, optional
            The hierarchy's own by default.

        Returns
        -------
        RankCycle
            A LinearOperator on own parts of vectors. It keeps its values when the hierarchy is updated.
        """
        cycle = self.cycle if cycle is None else cycle
        check_cycle(cycle)
        return RankCycle(self._part.with_cycle(cycle), self._exponent, self.dtype)

    def solve(
        self,
        b: Array,
        x0: Array | None = None,
        tol: float = 1e-5,
        maxiter: int = 100,
        cycle: str | None = None,
        accel: str = "auto",
        callback: Callable[[Array], Any] | None = None,
        residuals: list[float] | None = None,
        return_info: bool = False,
    ) -> Any:
        """Solve A x = b, with the signature of PyAMG's hierarchies.

        Parameters
        ----------
        b : (own rows,) or (own rows, k) array
            This rank's part of the right-hand side.
        x0 : array, optional
            Its part of the initial guess, 0 by default.
        tol, maxiter, cycle, callback, residuals, return_info
            As in `linforest_precond.multilevel`'s hierarchies; the callback gets this rank's part of x.
        accel : {"auto", "cg", "fcg", "bicgstab", "minres", "gmres", "fgmres"}
            The Krylov method that a cycle preconditions. "auto" is "cg" for a Hermitian matrix with a
            positive diagonal, "fcg" for its F- and K-cycles, and "bicgstab" for other matrices.

        Returns
        -------
        x, or (x, info)
            This rank's part.

        Examples
        --------
        >>> import numpy as np
        >>> import linforest_precond as lf
        >>> from linforest_precond.distributed import multilevel, scatter, simulate
        >>> A = lf.matrices.poisson((60, 60))
        >>> def solve(comm):
        ...     return multilevel(scatter(A, comm)).solve(np.ones(1200), tol=1e-8)
        >>> x = np.concatenate(simulate(3, solve))
        >>> bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 60)
        True
        """
        with self._A.comm.checking():
            M = self.aspreconditioner(cycle)
            if accel not in ACCELERATORS:
                raise ValueError(f"accel must be one of {', '.join(map(repr, ACCELERATORS))}, got {accel!r}")
        name = self._part.part.accelerator(M.part.part.cycle) if accel == "auto" else accel
        history = History()
        x, info = getattr(krylov, name)(
            self._A, b, x0, rtol=tol, maxiter=maxiter, M=M, callback=callback, history=history
        )
        with self._A.comm.together():
            norms = self._norms(history, b)  # by all ranks, even if one of them alone asks for it
        if residuals is not None:
            residuals[:] = norms
        return (x, info) if return_info else x

    def _norms(self, history: History, b: Array) -> list[float]:
        """The norms of all residuals; several columns count as one vector."""
        columns = np.atleast_2d(np.asarray(b).T)
        norms = np.sqrt([abs(self._A.inner(column, column)) for column in columns])
        values = history.residuals.reshape(len(history), -1) * np.where(norms == 0, 1, norms)
        return np.sqrt((np.nan_to_num(values) ** 2).sum(axis=1)).tolist()

    @without_numpy_warnings
    def update(self, A: Matrix) -> None:
        """Take the values of another matrix of the same partition and pattern; aggregates stay.

        Only Galerkin products, smoothers and the coarsest inverse are computed. Operators from
        `aspreconditioner` keep their values.
        """
        old = self._A
        with old.comm.checking():
            check_same_pattern(A, old)
        with old.comm.together():
            scaled, exponent = scaled_into_range(A, self._part.part.stored)
            self._part, self._exponent = self._part.refreshed(RankLevelMatrix(scaled)), exponent
            self._A = A

    def operator_complexity(self) -> float:
        """Stored entries of all levels divided by those of the finest."""
        return ratio_to_finest(self.entries)

    def grid_complexity(self) -> float:
        """Unknowns of all levels divided by those of the finest."""
        return ratio_to_finest(self.unknowns)

    def _printout(self) -> Printout:
        return self.aspreconditioner()._printout()


def check_same_pattern(A: Any, old: Matrix) -> None:
    """Refuse a matrix of another partition, pattern or type."""
    if not isinstance(A, Matrix):
        raise TypeError(
            f"A must be a distributed.Matrix, got {type(A).__name__}; distributed.scatter makes one"
        )
    same = A.dtype == old.dtype and all(
        np.array_equal(new, known)
        for new, known in (
            (A.offsets, old.offsets), (A.ghosts, old.ghosts),
            (A.rows.indptr, old.rows.indptr), (A.rows.indices, old.rows.indices),
        )
    )  # fmt: skip
    if not same:
        raise ValueError("A must have the partition, the pattern and the dtype of the matrix before")


def described(part: RankPart) -> list[tuple[str, str]]:
    """What `print` shows: the levels of one rank, and where they are."""
    over_ranks = (
        0 if part.is_gathered else len(part.part.levels) - len(part.gathered.levels if part.gathered else ())
    )
    where = "over ranks" if part.gathered is None else "on every rank"
    if part.gathered is not None and over_ranks:
        where = f"the first {over_ranks} over ranks, the others on every rank"
    return [*part.part.described(), ("levels", where)]
