"""`TridiagonalSolver` factors a scalar or block tridiagonal system once, for many right-hand sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linforest_precond.backends import is_on
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import device_name, refuse_masked_or_ragged, xp_of
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.backends.user_warnings import named_arguments, warn_user, without_numpy_warnings
from linforest_precond.interop.dlpack import native_array
from linforest_precond.matrix.checks import check_finite, value_dtype
from linforest_precond.precond.tridiagonal.elimination import Elimination, StartedFactorization
from linforest_precond.precond.tridiagonal.repair import Decision
from linforest_precond.precond.tridiagonal.segments import Triple, backend_of_bands
from linforest_precond.records.forest import Bands
from linforest_precond.records.printing import Printed, Printout

BLOCK_SIZES = (1, 2, 4)


class TridiagonalSolver(Printed):
    """A tridiagonal system, factored once.

    Elimination without pivoting (the Thomas algorithm) is used where it is stable: the matrix is diagonally
    dominant by rows or by columns, or Hermitian and positive definite, or no pivot becomes small relative to
    its row; and rounding errors do not grow in the sweeps. Other systems are solved with pivoting.

    A tiny pivot is perturbed to +-sqrt(eps) times its row's norm (to 1 in an empty row), with one warning:
    the system is singular, and a nearby one is solved. Where its solutions overflow, because they grow from
    row to row, +-sqrt(eps) times its row's norm is added to each diagonal entry of the segment; if that does
    not help, the segment's couplings are dropped.

    Parameters
    ----------
    lower, diagonal, upper : arrays of NumPy or CuPy
        ``lower[i]`` couples row i to row i - 1 and ``upper[i]`` couples it to row i + 1, all three of the
        length N (``lower[0]`` and ``upper[-1]`` are ignored); or `lower` and `upper` of the length N - 1, as
        LAPACK has them. Zeros split the system into independent segments.
    make_definite : bool
        Whether to make a Hermitian matrix with a positive diagonal positive definite where it is not: its
        couplings are then clipped to ``0.4995 * sqrt(a_ii * a_jj)``. For preconditioners.

    Attributes
    ----------
    n : int
        Number of rows.
    block_size : int
        Rows of a block, 1 here.
    dtype
        The precision of the factors.
    pivoted : bool
        Whether solves need pivoting.
    lifted : int
        Number of tiny pivots that were perturbed.
    regularized : int
        Number of (block) rows whose diagonals were shifted, or couplings dropped.
    clipped : bool
        Whether couplings were clipped to make the matrix definite.
    repaired : array or None
        A mask of the (block) rows of repaired paths; for preconditioners of general matrices alone.
    repaired_paths, repaired_couplings : int
        Numbers of paths that were repaired, and of their couplings that were clipped.
    symmetric, hermitian, positive_definite : bool
        Properties of the matrix, after couplings were clipped.
    nbytes : int
        Bytes held.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> solver = lf.TridiagonalSolver(np.full(4, -1.0), np.full(5, 2.0), np.full(4, -1.0))
    >>> solver.solve(np.array([0.0, 0, 1, 0, 0])).round(6).tolist()
    [0.5, 1.0, 1.5, 1.0, 0.5]
    >>> solver.positive_definite, solver.pivoted
    (True, False)
    """

    n: int
    block_size: int
    dtype: DType
    pivoted: bool
    lifted: int
    regularized: int
    clipped: bool
    repaired: Array | None
    repaired_paths: int
    repaired_couplings: int
    symmetric: bool
    hermitian: bool
    positive_definite: bool
    nbytes: int
    _steps: Elimination = Elimination()
    _blocks = False  # whether bands hold blocks

    @named_arguments
    def __init__(self, lower: Array, diagonal: Array, upper: Array, *, make_definite: bool = False) -> None:
        bands = _checked_bands(lower, diagonal, upper, self._blocks)
        self._factor(*bands, make_definite=make_definite)

    @without_numpy_warnings
    def _factor(
        self,
        lower: Array,
        diagonal: Array,
        upper: Array,
        make_definite: bool,
        perturb: bool = True,
        decide: Decision | None = None,
        started: StartedFactorization | None = None,
    ) -> None:
        """Compute the pivots, clip couplings where needed, and decide whether solves need pivoting.

        Without `perturb`, pivots are only perturbed where they vanish, and nothing is regularized. `decide`
        chooses the paths of a general matrix that are repaired. `started` is the factorization of these bands
        where it is under way.
        """
        steps, bands = self._steps, (lower, diagonal, upper)
        inverse, found = steps.factor(bands, perturb) if started is None else started.result()
        bands = self._clipped(bands, inverse, found, make_definite, decide)
        if self.clipped or self.repaired_couplings:
            (inverse, found), started = steps.factor(bands, perturb), None
        self.symmetric, self.hermitian = (
            found[each] == 0 for each in (PivotFinding.NOT_SYMMETRIC, PivotFinding.NOT_HERMITIAN)
        )
        self.positive_definite = _is_definite(found)
        self.lifted, self.regularized = found[PivotFinding.PERTURBED], 0
        method = steps.sweeps(bands, inverse, self.symmetric, started) if _is_safe(found) else None
        self.pivoted = method is None
        if method is None:
            method, self.regularized = steps.pivoted(bands, inverse, self.lifted, perturb)
            self.lifted = int(method.perturbed)
        self._backend, self._solver, self.dtype = backend_of_bands(bands), method, diagonal.dtype
        self.block_size = diagonal.shape[1] if diagonal.ndim == 3 else 1
        self.n = diagonal.shape[0] * self.block_size
        held = () if self.pivoted else (bands[0], inverse, bands[2])
        self.nbytes = method.nbytes_extra + sum(array.nbytes for array in held)
        if steps.warns and (self.lifted or self.regularized):
            repair, count = self._repairs()[-1]
            warn_user(
                "the tridiagonal system is numerically singular, and a nearby system is solved instead "
                f"({repair}: {count})"
            )

    def _clipped(
        self,
        bands: Triple,
        inverse: Array,
        found: Sequence[int],
        make_definite: bool,
        decide: Decision | None,
    ) -> Triple:
        """The bands with clipped couplings, where they need it; sets what was clipped."""
        self.clipped = bool(make_definite) and _is_positive(found) and not _is_definite(found)
        self.repaired, self.repaired_paths, self.repaired_couplings = None, 0, 0
        if self.clipped:
            return self._steps.clip(bands)
        if decide is None or not found[PivotFinding.WEAK] or _is_positive(found):
            return bands
        rows = decide(bands, inverse)
        if rows is not None:
            bands, self.repaired_paths, self.repaired_couplings = self._steps.clip_paths(bands, rows)
            self.repaired = rows if self.repaired_paths else None
        return bands

    def _repairs(self) -> list[tuple[str, str]]:
        """The numbers of repairs, in words."""
        regularized = [("rows regularized", f"{self.regularized:,}")] if self.regularized else []
        return [("pivots perturbed", f"{self.lifted:,}"), *regularized]

    @without_numpy_warnings
    def solve(self, b: Array, *, transpose: bool = False) -> Array:
        """Solve for one or many right-hand sides.

        Parameters
        ----------
        b : (N,) or (N, k) array
            On the solver's device. Integers become float64.
        transpose : bool
            Solve with the transpose (not conjugated).

        Returns
        -------
        array
            Of b's shape, in the wider of both types.
        """
        b = self._checked_right_side(b)
        xp = xp_of(b)
        columns = b.reshape(b.shape[0], 1 if b.ndim == 1 else b.shape[1])
        if b.dtype.kind == "c" and self.dtype.kind != "c":
            # Real and imaginary parts side by side.
            columns = xp.ascontiguousarray(columns).view(b.real.dtype)
        x: Array = xp.empty(columns.shape, columns.dtype)
        if x.size or (self._steps.collective and x.shape[1]):
            self.solve_into(columns, x, transpose=bool(transpose))
        return x.view(b.dtype).reshape(b.shape)

    def solve_into(self, b: Array, x: Array, order: Array | None = None, transpose: bool = False) -> None:
        """Solve for the columns of b into x, unchecked; row i of the system is row order[i] of both.

        Both are 2-D with at least one row and column, of the solver's type or its double precision. A row of
        a block with order -1 is a ghost row: its right-hand side is 0 and its solution is dropped.
        """
        self._solver.solve(b, x, order, transpose)

    def _checked_right_side(self, b: Array) -> Array:
        if not is_on(b, self._backend):
            raise TypeError(
                f"b must be on the solver's device ({self._backend.name}), got one on {device_name(b)}"
            )
        b = self._backend.xp.asarray(native_array("b", b))
        if b.ndim not in (1, 2) or b.shape[0] != self.n:
            raise ValueError(f"b must have shape ({self.n},) or ({self.n}, k), got {tuple(b.shape)}")
        return b.astype(np.promote_types(self.dtype, value_dtype("b", b.dtype)), copy=False)

    def _printout(self) -> Printout:
        blocks = f", blocks of {self.block_size}" if self.block_size > 1 else ""
        kinds = ("positive definite", "symmetric", "hermitian")
        kind = next((kind for kind in kinds if getattr(self, kind.replace(" ", "_"))), "general")
        return Printout.of(
            "tridiagonal solver",
            ("rows", f"{self.n:,}{blocks}"),
            ("dtype", str(self.dtype)),
            ("matrix", kind + (", couplings clipped" if self.clipped else "")),
            ("method", "with pivoting" if self.pivoted else "two sweeps, no pivoting"),
            *self._repairs(),
            ("bytes", f"{self.nbytes:,}"),
        )


class BlockTridiagonalSolver(TridiagonalSolver):
    """A block tridiagonal system, factored once.

    Parameters
    ----------
    lower, diagonal, upper : (N/b, b, b) arrays of NumPy or CuPy
        Blocks of 1, 2 or 4 rows: ``lower[i]`` couples block row i to i - 1 and ``upper[i]`` to i + 1, with
        ``lower[0]`` and ``upper[-1]`` ignored or left out.
    make_definite : bool
        As for `TridiagonalSolver`: the coupling E of neighbouring blocks D and D' is clipped until
        ``C^-1 E C'^-H`` has the Frobenius norm 0.4995, where C and C' are the Cholesky factors of D and D'.
        Before that, the off-diagonal entries of blocks that are not positive definite are clipped.

    See Also
    --------
    TridiagonalSolver : the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> diagonal = np.tile(np.array([[4.0, -1], [-1, 4]]), (3, 1, 1))
    >>> coupling = np.tile(-np.eye(2), (2, 1, 1))
    >>> solver = lf.BlockTridiagonalSolver(coupling, diagonal, coupling)
    >>> solver.solve(np.array([2.0, 2, 1, 1, 2, 2])).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    _blocks = True


