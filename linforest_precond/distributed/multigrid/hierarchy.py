"""The hierarchy over ranks, with PyAMG's interface on a rank's own parts of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.distributed.partition import krylov
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner
from linforest_precond.precond.multigrid.hierarchy import ACCELERATORS as OF_ONE_RANK
from linforest_precond.precond.multigrid.hierarchy import LevelsInterface, accelerator, residual_norms
from linforest_precond.records.printing import Printout
from linforest_precond.solvers.history import History

ACCELERATORS = tuple(name for name in OF_ONE_RANK if name != "idrs")


class RankHierarchy(LevelsInterface):
    """An algebraic multigrid hierarchy over ranks, made by `linforest_precond.distributed.multilevel`.

    Its methods are called by all ranks together. Vectors are a rank's own parts.

    Attributes
    ----------
    aggregates : list of arrays
        Of each level over ranks but the last: the aggregate of each own unknown, a global number; -1 for
        those that smoothed aggregation leaves to the smoother.
    unknowns, entries : list of int
        Of all levels, those of all ranks.
    cycle : str
        The default of `solve` and `aspreconditioner`.
    stalled : bool
        Whether coarsening ended because too few unknowns were coupled strongly.
    dtype, shape
        Of the whole matrix.
    """

    _operator: RankPreconditioner

    def __init__(self, A: Matrix, operator: RankPreconditioner):
        self._A, self._operator = A, operator

    shape = property(lambda self: self._A.shape)
    aggregates = property(lambda self: [each.aggregates.numbers for each in self._part.coarsenings])
    unknowns = property(lambda self: [level.unknowns for level in self._all_levels.levels])
    entries = property(lambda self: [level.entries for level in self._all_levels.levels])
    _all_levels = property(lambda self: self._part.part)

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
            as_choice("accel", accel, ACCELERATORS)
        name = accelerator(self._operator._applied, self._checked_cycle(cycle)) if accel == "auto" else accel
        history = History()
        x, info = getattr(krylov, name)(
            self._A, b, x0, rtol=tol, maxiter=maxiter, M=M, callback=callback, history=history
        )
        with self._A.comm.together():  # on all ranks, even if `residuals` is given on one only
            xp = self._A.backend.xp
            columns = xp.atleast_2d(xp.asarray(b).T)
            norms = np.sqrt([abs(self._A.inner(column, column)) for column in columns])
        if residuals is not None:
            residuals[:] = residual_norms(history, norms)
        return (x, info) if return_info else x

    @without_numpy_warnings
    def update(self, A: Matrix) -> Self:
        """Take the values of another matrix of the same partition and pattern; aggregates stay.

        Only Galerkin products, smoothers and the coarsest inverse are computed. Operators from
        `aspreconditioner` keep their values.
        """
        self._operator.update(A)
        self._A = A
        return self

    def _printout(self) -> Printout:
        return Printout.of(self._part.name, *self._operator._applied.part.details())
