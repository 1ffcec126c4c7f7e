"""Preconditioners as LinearOperators of SciPy and cupyx: what all kinds share.

An operator holds a `Part`, which implements its kind. This module adds products with arrays of any shape and
type, transposes, updates, storage and printing.
"""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of, cuda_status
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import is_foreign
from linforest_precond.backends.returns import BandSlots
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.interop.dlpack import native_array, native_matrix, returned_as
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.value_range import shift, shifted
from linforest_precond.precond.number_types import is_same_memory, result_dtype
from linforest_precond.precond.part import RESTORERS, OnPermutedVectors, Part, RefreshedInPlace
from linforest_precond.precond.pattern_digest import PatternDigest, pattern_digest
from linforest_precond.precond.repairs import Repairs
from linforest_precond.precond.scaled_matrix import scaled_into_range
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.setup_time import SetupTime, StoredTime
from linforest_precond.precond.storage.state import HostArrays, checked_state, pack, unpack
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import handed_out
from linforest_precond.solvers.in_place_operator import InPlaceOperator

# Kinds whose setups or products follow index arrays without checks, and need copies of them.
FOLLOWING_INDICES = "multilevel", "ilu", "approximate_inverse", "several_forests"
LIBRARIES = {"cpu": "scipy.sparse.linalg", "cuda": "cupyx.scipy.sparse.linalg"}


class _Products:
    """The products of a LinearOperator, in terms of `_apply(r, transpose, conjugate)` for a 1- or 2-D r.

    Vectors of shape (n,) and matrices of shape (n, k) are handled here. The library decides which other
    shapes it accepts: since SciPy 1.18, batches (..., n) and (..., n, k).
    """

    shape: tuple[int, int]

    if TYPE_CHECKING:  # of the LinearOperator that the class is combined with

        @property
        def T(self) -> _Products: ...  # noqa: N802
        @property
        def H(self) -> _Products: ...  # noqa: N802
        @property
        def dtype(self) -> DType: ...
        @overload
        def __matmul__(self, other: Array, /) -> Array: ...
        @overload
        def __matmul__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        raise NotImplementedError

    def _array(self, r: npt.ArrayLike) -> Array:
        raise NotImplementedError

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        raise NotImplementedError

    def _transpose(self) -> Any:
        return self._view(True, False)

    def _adjoint(self) -> Any:
        return self._view(True, True)

    def dot(self, x: Any) -> Any:
        """The product with an array or another operator; ``M @ x`` calls it."""
        if not is_foreign(x):
            return super().dot(x)  # type: ignore[misc]
        return returned_as(x)(self.dot(native_array("r", x)))

    def matvec(self, x: npt.ArrayLike) -> Array:
        """The product with a vector of shape (n,), or of another shape that the library accepts."""
        return self._vector_product(x, False, super().matvec)  # type: ignore[misc]

    def rmatvec(self, x: npt.ArrayLike) -> Array:
        """The adjoint's product with a vector of shape (n,), or of another shape that the library accepts."""
        return self._vector_product(x, True, super().rmatvec)  # type: ignore[misc]

    def matmat(self, X: npt.ArrayLike) -> Array:
        """The product with a matrix of shape (n, k), or with a batch of them where the library accepts it."""
        return self._matrix_product(X, False, super().matmat)  # type: ignore[misc]

    def rmatmat(self, X: npt.ArrayLike) -> Array:
        """The adjoint's product with a matrix of shape (n, k), or with a batch of them as for `matmat`."""
        return self._matrix_product(X, True, super().rmatmat)  # type: ignore[misc]

    def _vector_product(self, x: npt.ArrayLike, adjoint: bool, by_library: Callable[[Array], Array]) -> Array:
        r, n, returned = self._array(x), self.shape[0], returned_as(x)
        if r.shape == (n,):
            return returned(self._apply(r, adjoint, adjoint))
        try:
            return returned(by_library(r))
        except ValueError as error:
            raise ValueError(
                f"r must have the shape ({n},), or ({n}, k) for @ and matmat, got {r.shape}"
            ) from error

    def _matrix_product(self, X: npt.ArrayLike, adjoint: bool, by_library: Callable[[Array], Array]) -> Array:
        R, n, returned = self._array(X), self.shape[0], returned_as(X)
        if R.ndim == 2 and R.shape[0] == n:
            return returned(self._apply(R, adjoint, adjoint))
        try:
            return returned(by_library(R))
        except ValueError as error:
            raise ValueError(f"r must have the shape ({n}, k), got {R.shape}") from error

    # The library calls these for the shapes that it has accepted.

    def _matvec(self, r: npt.ArrayLike) -> Array:
        return self._apply_to_vectors(self._array(r), adjoint=False)

    def _rmatvec(self, r: npt.ArrayLike) -> Array:
        return self._apply_to_vectors(self._array(r), adjoint=True)

    def _matmat(self, R: npt.ArrayLike) -> Array:
        return self._apply_along(self._array(R), -2, adjoint=False)

    def _rmatmat(self, R: npt.ArrayLike) -> Array:
        return self._apply_along(self._array(R), -2, adjoint=True)

    def _apply_to_vectors(self, r: Array, adjoint: bool) -> Array:
        """Shapes (n,), (n, 1) and (..., n)."""
        return self._apply_along(r, 0 if r.shape == (self.shape[0], 1) else -1, adjoint)

    def _apply_along(self, r: Array, axis: int, adjoint: bool) -> Array:
        """Apply to the vectors along one axis."""
        swapped = r.swapaxes(0, axis)
        columns = swapped.reshape(swapped.shape[0], math.prod(swapped.shape[1:]))
        return self._apply(columns, adjoint, adjoint).reshape(swapped.shape).swapaxes(0, axis)