def solver_of(
    bands: Bands,
    make_definite: bool = True,
    perturb: bool = True,
    decide: Decision | None = None,
    started: StartedFactorization | None = None,
) -> TridiagonalSolver:
    """The solver of checked bands, whose arrays it shares."""
    kind = BlockTridiagonalSolver if bands.diagonal.ndim == 3 else TridiagonalSolver
    solver = kind.__new__(kind)
    solver._factor(bands.lower, bands.diagonal, bands.upper, make_definite, perturb, decide, started)
    return solver


def started_factorization(
    bands: Bands, symmetric: bool | None, *, perturb: bool, report: Any = None
) -> StartedFactorization:
    """The factorization that `solver_of` begins with."""
    return StartedFactorization((bands.lower, bands.diagonal, bands.upper), perturb, symmetric, report)


def _is_positive(found: Sequence[int]) -> bool:
    """Whether the matrix is Hermitian with a positive diagonal."""
    return found[PivotFinding.NOT_HERMITIAN] == 0 and found[PivotFinding.NOT_POSITIVE] == 0


def _is_definite(found: Sequence[int]) -> bool:
    """Whether the matrix is Hermitian with positive pivots."""
    return (
        _is_positive(found) and found[PivotFinding.INDEFINITE] == 0 and found[PivotFinding.INCONSISTENT] == 0
    )


