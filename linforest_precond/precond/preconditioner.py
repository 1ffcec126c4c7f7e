"""`Preconditioner`, the LinearOperator of SciPy or cupyx that all kinds of preconditioners are returned as.

An operator holds a `Part`, which implements its kind. This module adds products with arrays of any shape and
type, updates, storage and printing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import is_on
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.returns import BandSlots
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.interop.dlpack import native_array, native_matrix
from linforest_precond.matrix.block_diagonal import block_diagonal
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.value_range import shift, shifted
from linforest_precond.precond.kinds import kind_named
from linforest_precond.precond.parts.number_types import is_same_memory, result_dtype
from linforest_precond.precond.parts.part import (
    OnPermutedVectors,
    OperatorState,
    Part,
    RefreshedInPlace,
    Repairs,
    SetupTime,
)
from linforest_precond.precond.products import Products, operator_class, view_of
from linforest_precond.precond.scaling.number_range import scaled_into_range
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.storage.operator_state import Packed, packed_state, restored_state
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import handed_out
from linforest_precond.solvers.vector_space import InPlaceOperator

# Attributes of SuperLU objects and of matrices, and their equivalents.
OTHER_NAMES = {
    "solve": "M @ r", "psolve": "M @ r", "todense": "M @ np.eye(n)", "toarray": "M @ np.eye(n)",
    "nnz": "M.nbytes", "copy": "copy.copy(M)", "astype": "dtype= where M is made",
}  # fmt: skip


class Applied(NamedTuple):
    """The state of an operator that products read; an update replaces it as a whole."""

    part: Part
    exponent: int  # the part is that of A 2**-exponent
    symmetry: str = ""  # `CheckedMatrix.rounding_in_words`


class Preconditioner(Products, InPlaceOperator, Printed):
    """An approximate inverse of a matrix A, to be passed as ``M=`` to the solvers of A's own library.

    Made by `linforest_precond.tridiagonal` and the other preconditioners. It is a `LinearOperator` of SciPy
    or cupyx, whichever A belongs to: ``M @ r``, ``M.T``, ``M.H``, one or several columns. A product has the
    common type of A and r, whatever type is stored.

    The arrays of `forest`, `ordering` and `bands` are read-only on the CPU. On the GPU, where arrays have no
    such flag, each access makes copies.

    Attributes
    ----------
    forest : Forest, BlockForest or None
        The forest that the order of the rows comes from.
    ordering : Ordering or None
        The order of the rows, where it is not A's own and has no ghost rows.
    bands : Bands or None
        The entries of A that are used, in the stored type, before any clipping or perturbation. Where A is
        Hermitian to rounding, those below the diagonal are the conjugates of those above it.
    kind : str
        The name of the function that makes such an operator.
    coverage : float
        Share of A's off-diagonal weight that is used (Eq. 4 of Klein & Strzodka).
    systems : tuple of int, or None
        Of a stack of k systems with n rows each, ``(k, n)``: the operator is that of the block diagonal
        matrix, of shape ``(k n, k n)``, and ``@`` also takes arrays of shape (k, n) and (k, n, m).
    stored_dtype : dtype
        The type of the stored numbers.
    nbytes : int
        Bytes held for products.
    repairs : dict
        What had to be changed for products to exist, by name and how often; empty where nothing was:
        ``made_definite`` (1 where off-diagonal entries were clipped for that), ``couplings_clipped`` of
        ``paths_clipped``, ``pivots_perturbed``, ``rows_regularized``, ``diagonal_shift`` after
        ``breakdowns``, ``shifts_failed``, ``rows_not_definite``, ``rows_dependent``, ``rows_of_identity``.
    positive_definite : bool
        Whether the operator is known to be Hermitian and positive definite, as `cg` and `minres` need it; a
        multigrid cycle is for a positive definite A.
    setup_time : float
        Seconds of the setup or of the last update; with compilation, if that was the first of its kind.
    choice : str
        Of an operator from `linforest_precond.auto`: what was chosen, and from what; not stored in files.
    """

    dtype: DType
    choice: str = ""

    def __init__(self, state: OperatorState):
        super().__init__(state.dtype, (state.part.n, state.part.n))  # type: ignore[call-arg]
        self._applied = Applied(state.part, state.exponent, state.symmetry)
        self._pattern, self._setup, self.systems = state.pattern, state.setup, state.systems
        self._backend, self._device = state.backend, state.device
        self._slots: BandSlots | None = None  # found by the first update, for later ones
        self._streams: set[object] = set()  # on which products were computed

    if not TYPE_CHECKING:  # type checkers would take any name

        def __getattr__(self, name: str) -> Any:
            if name in OTHER_NAMES:
                raise AttributeError(f"a preconditioner has no {name!r}: write {OTHER_NAMES[name]}")
            return object.__getattribute__(self, name)  # raises the error again

    @property
    def _part(self) -> Part:
        return self._applied.part

    @property
    def _state(self) -> OperatorState:
        part, exponent, symmetry = self._applied
        own = self._pattern, self.dtype, self._setup, self._backend, self._device
        return OperatorState(part, *own, exponent, symmetry, self.systems)

    @property
    def kind(self) -> str:
        return self._part.kind

    @property
    def forest(self) -> Forest | BlockForest | None:
        return handed_out(self._part.forest)

    @property
    def ordering(self) -> Ordering | None:
        return handed_out(self._part.ordering)

    @property
    def bands(self) -> Bands | None:
        part, exponent, _ = self._applied
        if part.bands is None or not exponent:
            return handed_out(part.bands)
        bands = part.bands.lower, part.bands.diagonal, part.bands.upper
        return Bands(*(shifted(band, exponent) for band in bands))

    @property
    def stored_dtype(self) -> DType:
        return self._part.stored

    @property
    def nbytes(self) -> int:
        return self._part.nbytes

    @property
    def coverage(self) -> float:
        return self._part.coverage

    @property
    def repairs(self) -> Repairs:
        return dict(self._part.repairs)

    @property
    def positive_definite(self) -> bool:
        return bool(self._part.positive_definite)

    @property
    def capturable(self) -> bool:
        """Whether solvers may capture products in CUDA graphs."""
        return kind_named(self.kind).capturable

    @property
    def setup_time(self) -> float:
        return self._setup.milliseconds / 1e3

    @property
    def permuted(self) -> Preconditioner:
        """The operator on vectors in its own order of the rows, as `tridiagonal` makes it.

        ``M.permuted @ r[order]`` is ``(M @ r)[order]``, bit for bit, with ``order = M.ordering.order``; where
        `ordering` is None, in A's own order, it is ``M @ r``. On the GPU it takes a fraction of the time,
        since vectors are read and written in order. To iterate in that order, permute A by
        `linforest_precond.permute`, or pass ``reorder=True`` to a solver.

        It has the present values, shares them with M, and is not changed by updates of M. Its own `update`
        takes A in A's order, as that of M.

        Raises
        ------
        TypeError
            For other kinds of operators, several forests and scaled matrices.

        Examples
        --------
        >>> import numpy as np
        >>> import linforest_precond as lf
        >>> M = lf.tridiagonal(lf.matrices.aniso(2, 20))
        >>> r, order = np.arange(400.0), M.ordering.order
        >>> np.array_equal(M.permuted @ r[order], (M @ r)[order])
        True
        """
        part = self._applied.part
        permuted = part.on_permuted_vectors() if isinstance(part, OnPermutedVectors) else None
        if permuted is None:
            scaled = " of a scaled matrix" if isinstance(part, ScaledPart) else ""
            already = ", permuted already" if getattr(part, "permuted", False) else ""
            raise TypeError(
                "permuted needs an operator of lf.tridiagonal with one forest or one order of the rows, and "
                f"without scaling, got one of the kind {self.kind!r}{scaled}{already}"
            )
        return self._with(self._applied._replace(part=permuted))

    @without_numpy_warnings
    def update(self, A: MatrixLike, *, values: npt.ArrayLike | None = None) -> Self:
        """Take the values of another matrix of the same pattern; order of the rows and scaling stay.

        Parameters
        ----------
        A : sparse matrix or dense array
            On the operator's device, of the format, dtype, shape and pattern of the matrix it was made
            from: the same index arrays, explicit zeros included.
        values : (k, nnz) array, optional
            Of a stack of systems, as for `linforest_precond.tridiagonal`: A is the pattern of each of them.

        Returns
        -------
        Preconditioner
            The operator itself, changed in place.

        Raises
        ------
        ValueError, TypeError
            For a matrix with another pattern, and for all that `linforest_precond.tridiagonal` refuses. The
            operator is then unchanged.

        Notes
        -----
        Other threads may apply the operator meanwhile: each product has either the old values or the new
        ones, and a solver goes on with those it started with. As for any array of CuPy, the first product on
        a further CUDA stream has to wait for the stream of the update.

        The first update of a (block) tridiagonal operator by a CSR matrix also finds where A stores the
        entries of the bands, and keeps that, so that later updates need not check A first, and read it once.
        It takes three indices per row (3 b with blocks of b rows), and on the GPU two bits per entry, which
        `nbytes` does not include.

        Examples
        --------
        >>> import linforest_precond as lf
        >>> A = lf.matrices.poisson((20, 20))
        >>> M = lf.tridiagonal(A)
        >>> M.update(2 * A) is M
        True
        """
        A = native_matrix("A", A)
        given = A.given if isinstance(A, CheckedMatrix) else A
        if not is_on(given, self._backend):
            raise TypeError(
                f"A must be on {self._backend.name} like the operator, got a {type(given).__name__}"
            )
        if self.systems and values is None and not hasattr(given, "tocoo"):
            raise TypeError(
                "A must be the sparse matrix that the stack was made from, and new values an argument of "
                f"their own, M.update(A, values=...), got a {type(given).__name__}"
            )
        streams = self._backend.runtime.streams
        watch = streams.Stopwatch()
        if values is not None:
            A = given = block_diagonal(A, values)
        old, slots = self._part, self._slots
        applied = None if slots is None else self._refreshed_in_place(old, given, slots)
        if applied is None:
            applied, slots = self._refreshed(old, A, "A" if values is None else "the matrix of A and values")
        watch.stop()
        own = {streams.handle()}
        if not self._streams <= own:
            streams.finish()  # stall: other streams may use the part as soon as it is assigned
        self._applied, self._slots, self._setup = applied, slots, SetupTime(watch.milliseconds)
        if not self._streams <= own:
            streams.finish_all()  # stall: other streams may still use `old`, whose arrays are freed now
        return self

    def _refreshed_in_place(self, part: Part, A: MatrixLike, slots: BandSlots) -> Applied | None:
        """The part with the values of A, from A's own arrays; None where A must be checked first."""
        # `isinstance` of a protocol takes longer than all the rest; a part with slots implements it.
        refreshed = cast(RefreshedInPlace, part).refreshed_in_place(A, self._pattern, slots)
        return None if refreshed is None else Applied(refreshed, 0)

    def _refreshed(self, part: Part, A: Any, name: str) -> tuple[Applied, BandSlots | None]:
        """The part with the values of A, which are checked first; the slots of its entries in A."""
        follows = isinstance(part, ScaledPart) or kind_named(part.kind).follows_indices
        given = checked(A, shared=not follows)
        csr, exponent = scaled_into_range(given, part.stored)
        self._pattern.require_same(given.digest, name)
        refreshed, slots = part.refreshed(csr), self._slots
        # Entries that were sorted or converted have other slots.
        as_given = self._pattern.form == "csr" and is_same_memory(given.data, given.given.data)
        if slots is None and as_given and isinstance(part, RefreshedInPlace):
            slots = part.slots_in(given)
        return Applied(refreshed, exponent, given.rounding_in_words), slots

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        """One product. Where r has the result's type, only the result is allocated.

        (And the conjugate of r for the adjoint of a complex operator: M^H r is conj(M^T conj(r)).)
        """
        xp, part = self._backend.xp, self._part
        result = result_dtype(self.dtype, r.dtype)
        x: Array = xp.empty(r.shape, result)
        if not r.size:
            return x
        conjugate = conjugate and part.stored.kind == "c"
        given = r.astype(result, copy=False)
        given = given.conj() if conjugate else given
        self.apply_into(given.reshape(part.n, -1), x.reshape(part.n, -1), transpose)
        if conjugate:
            xp.conj(x, out=x)
        return x

    def times_power_of_two(self, exponent: int) -> Preconditioner:
        """The preconditioner times 2**exponent, with the present values: later updates do not change it."""
        applied = self._applied
        return self._with(applied._replace(exponent=applied.exponent - exponent))

    def _with(self, applied: Applied) -> Preconditioner:
        """An operator like this one, with a part that shares arrays with the present one."""
        self._streams.add(self._backend.runtime.streams.handle())
        return type(self)(self._state._replace(**applied._asdict()))

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Apply to the columns of b, converted to a type that the part accepts; shapes are not checked."""
        self._streams.add(self._backend.runtime.streams.handle())
        applied = self._applied  # read once: another thread may update the operator meanwhile
        self._apply_part(applied.part, applied.exponent, b, x, transpose)
        if applied is not self._applied:
            # stall: updated meanwhile, so that the arrays of the part are freed as soon as this returns
            self._backend.runtime.streams.finish()

    def _apply_part(self, part: Part, exponent: int, b: Array, x: Array, transpose: bool) -> None:
        xp = self._backend.xp
        if b.dtype.kind == "c" and part.stored.kind != "c":  # a complex column is two real ones
            real = b.real.dtype
            b, x = xp.ascontiguousarray(b).view(real), x.view(real)
        target = x if b.dtype.itemsize >= part.stored.itemsize else xp.empty(x.shape, part.stored)
        with np.errstate(all="ignore"):
            part.solve_into(b.astype(target.dtype, copy=False), target, transpose)
            if exponent:
                shift(target, -exponent)
            if target is not x:
                x[...] = target

    def frozen(self) -> Preconditioner:
        """An operator with the present values, which updates of this one do not change."""
        return self.times_power_of_two(0)

    def _array(self, r: npt.ArrayLike) -> Array:
        """r as an array on the operator's device; a TypeError if it is elsewhere."""
        xp = self._backend.xp
        if xp is np and type(r) is np.ndarray:
            return r
        if hasattr(r, "tocsr"):
            raise TypeError(f"r must be a dense array, got a {type(r).__name__}: pass r.toarray()")
        r = native_array("r", r)
        if not isinstance(r, xp.ndarray):
            if xp is not np or not is_on(r, self._backend):
                raise TypeError(
                    f"r must be on {self._backend.name} like the operator, got a {type(r).__name__}"
                )
            r = np.asarray(r)
        if getattr(r, "device", None) != self._device:
            raise TypeError(f"r must be on the operator's device, {self._device}, got one on {r.device}")
        return np.asarray(r) if xp is np else cast(Array, r)  # not np.matrix, which is always 2-D

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        return view_of(self, transpose, conjugate) if transpose or conjugate else self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return restore, (self.kind, packed(self))

    def _printout(self) -> Printout:
        part = self._part
        stored = f"{part.stored}" + (f", applied to {self.dtype}" if part.stored != self.dtype else "")
        return Printout.of(
            part.name,
            ("rows", f"{self._rows:,}"),
            *([("systems", "{:,} of {:,} rows".format(*self.systems))] if self.systems else []),
            ("numbers", stored),
            *([("symmetry", self._applied.symmetry)] if self._applied.symmetry else []),
            *part.details(),
            *self._held(),
            ("setup", f"{self._setup} on {self._backend.name}"),
            *([("chosen", self.choice)] if self.choice else []),
        )

    @property
    def _rows(self) -> int:
        """Rows for print: over ranks, those of all."""
        return self._part.n

    def _held(self) -> list[tuple[str, str]]:
        """The line for print of the bytes held: over ranks, the part describes those of all."""
        return [("bytes held", f"{self.nbytes:,}")]


def operator_of(state: OperatorState) -> Preconditioner:
    """The operator of the array library of its backend."""
    return operator_class(Preconditioner, state.backend.linear_operators)(state)


def packed(M: Preconditioner) -> Packed:
    """A preconditioner as a header of plain values and host arrays."""
    return packed_state(M._state)


def restore(kind: str, state: Packed, source: str = "a pickled preconditioner") -> Preconditioner:
    """The preconditioner that was packed: pickles refer to this function by its name."""
    return operator_of(restored_state(kind, state, source))
