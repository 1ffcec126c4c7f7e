"""`Hierarchy` has the interface of PyAMG's multilevel solvers: levels, solve, aspreconditioner."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from linforest_precond import solvers
from linforest_precond.backends.annotations import Accelerator, Array
from linforest_precond.backends.arguments import as_choice, shown
from linforest_precond.backends.array_libraries import is_cupy, xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.conversion import sparse_like
from linforest_precond.matrix.value_range import shifted
from linforest_precond.matrix.vectors import norms_of
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.multigrid_cycle import CYCLES, twice_visited
from linforest_precond.precond.multigrid.multilevel_part import MultilevelPart
from linforest_precond.precond.multigrid.stationary_iteration import repeat_cycles
from linforest_precond.precond.multigrid.to_pyamg import pyamg_solver
from linforest_precond.precond.preconditioner import Applied, Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.records.forest import ratio_to_finest
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import handed_out

ACCELERATORS = "auto", "cg", "fcg", "bicgstab", "minres", "gmres", "fgmres", "idrs"
# Of linear operators.
OPERATOR_NAMES = "H", "T", "adjoint", "dot", "matmat", "rmatmat", "rmatvec", "transpose"
DENSE = "dense"  # the format of arrays


class HierarchyLevel(Printed):
    """A level for users: A, P and R, read-only on the CPU, and copies on the GPU; the last has only A."""

    def __init__(self, level: Any, like: Any, exponent: int, csr: CheckedMatrix | None = None):
        self._level, self._like, self._exponent = level, like, exponent
        self._csr = level.csr if csr is None else csr

    def _printout(self) -> Printout:
        sizes = ("unknowns", f"{self._level.unknowns:,}"), ("entries", f"{self._level.entries:,}")
        return Printout.of("level", *sizes, ("matrices", "A, P, R" if self._level.transfer else "A"))

    @cached_property
    def A(self) -> Any:  # noqa: N802
        csr = self._csr
        data = shifted(csr.data, self._exponent) if self._exponent else csr.data
        data, indices, indptr = map(handed_out, (data, csr.indices, csr.indptr))
        return sparse_like(self._like, data, indices, indptr, (csr.n, csr.n))

    @cached_property
    def P(self) -> Any:  # noqa: N802
        """The prolongator, from the next level to this one."""
        return self._transfer("P", "prolongator")

    @cached_property
    def R(self) -> Any:  # noqa: N802
        """The restriction, P's conjugate transpose."""
        return self._transfer("R", "restrictor")

    def _transfer(self, letter: str, name: str) -> Any:
        transfer = self._level.transfer
        if transfer is None:
            raise AttributeError(f"{letter}: the last level has no {name}")
        matrix = getattr(transfer, f"{name}_csr")(self._level.csr.data.dtype)
        indptr, indices, data = map(handed_out, matrix.arrays)
        # stall: other streams may use it as soon as it is cached
        matrix.backend.runtime.streams.finish()
        return sparse_like(self._like, data, indices, indptr, (matrix.n, matrix.width))


class LevelsInterface(Printed):
    """What hierarchies on one device and over ranks share, in terms of the part `_all_levels`."""

    _operator: Preconditioner
    _part = property(lambda self: part_of(self._operator._applied))
    _all_levels = _part
    shape = property(lambda self: self._operator.shape)
    dtype = property(lambda self: self._operator.dtype)
    cycle = property(lambda self: self._all_levels.cycle)
    stalled = property(lambda self: self._all_levels.stalled)

    def operator_complexity(self) -> float:
        """Stored entries of all levels divided by those of the finest."""
        return ratio_to_finest([level.entries for level in self._all_levels.levels])

    def grid_complexity(self) -> float:
        """Unknowns of all levels divided by those of the finest."""
        return ratio_to_finest([level.unknowns for level in self._all_levels.levels])

    def aspreconditioner(self, cycle: str | None = None) -> Preconditioner:
        """One cycle as a preconditioner: ``M=`` of `cg`, and of `fcg` for F- and K-cycles.

        Parameters
        ----------
        cycle : {"V", "W", "F", "K"}, optional
            The hierarchy's own by default. "F" is not symmetric where A is, and "K" is not linear.

        Returns
        -------
        Preconditioner
            A LinearOperator of A's library; over ranks, of each rank's part of vectors. It keeps the values
            it was made with when the hierarchy is updated.
        """
        return self._preconditioner(self._operator._applied, cycle)

    def _preconditioner(self, applied: Applied, cycle: str | None) -> Preconditioner:
        part: Any = applied.part
        return self._operator._with(applied._replace(part=part.with_cycle(self._checked_cycle(cycle))))

    def _checked_cycle(self, cycle: str | None) -> str:
        return self.cycle if cycle is None else as_choice("cycle", cycle, CYCLES)