class _View(_Products):
    """The transpose, adjoint or conjugate of a preconditioner; an update of that changes the view, too."""

    def __init__(self, operator: Preconditioner, transpose: bool, conjugate: bool):
        super().__init__(operator.dtype, operator.shape)  # type: ignore[call-arg]
        self.operator, self.flags = operator, (transpose, conjugate)

    def _array(self, r: npt.ArrayLike) -> Array:
        return self.operator._array(r)

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        return self.operator._apply(r, self.flags[0] != transpose, self.flags[1] != conjugate)

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        return self.operator._view(self.flags[0] != transpose, self.flags[1] != conjugate)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _view_of, (self.operator, *self.flags)


class Applied(NamedTuple):
    """What products use; an update replaces it as a whole."""

    part: Part
    exponent: int  # the part is that of A 2**-exponent


class Preconditioner(_Products, InPlaceOperator, Printed):
    """An approximate inverse of a matrix A, to be passed as ``M=`` to the solvers of A's own library.

    Made by `linforest_precond.tridiagonal`, `block_tridiagonal`, `jacobi`, `block_jacobi`, `ilu` and
    `approximate_inverse`. It is a `LinearOperator` of SciPy or cupyx, whichever A belongs to: ``M @ r``,
    ``M.T``, ``M.H``, one or several columns. A product has the common type of A and r, whatever type is
    stored.

    The arrays of `forest`, `ordering` and `bands` are read-only on the CPU. On the GPU, where arrays have no
    such flag, each access makes copies.

    Attributes
    ----------
    forest : Forest, BlockForest or None
        The forest that the order of the rows comes from.
    ordering : Ordering or None
        The order of the rows, where it is not A's own and has no ghost rows.
    bands : Bands or None
        The entries of A that are used, in the stored type, before any clipping or perturbation.
    kind : str
        The name of the function that makes such an operator.
    coverage : float
        Share of A's off-diagonal weight that is used (Eq. 4 of Klein & Strzodka).
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

    def __init__(
        self,
        part: Part,
        pattern: PatternDigest,
        dtype: DType,
        setup: SetupTime,
        backend: Backend,
        device: object,
        exponent: int,
    ):
        super().__init__(dtype, (part.n, part.n))  # type: ignore[call-arg]
        self._applied, self._pattern, self._setup = Applied(part, exponent), pattern, setup
        self._backend, self._device = backend, device
        self._slots: BandSlots | None = None  # of the first update, for those after it
        self._streams: set[object] = set()  # that products were computed on

    @property
    def _part(self) -> Part:
        return self._applied.part

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
        part, exponent = self._applied
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
        part, exponent = self._applied
        permuted = part.on_permuted_vectors() if isinstance(part, OnPermutedVectors) else None
        if permuted is None:
            scaled = " of a scaled matrix" if isinstance(part, ScaledPart) else ""
            already = ", permuted already" if getattr(part, "permuted", False) else ""
            raise TypeError(
                "permuted needs an operator of lf.tridiagonal with one forest or one order of the rows, and "
                f"without scaling, got one of the kind {self.kind!r}{scaled}{already}"
            )
        return self._with_part(permuted, exponent)

    @without_numpy_warnings
    def update(self, A: MatrixLike) -> None:
        """Take the values of another matrix of the same pattern; order of the rows and scaling stay.

        Parameters
        ----------
        A : sparse matrix or dense array
            On the operator's device, of the format, dtype, shape and pattern of the matrix it was made
            from: the same index arrays, explicit zeros included.

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
        >>> M.update(2 * A)
        """
        A = native_matrix("A", A)
        if backend_of(A) is not self._backend:
            raise TypeError(f"A must be on {self._backend.name} like the operator, got a {type(A).__name__}")
        watch, streams = self._backend.runtime.stopwatch.Stopwatch(), self._backend.runtime.streams
        old, slots = self._part, self._slots
        applied = None if slots is None else self._refreshed_in_place(old, A, slots)
        if applied is None:
            applied, slots = self._refreshed(old, A)
        watch.stop()
        own = {streams.handle()}
        if not self._streams <= own:
            streams.finish()  # stall: other streams may use the part as soon as it is assigned
        self._applied, self._slots, self._setup = applied, slots, SetupTime(watch, False)
        if not self._streams <= own:
            streams.finish_all()  # stall: other streams may still use `old`, whose arrays are freed now

    def _refreshed_in_place(self, part: Part, A: MatrixLike, slots: BandSlots) -> Applied | None:
        """The part with the values of A, from A's own arrays; None where A must be checked first."""
        if not isinstance(part, RefreshedInPlace):
            return None
        refreshed = part.refreshed_in_place(A, self._pattern, slots)
        return None if refreshed is None else Applied(refreshed, 0)

    def _refreshed(self, part: Part, A: Any) -> tuple[Applied, BandSlots | None]:
        """The part with the values of A, which are checked first; the slots of its entries in A."""
        follows = part.kind in FOLLOWING_INDICES or isinstance(part, ScaledPart)
        given = checked(A, shared=not follows)
        csr, exponent = scaled_into_range(given, part.stored)
        self._pattern.require_same(pattern_digest(A))
        refreshed, slots = part.refreshed(csr), self._slots
        # Entries that were sorted or converted have other slots.
        as_given = self._pattern.form == "csr" and is_same_memory(given.data, A.data)
        if slots is None and as_given and isinstance(part, RefreshedInPlace):
            slots = part.slots_in(given)
        return Applied(refreshed, exponent), slots

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
        part, own = self._applied
        return self._with_part(part, own - exponent)

    def _with_part(self, part: Part, exponent: int) -> Preconditioner:
        """An operator like this one, with a part that shares arrays with the present one."""
        self._streams.add(self._backend.runtime.streams.handle())
        state = part, self._pattern, self.dtype, self._setup, self._backend, self._device, exponent
        operator: Preconditioner = type(self)(*state)
        return operator

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Apply to the columns of b, converted to a type that the part accepts; shapes are not checked.

        Numbers that are too large become infinite, without a warning.
        """
        self._streams.add(self._backend.runtime.streams.handle())
        applied = self._applied  # read once: another thread may update the operator meanwhile
        self._apply_part(*applied, b, x, transpose)
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
        xp, r = self._backend.xp, native_array("r", r)
        if not isinstance(r, xp.ndarray):
            if xp is not np or backend_of(r) is not self._backend:
                raise TypeError(
                    f"r must be on {self._backend.name} like the operator, got a {type(r).__name__}"
                )
            r = np.asarray(r)
        if getattr(r, "device", None) != self._device:
            raise TypeError(f"r must be on the operator's device, {self._device}, got one on {r.device}")
        return np.asarray(r) if xp is np else cast(Array, r)  # not np.matrix, which is always 2-D

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        return _view_of(self, transpose, conjugate) if transpose or conjugate else self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return restore, (self.kind, packed(self))

    def _printout(self) -> Printout:
        part = self._part
        stored = f"{part.stored}" + (f", applied to {self.dtype}" if part.stored != self.dtype else "")
        return Printout.of(
            part.name,
            ("rows", f"{part.n:,}"),
            ("numbers", stored),
            *part.described(),
            ("bytes held", f"{part.nbytes:,}"),
            ("setup", f"{self._setup} on {self._backend.name}"),
            *([("chosen", self.choice)] if self.choice else []),
        )


@functools.cache
def operator_class(kind: type, backend_name: str) -> type:
    """The kind as a LinearOperator of the backend's library, which is imported only here."""
    library = importlib.import_module(LIBRARIES[backend_name])
    name = f"{kind.__name__.strip('_')}_{backend_name}"
    return type(name, (kind, library.LinearOperator), {"__doc__": kind.__doc__, "__module__": __name__})


