"""Solvers of scalar and block tridiagonal systems: factored once, solved for one or many right-hand sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.backends.returns import Finding
from linforest_precond.gate import value_dtype
from linforest_precond.printing import as_table, numbers_of
from linforest_precond.records import Bands
from linforest_precond.user_warnings import warn_user

BLOCK_SIZES = (1, 2, 4)


class TridiagonalSolver:
    """A tridiagonal system, factored once.

    The factors are found in the rows' own order where that is safe: diagonally dominant by rows or by
    columns, Hermitian and positive definite, or pivots that never become small beside their rows, unless
    rounding errors grow on their way along the rows. Other systems are solved with pivoting.

    A pivot that vanishes beside its row is lifted to the square root of the machine epsilon times the row (1
    in an empty row), with one warning: the system is singular, and a nearby one is solved.

    Parameters
    ----------
    lower, diagonal, upper : arrays of NumPy or CuPy
        ``lower[i]`` couples row i to row i - 1 and ``upper[i]`` couples it to row i + 1, all three of the
        length N (``lower[0]`` and ``upper[-1]`` are ignored); or `lower` and `upper` of the length N - 1, as
        LAPACK has them. Zeros split the system into segments, which need no special care.
    make_definite : bool
        Whether a Hermitian matrix with a positive diagonal is changed where it is not positive definite:
        couplings are then clipped to ``0.4995 * sqrt(a_ii * a_jj)``. For preconditioners of such matrices.

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
        Pivots that vanished and were lifted.
    clipped : bool
        Whether couplings were clipped.
    symmetric, hermitian, positive_definite : bool
        What was found about the matrix, after its couplings were clipped.
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

    def __init__(self, lower: Array, diagonal: Array, upper: Array, *, make_definite: bool = False) -> None:
        _factor(self, *_checked_bands(lower, diagonal, upper, blocks=False), make_definite)

    def solve(self, b: Array, *, transpose: bool = False) -> Array:
        """Solve for one or many right-hand sides.

        Parameters
        ----------
        b : (N,) or (N, k) array
            On the solver's device. Integers become float64.
        transpose : bool
            Solve with the transposed matrix (not conjugated).

        Returns
        -------
        array
            Of the shape of b, in the wider of both types.
        """
        b = self._checked_right_side(b)
        xp = backend_of(b).xp
        columns = b.reshape(b.shape[0], -1) if b.size else b.reshape(b.shape[0], 0)
        if b.dtype.kind == "c" and self.dtype.kind != "c":
            # Real and imaginary parts side by side.
            columns = xp.ascontiguousarray(columns).view(b.real.dtype)
        x = xp.empty(columns.shape, columns.dtype)
        if x.size:
            self.solve_into(columns, x, transpose=bool(transpose))
        return x.view(b.dtype).reshape(b.shape)

    def solve_into(self, b: Array, x: Array, order: Array | None = None, transpose: bool = False) -> None:
        """Solve for the columns of b into x, unchecked; row i of the system is row order[i] of both.

        Both are 2-D with at least one row and column, of one type: the solver's or its double width. A row of
        a block that is -1 in the order is a ghost: its right-hand side is 0 and its solution is dropped.
        """
        self._solver.solve(b, x, order, transpose)

    def _checked_right_side(self, b):
        if backend_of(b) is not self._backend:
            raise TypeError(
                f"b must be on the solver's device ({self._backend.name}), got one on {backend_of(b).name}"
            )
        b = self._backend.xp.asarray(b)
        if b.ndim not in (1, 2) or b.shape[0] != self.n:
            raise ValueError(f"b must have shape ({self.n},) or ({self.n}, k), got {tuple(b.shape)}")
        return b.astype(np.promote_types(self.dtype, value_dtype("b", b.dtype)), copy=False)

    def __str__(self) -> str:
        blocks = f", blocks of {self.block_size}" if self.block_size > 1 else ""
        kinds = ("positive definite", "symmetric", "hermitian")
        kind = next((kind for kind in kinds if getattr(self, kind.replace(" ", "_"))), "general")
        return as_table(
            "tridiagonal solver",
            ("rows", f"{self.n:,}{blocks}"),
            ("dtype", str(self.dtype)),
            ("matrix", kind + (", couplings clipped" if self.clipped else "")),
            ("method", "with pivoting" if self.pivoted else "two sweeps, no pivoting"),
            ("pivots lifted", f"{self.lifted:,}"),
            ("bytes", f"{self.nbytes:,}"),
        )

    __repr__ = __str__