class Hierarchy(LevelsInterface):
    """An algebraic multigrid hierarchy, made by `linforest_precond.multilevel`.

    Attributes
    ----------
    levels : list
        The finest first; ``levels[i].A``, and ``levels[i].P`` and ``levels[i].R`` on all but the last. Those
        of the scaled matrix, where A is scaled.
    cycle : str
        The default of `solve` and `aspreconditioner`.
    stalled : bool
        Whether coarsening ended because too few unknowns were coupled strongly.
    dtype, shape, nbytes, setup_time
        Of the operator; seconds.
    """

    def __init__(self, operator: Preconditioner, like: Any):
        self._operator = operator
        # A's class, or the name of a format; A itself is not kept.
        self._kind = like if isinstance(like, str) else type(like) if hasattr(like, "tocoo") else DENSE
        self._known_levels: tuple[Applied | None, list[HierarchyLevel]] = None, []

    nbytes = property(lambda self: self._operator.nbytes)
    setup_time = property(lambda self: self._operator.setup_time)

    @cached_property
    def _like(self) -> Any:
        """A 1 x 1 matrix or array; those of all levels are of its kind, sparse arrays for a dense A."""
        return _empty_like(self._kind, self._operator._backend)

    @property
    def levels(self) -> list[HierarchyLevel]:
        return self._levels_of(self._operator._applied)

    def _given_matrix(self, applied: Applied) -> Any:
        """A in the library and format of the user's matrix."""
        if scaling_in(applied) is None:
            return self._levels_of(applied)[0].A
        return HierarchyLevel(unscaled_level(applied), self._like, applied.exponent).A

    def _levels_of(self, applied: Applied) -> list[HierarchyLevel]:
        """The levels of a part, made once for the present one: an update may replace it at any time."""
        known, levels = self._known_levels
        if known is not applied:
            part = part_of(applied)
            coarse = [HierarchyLevel(level, self._like, applied.exponent) for level in part.levels[1:]]
            finest = HierarchyLevel(part.levels[0], self._like, applied.exponent, part.finest.csr)
            levels = [finest, *coarse]
            self._known_levels = applied, levels
        return levels

    def matvec(self, r: Any) -> Any:
        """One cycle, as `aspreconditioner` applies it: with it, solvers of SciPy and CuPy take ``M=ml``."""
        return self.aspreconditioner() @ r

    __matmul__ = matvec

    if not TYPE_CHECKING:  # type checkers would take any name

        def __getattr__(self, name: str) -> Any:
            if name in OPERATOR_NAMES:
                return getattr(self.aspreconditioner(), name)
            return object.__getattribute__(self, name)  # raises the error again

    @named_arguments
    def solve(
        self,
        b: Any,
        x0: Any = None,
        tol: float = 1e-5,
        maxiter: int = 100,
        cycle: str | None = None,
        accel: Accelerator | Callable[..., Any] | None = "auto",
        callback: Callable[[Array], Any] | None = None,
        residuals: list[float] | None = None,
        return_info: bool = False,
        *,
        rtol: float | None = None,
    ) -> Any:
        """Solve A x = b, with the signature of PyAMG's hierarchies.

        Parameters
        ----------
        b : (n,), (n, 1) or (n, k) array
            The right-hand side, on A's device.
        x0 : array, optional
            The initial guess, 0 by default.
        tol : float
            Converged when the residual's norm is at most ``tol * norm(b)``.
        maxiter : int
            Cycles at most, or iterations of `accel`.
        cycle : {"V", "W", "F", "K"}, optional
            The hierarchy's own by default.
        accel : str, function or None
            The Krylov method that a cycle preconditions: "cg", "fcg", "bicgstab", "minres", "gmres",
            "fgmres" or "idrs" of `linforest_precond.solvers`, or a function with their signature, which
            reports no residuals.
            "auto" is "cg" for a Hermitian matrix with a positive diagonal, "fcg" for its F- and K-cycles, and
            "bicgstab" for other matrices. None repeats cycles, as PyAMG does by default.
        callback : function, optional
            Called with x after each iteration.
        residuals : list, optional
            Is overwritten by the norms of all residuals, the initial one included.
        return_info : bool
            Also return the solver's info: 0 if converged, else the number of iterations. Cycles end early,
            with the last finite x, where a residual or x overflows.
        rtol : float, optional
            In place of `tol`: its name in the other solvers.

        Returns
        -------
        x, or (x, info)

        Examples
        --------
        >>> import numpy as np
        >>> import linforest_precond as lf
        >>> A = lf.matrices.poisson((60, 60))
        >>> ml = lf.multilevel(A)
        >>> residuals = []
        >>> x = ml.solve(np.ones(3600), tol=1e-8, residuals=residuals)
        >>> residuals[-1] <= 1e-8 * residuals[0]
        True
        """
        tol = tol if rtol is None else rtol
        if not isinstance(residuals, list | None):
            raise TypeError(f"residuals must be a list, which is overwritten, got {shown(residuals)}")
        applied = self._operator._applied  # read once: another thread may update the hierarchy meanwhile
        M = self._preconditioner(applied, cycle)
        if accel is None:
            cycles = self._preconditioner(Applied(applied.part, 0), cycle)  # of A 2**-exponent
            x, info, norms = repeat_cycles(
                unscaled_level(applied), applied.exponent, cycles, b, x0, tol, maxiter, callback
            )
        elif accel not in ACCELERATORS if isinstance(accel, str) else not callable(accel):
            names = ", ".join(f'"{name}"' for name in ACCELERATORS)
            raise ValueError(f"accel must be None, {names} or a function, got {shown(accel)}")
        else:
            history = solvers.History()
            options = {"x0": x0, "rtol": tol, "maxiter": maxiter, "M": M, "callback": callback}
            method: Any = accel
            A = self._given_matrix(applied)
            if isinstance(accel, str):
                if not applied.exponent:
                    A = unscaled_level(applied).csr  # which is checked
                name = accelerator(applied, self._checked_cycle(cycle)) if accel == "auto" else accel
                method, options["history"] = getattr(solvers, name), history
            x, info = method(A, b, **options)
            norms = self._norms(history, b)
        if residuals is not None:
            residuals[:] = norms
        return (x, info) if return_info else x

    def update(self, A: Any) -> Self:
        """Take the values of another matrix of the same pattern.

        As `Preconditioner.update`: aggregates, the couplings that count as strong, near-null space
        candidates, interpolation weights along paths and lines stay, so that only values are computed, on
        known patterns. For a matrix whose strong couplings are elsewhere a new setup converges faster.
        Preconditioners from `aspreconditioner` keep their values.

        Examples
        --------
        >>> import linforest_precond as lf
        >>> A = lf.matrices.poisson((60, 60))
        >>> ml = lf.multilevel(A)
        >>> ml.update(2 * A) is ml
        True
        """
        self._operator.update(A)
        return self

    def cycle_complexity(self, cycle: str | None = None) -> float:
        """Entries that a cycle multiplies, as PyAMG counts them, divided by those of the finest level."""
        kind = self._checked_cycle(cycle)
        entries = [level.csr.nnz for level in self._part.levels]
        last = len(entries) - 1
        twice = twice_visited(kind, last)

        def visits(i: int) -> int:
            return i + 1 if kind == "F" else 2 ** sum(level <= i for level in twice)

        work = sum(2 * visits(i) * nnz for i, nnz in enumerate(entries[:-1]))
        work += visits(max(last - 1, 0)) * entries[last]  # once per visit of the level above
        return work / max(entries[0], 1)

    def to_pyamg(self) -> Any:
        """The hierarchy as a `MultilevelSolver` of PyAMG, on the CPU.

        It has the smoothers of this hierarchy, and PyAMG's own cycles and coarsest solve.
        """
        return pyamg_solver(self)

    def __reduce__(self) -> Any:
        like = self._like
        if is_cupy(type(like)):  # it may be restored without a GPU
            like = getattr(like, "format", DENSE)
        return Hierarchy, (self._operator, like)

    def _printout(self) -> Printout:
        return self._operator._printout()

    def _norms(self, history: Any, b: Any) -> list[float]:
        xp = xp_of(b)
        if not len(history):  # a user's solver records nothing
            return []
        return residual_norms(history, norms_of(xp.asarray(b).reshape(self.shape[0], -1), None))