def _view_of(operator: Preconditioner, transpose: bool, conjugate: bool) -> Any:
    return operator_class(_View, operator._backend.name)(operator, transpose, conjugate)


def operator_of(
    part: Part,
    pattern: PatternDigest,
    dtype: DType,
    setup: SetupTime,
    backend: Backend,
    array: Array,
    exponent: int = 0,
) -> Preconditioner:
    """Assemble an operator on the device of `array`, from the part of a matrix A 2**-exponent."""
    device = getattr(array, "device", None)
    operator: Preconditioner = operator_class(Preconditioner, backend.name)(
        part, pattern, dtype, setup, backend, device, exponent
    )
    return operator


def packed(M: Preconditioner) -> tuple[dict[str, Any], HostArrays]:
    """A preconditioner as a header of plain values and host arrays."""
    arrays: HostArrays = {}
    header = {
        "backend": M._backend.name,
        "dtype": str(M.dtype),
        "setup": [M._setup.milliseconds, M._setup.first],
        "exponent": M._applied.exponent,
        "pattern": pack(M._pattern, "pattern", arrays),
        "scaling": pack(getattr(M._part, "scaling", None), "scaling", arrays),
        "part": pack(M._part.state(), "part", arrays),
    }
    return header, arrays


def restore(
    kind: str, state: tuple[dict[str, Any], HostArrays], source: str = "a pickled preconditioner"
) -> Preconditioner:
    """The preconditioner that was packed, on the GPU if it was there and a GPU is usable.

    All of it is checked on the host before any of it is used; `PreconditionerFileError` names the source.
    """
    header, arrays = checked_state(kind, state, source)
    backend = _restored_backend(header["backend"])
    names = "pattern", "scaling", "part"
    pattern, scaling, fields_of_part = (unpack(header[name], arrays, backend.xp) for name in names)
    with warnings.catch_warnings():  # the user was warned when it was made
        warnings.simplefilter("ignore", RuntimeWarning)
        part = RESTORERS[kind](**fields_of_part)
    part = part if scaling is None else ScaledPart(part, scaling)
    milliseconds, first = header["setup"]
    dtype = np.dtype(header["dtype"])
    setup = SetupTime(StoredTime(milliseconds), first)
    exponent = header["exponent"]
    return operator_of(part, pattern, dtype, setup, backend, pattern.digest, exponent)


def _restored_backend(name: str) -> Backend:
    if name == "cuda":
        usable, reason = cuda_status()
        if usable:
            return cast(Backend, importlib.import_module("linforest_precond.backends.cuda"))
        warn_user(f"the preconditioner was made on a GPU and is restored on the CPU: {reason}")
    return backend_of(np.empty(0))