def _is_safe(found: Sequence[int]) -> bool:
    """Whether elimination without pivoting is stable."""
    return found[PivotFinding.INCONSISTENT] == 0 and (
        found[PivotFinding.NOT_ROW_DOMINANT] == 0
        or found[PivotFinding.NOT_COLUMN_DOMINANT] == 0
        or _is_definite(found)
        or (found[PivotFinding.GROWN] == 0 and found[PivotFinding.PERTURBED] == 0)
    )


def _checked_bands(lower: Array, diagonal: Array, upper: Array, blocks: bool) -> tuple[Array, Array, Array]:
    """Copies of the user's bands, of one length, type and device, with zeros outside the matrix."""
    named = {"lower": lower, "diagonal": diagonal, "upper": upper}
    backend = backend_of_bands((lower, diagonal, upper))
    for name, band in named.items():
        if not is_on(band, backend):
            raise TypeError(
                f"lower, diagonal and upper must be on one device, got diagonal on {backend.name} "
                f"and {name} on {device_name(band)}"
            )
    xp = backend.xp
    for name, band in named.items():
        refuse_masked_or_ragged(name, band)
    bands = {name: xp.asarray(band) for name, band in named.items()}
    dtypes = [value_dtype(name, band.dtype) for name, band in bands.items()]
    dtype = np.result_type(*dtypes)
    n, shape = _checked_shape(bands["diagonal"], blocks)
    for name, band in bands.items():
        lengths = (n,) if name == "diagonal" else (n, max(n - 1, 0))
        if band.ndim != len(shape) + 1 or band.shape[1:] != shape or band.shape[0] not in lengths:
            wanted = " or ".join(str((length, *shape)) for length in lengths)
            raise ValueError(f"{name} must have shape {wanted}, got {tuple(band.shape)}")
        check_finite(name, band)
    full = {name: xp.zeros((n, *shape), dtype) for name in bands}
    full["diagonal"][...] = bands["diagonal"]
    if n > 1:
        full["lower"][1:] = bands["lower"][-(n - 1) :]
        full["upper"][:-1] = bands["upper"][: n - 1]
    return full["lower"], full["diagonal"], full["upper"]


def _checked_shape(diagonal: Array, blocks: bool) -> tuple[int, tuple[int, ...]]:
    if not blocks:
        if diagonal.ndim != 1:
            raise ValueError(f"diagonal must have shape (N,), got {tuple(diagonal.shape)}")
        return diagonal.shape[0], ()
    if diagonal.ndim != 3 or diagonal.shape[1] != diagonal.shape[2] or diagonal.shape[1] not in BLOCK_SIZES:
        raise ValueError(
            f"diagonal must have shape (N/b, b, b) with b in {BLOCK_SIZES}, got {tuple(diagonal.shape)}"
        )
    return diagonal.shape[0], diagonal.shape[1:]