def residual_norms(history: Any, norms: Array) -> list[float]:
    """The norms of all residuals, for the norms of b's columns; several columns count as one vector."""
    values = history.residuals.reshape(len(history), -1) * np.where(norms == 0, 1, norms)
    return np.sqrt((np.nan_to_num(values) ** 2).sum(axis=1)).tolist()


def part_of(applied: Applied) -> MultilevelPart:
    """The levels, of the scaled matrix where A is scaled."""
    part = applied.part.inner if isinstance(applied.part, ScaledPart) else applied.part
    return cast(MultilevelPart, part)


def scaling_in(applied: Applied) -> MatrixScaling | None:
    return applied.part.scaling if isinstance(applied.part, ScaledPart) else None


def unscaled_level(applied: Applied) -> Level:
    """A 2**-exponent in its own precision, which a scaled matrix is scaled back to."""
    finest, scaling = part_of(applied).finest, scaling_in(applied)
    return finest if scaling is None else Level(scaling.inverted().applied(finest.csr), None)


def accelerator(applied: Applied, cycle: str) -> str:
    """The Krylov method that fits the matrix and a cycle; A need not be Hermitian where the scaled one is."""
    scaling = scaling_in(applied)
    fits = scaling is None or scaling.is_symmetric
    return part_of(applied).accelerator(cycle) if fits else "bicgstab"


def _empty_like(kind: Any, backend: Any) -> Any:
    """A 1 x 1 matrix of a class, or of the backend's kind with a format's name; or array."""
    if not isinstance(kind, str):
        return kind((1, 1))
    array = backend.xp.zeros((1, 1))
    arrays = array[0], backend.xp.zeros(1, np.int32), backend.xp.zeros(2, np.int32)
    return array if kind == DENSE else sparse_like(array, *arrays, (1, 1)).asformat(kind)