class BlockTridiagonalSolver(TridiagonalSolver):
    """A block tridiagonal system, factored once.

    Parameters
    ----------
    lower, diagonal, upper : (N/b, b, b) arrays of NumPy or CuPy
        Blocks of 1, 2 or 4 rows: ``lower[i]`` couples block row i to i - 1 and ``upper[i]`` to i + 1, with
        ``lower[0]`` and ``upper[-1]`` ignored or left out.
    make_definite : bool
        As for `TridiagonalSolver`: the coupling E of neighbouring blocks D and D' is clipped until
        ``C^-1 E C'^-H`` has the Frobenius norm 0.4995, where C and C' are their Cholesky factors, and
        before that the couplings inside a diagonal block that is not definite by itself.

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

    def __init__(self, lower: Array, diagonal: Array, upper: Array, *, make_definite: bool = False) -> None:
        _factor(self, *_checked_bands(lower, diagonal, upper, blocks=True), make_definite)


def solver_of(bands: Bands) -> TridiagonalSolver:
    """The solver of checked bands, whose arrays it shares; made definite where they are meant to be."""
    kind = BlockTridiagonalSolver if bands.diagonal.ndim == 3 else TridiagonalSolver
    solver = kind.__new__(kind)
    _factor(solver, bands.lower, bands.diagonal, bands.upper, make_definite=True)
    return solver


def _factor(solver, lower, diagonal, upper, make_definite):
    """Find the pivots, repair what needs repair, and decide whether solves need pivoting."""
    backend = backend_of(diagonal)
    inverse, report = backend.tridiagonal.pivots.factor(lower, diagonal, upper)
    found = numbers_of(report)  # stall: what was found decides how to go on
    clipped = bool(make_definite) and _is_positive(found) and not _is_definite(found)
    if clipped:
        lower, diagonal, upper = backend.tridiagonal.pivots.clip(lower, diagonal, upper)
        inverse, report = backend.tridiagonal.pivots.factor(lower, diagonal, upper)
        found = numbers_of(report)  # stall: after the repair
    symmetric = found[Finding.NOT_SYMMETRIC] == 0
    lifted = found[Finding.LIFTED]
    method = backend.tridiagonal.pivots.Sweeps(lower, inverse, upper, symmetric) if _is_safe(found) else None
    solver.pivoted = method is None or not method.keep_digits(diagonal)
    if solver.pivoted and diagonal.ndim == 1:
        diagonal, lifted = _lift_singular(lower, diagonal, upper, inverse)
        method = backend.tridiagonal.pivoting.Pivoted(lower, diagonal, upper, lifted)
    elif solver.pivoted:
        method = backend.tridiagonal.pivoting.PivotedBlocks(lower, diagonal, upper, inverse, lifted)
    if solver.pivoted:
        lifted = method.lifted
    solver._backend, solver._solver = backend, method
    solver.block_size = diagonal.shape[1] if diagonal.ndim == 3 else 1
    solver.n = diagonal.shape[0] * solver.block_size
    solver.dtype = diagonal.dtype
    solver.clipped, solver.lifted, solver.symmetric = clipped, int(lifted), symmetric
    solver.hermitian = found[Finding.NOT_HERMITIAN] == 0
    solver.positive_definite = _is_definite(found)
    held = () if solver.pivoted else (lower, inverse, upper)
    solver.nbytes = method.nbytes_extra + sum(array.nbytes for array in held)
    if solver.lifted:
        warn_user(
            f"{solver.lifted} of the tridiagonal system's pivots vanished and were lifted: it is singular, "
            "or as good as singular, and a nearby system is solved instead"
        )


def _lift_singular(lower, diagonal, upper, inverse):
    """Lift the last rows of segments that no pivoting can solve; the diagonal, and how many rows.

    Where elimination in the rows' own order comes to the end of a segment with nothing left, the segment is
    singular. So is, whatever its entries are, a segment of rows coupled both ways that has an odd number of
    them, and nothing on the diagonal of the first, third, fifth ...: pairs of rows never use up all.
    """
    xp = backend_of(diagonal).xp
    sizes = xp.maximum(xp.maximum(abs(lower), abs(diagonal)), abs(upper))
    pivots = diagonal.copy()
    pivots[1:] -= lower[1:] * inverse[:-1] * upper[:-1]
    epsilon = np.finfo(diagonal.dtype).eps
    singular = (upper == 0) & (abs(pivots) <= epsilon * sizes)
    singular[_ends_of_odd_segments(lower, diagonal, upper)] = True
    singular[1:-1] &= ~_insides_of_chains(lower, diagonal, upper)
    count = int(singular.sum())  # stall: is told to the user
    small = xp.where(sizes > 0, np.sqrt(epsilon) * sizes, 1)
    small = xp.where(diagonal.real < 0, -small, small)
    return (diagonal + xp.where(singular, small, 0)).astype(diagonal.dtype) if count else diagonal, count


def _insides_of_chains(lower, diagonal, upper):
    """Whether each row but the first and the last, like both beside it, holds only the unknown before it.

    Such a row is all there is about that unknown. Lifted one after the other, these rows would make a system
    whose solutions grow from each to the next.
    """
    single = (lower != 0) & (diagonal == 0) & (upper == 0)
    return single[:-2] & single[1:-1] & single[2:]


def _ends_of_odd_segments(lower, diagonal, upper):
    """Last rows of odd segments, coupled both ways, without a diagonal at their even places, from 0."""
    xp = backend_of(diagonal).xp
    n = diagonal.size
    first = xp.ones(n, bool)
    first[1:] = (lower[1:] == 0) | (upper[:-1] == 0)
    starts = xp.flatnonzero(first)  # stall: their number
    ends = xp.append(starts[1:], n)[: starts.size] - 1
    place = xp.arange(n) - starts[xp.cumsum(first) - 1]
    useful = xp.cumsum((place % 2 == 0) & (diagonal != 0))
    before = xp.where(starts > 0, useful[starts - 1], 0)
    return ends[(place[ends] % 2 == 0) & (useful[ends] == before)]


def _is_positive(found):
    """Whether the matrix is Hermitian with a positive diagonal."""
    return found[Finding.NOT_HERMITIAN] == 0 and found[Finding.NOT_POSITIVE] == 0


def _is_definite(found):
    """Whether the matrix is Hermitian with positive pivots."""
    return _is_positive(found) and found[Finding.INDEFINITE] == 0 and found[Finding.TORN] == 0


def _is_safe(found):
    """Whether elimination without pivoting loses no digits."""
    return found[Finding.TORN] == 0 and (
        found[Finding.NOT_ROW_DOMINANT] == 0
        or found[Finding.NOT_COLUMN_DOMINANT] == 0
        or _is_definite(found)
        or (found[Finding.GROWN] == 0 and found[Finding.LIFTED] == 0)
    )


def _checked_bands(lower, diagonal, upper, blocks):
    """Three bands of one length, type and device, with zeros outside the matrix: copies of the user's."""
    named = {"lower": lower, "diagonal": diagonal, "upper": upper}
    backend = backend_of(diagonal)
    for name, band in named.items():
        if backend_of(band) is not backend:
            raise TypeError(
                f"lower, diagonal and upper must be on one device, got diagonal on {backend.name} "
                f"and {name} on {backend_of(band).name}"
            )
    xp = backend.xp
    bands = {name: xp.asarray(band) for name, band in named.items()}
    dtypes = [value_dtype(name, band.dtype) for name, band in bands.items()]
    dtype = np.result_type(*dtypes)
    n, shape = _checked_shape(bands["diagonal"], blocks)
    for name, band in bands.items():
        lengths = (n,) if name == "diagonal" else (n, max(n - 1, 0))
        if band.ndim != len(shape) + 1 or band.shape[1:] != shape or band.shape[0] not in lengths:
            wanted = " or ".join(str((length, *shape)) for length in lengths)
            raise ValueError(f"{name} must have shape {wanted}, got {tuple(band.shape)}")
        finite = xp.isfinite(band)
        if not finite.all():  # stall: nothing is done with numbers that are none
            place = int(xp.argmin(finite.reshape(-1)))
            place = np.unravel_index(place, band.shape) if blocks else (place,)
            at = ", ".join(str(int(index)) for index in place)
            raise ValueError(f"{name} must be finite, got {band[place]} at {name}[{at}]")
    full = {name: xp.zeros((n, *shape), dtype) for name in bands}
    full["diagonal"][...] = bands["diagonal"]
    if n > 1:
        full["lower"][1:] = bands["lower"][-(n - 1) :]
        full["upper"][:-1] = bands["upper"][: n - 1]
    return full.values()


def _checked_shape(diagonal: Any, blocks: bool) -> tuple[int, tuple[int, ...]]:
    if not blocks:
        if diagonal.ndim != 1:
            raise ValueError(f"diagonal must have shape (N,), got {tuple(diagonal.shape)}")
        return diagonal.shape[0], ()
    if diagonal.ndim != 3 or diagonal.shape[1] != diagonal.shape[2] or diagonal.shape[1] not in BLOCK_SIZES:
        raise ValueError(
            f"diagonal must have shape (N/b, b, b) with b in {BLOCK_SIZES}, got {tuple(diagonal.shape)}"
        )
    return diagonal.shape[0], diagonal.shape[1:]
