"""Preconditioners as the LinearOperators of SciPy and cupyx: what all kinds share.

An operator consists of a part that knows its kind (see `Part`) and of what is said here: products with
vectors of any shape and type, transposes, updates, storage and printing.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from linforest_precond.backends import backend_of, cuda_status
from linforest_precond.gate import as_csr
from linforest_precond.precond.packing import pack, unpack
from linforest_precond.precond.pattern_digest import PatternDigest, pattern_digest
from linforest_precond.precond.stored import result_dtype, stored_dtype
from linforest_precond.printing import as_table
from linforest_precond.records import CSR
from linforest_precond.user_warnings import warn_user
from linforest_precond.vectors import InPlaceOperator

LIBRARIES = {"cpu": "scipy.sparse.linalg", "cuda": "cupyx.scipy.sparse.linalg"}

# The class of the part that each kind of preconditioner has, filled by `part_of_kind`.
PARTS: dict[str, Any] = {}

# The combinations of kind, backend and types that this process has set up before: the first one compiles.
_seen: set[tuple[str, ...]] = set()


class Part(Protocol):
    """What a kind of preconditioner does; frozen, so that an update is made aside and then put in place.

    Attributes
    ----------
    kind, name
        As the public function is called, and the paper's name for it.
    n, stored
        Rows, and the type of the numbers that are kept.
    forest, ordering, bands
        None where there is none.
    coverage
        Share of the matrix's off-diagonal weight that is used.
    """

    kind: str
    name: str
    n: int
    stored: np.dtype
    forest: Any
    ordering: Any
    bands: Any
    coverage: float
    nbytes: int

    def solve_into(self, b: Any, x: Any, transpose: bool) -> None:
        """Apply to the columns of b; b and x are of type `stored` or its double-width one, not checked."""

    def refreshed(self, csr: CSR) -> Part:
        """The same part with the values of a matrix of the same pattern."""

    def state(self) -> dict[str, Any]:
        """Records, arrays and numbers that `storage` can write and the kind's `from_state` takes."""

    def described(self) -> list[tuple[str, str]]:
        """Lines for print."""


def part_of_kind(*kinds: str) -> Callable[[type], type]:
    """Let preconditioners of these kinds be restored with a class of parts."""

    def register(part: type) -> type:
        PARTS.update(dict.fromkeys(kinds, part))
        return part

    return register


class SetupTime:
    """How long a setup took, read from the stopwatch on demand, and whether compilation is in it."""

    def __init__(self, watch: Any, first: bool):
        self._watch = watch
        self.first = first

    @functools.cached_property
    def milliseconds(self) -> float:
        return float(self._watch.milliseconds())

    def __str__(self) -> str:
        return f"{self.milliseconds:.3f} ms" + (" with compilation" if self.first else "")


class _Products:
    """The methods of a LinearOperator, in terms of `_apply(r, transpose, conjugate)` for a checked r."""

    def _matvec(self, r):
        return self._apply(self._checked(r), False, False)

    def _rmatvec(self, r):
        return self._apply(self._checked(r), True, True)

    _matmat, _rmatmat = _matvec, _rmatvec

    def _transpose(self):
        return self._view(True, False)

    def _adjoint(self):
        return self._view(True, True)

    def matvec(self, x):
        """The product with a vector of shape (n,) or (n, 1)."""
        return self._apply(self._checked(x, most_columns=1), False, False)

    def rmatvec(self, x):
        """The adjoint's product with a vector of shape (n,) or (n, 1)."""
        return self._apply(self._checked(x, most_columns=1), True, True)

    def matmat(self, X):
        """The product with the columns of an array of shape (n, k)."""
        return self._apply(self._checked(X, fewest_axes=2), False, False)

    def rmatmat(self, X):
        """The adjoint's product with the columns of an array of shape (n, k)."""
        return self._apply(self._checked(X, fewest_axes=2), True, True)


class _View(_Products):
    """The transpose, adjoint or conjugate of a preconditioner, which it follows when that is updated."""

    def __init__(self, operator, transpose, conjugate):
        super().__init__(operator.dtype, operator.shape)
        self.operator, self.flags = operator, (transpose, conjugate)
        self._checked = operator._checked

    def _apply(self, r, transpose, conjugate):
        return self.operator._apply(r, self.flags[0] != transpose, self.flags[1] != conjugate)

    def _view(self, transpose, conjugate):
        return self.operator._view(self.flags[0] != transpose, self.flags[1] != conjugate)

    def __reduce__(self):
        return _view_of, (self.operator, *self.flags)


class Preconditioner(_Products, InPlaceOperator):
    """An approximate inverse of a matrix A, to be passed as ``M=`` to the solvers of A's own library.

    Made by `linforest_precond.tridiagonal`, `block_tridiagonal`, `jacobi` and `block_jacobi`. It is a
    `LinearOperator` of SciPy or cupyx, whichever A belongs to: ``M @ r``, ``M.T``, ``M.H``, one or several
    columns. The result of a product has the type that A and r have together, whatever type is stored.

    Attributes
    ----------
    forest : Forest, BlockForest or None
        What the order of the rows was found from.
    ordering : Ordering or None
        The order of the rows, where it is not A's and no ghosts fill it up.
    bands : Bands or None
        The entries of A that are used, in the stored type, before any repair.
    kind : str
        The name of the function that makes such an operator.
    coverage : float
        Share of A's off-diagonal weight that is used (Eq. 4 of Klein & Strzodka).
    stored_dtype : dtype
        The type of the numbers that are kept.
    nbytes : int
        Bytes held.
    """

    def __init__(
        self, part: Part, pattern: PatternDigest, dtype: np.dtype, setup: SetupTime, backend: Any, device: Any
    ):
        super().__init__(dtype, (part.n, part.n))
        self._part, self._pattern, self._setup = part, pattern, setup
        self._backend, self._device = backend, device

    kind = property(lambda self: self._part.kind)
    forest = property(lambda self: self._part.forest)
    ordering = property(lambda self: self._part.ordering)
    bands = property(lambda self: self._part.bands)
    stored_dtype = property(lambda self: self._part.stored)
    nbytes = property(lambda self: self._part.nbytes)
    coverage = property(lambda self: self._part.coverage)

    def update(self, A: Any) -> None:
        """Take the values of another matrix of the same pattern; the order of the rows stays.

        Parameters
        ----------
        A : sparse matrix or dense array
            On the operator's device, of the format, dtype, shape and pattern of the matrix it was made
            from: the same index arrays, explicit zeros included.

        Raises
        ------
        ValueError, TypeError
            For another pattern, which is named, and for all that `linforest_precond.tridiagonal` refuses.
            The operator is then as it was.

        Examples
        --------
        >>> import linforest_precond as lf
        >>> A = lf.matrices.poisson((20, 20))
        >>> M = lf.tridiagonal(A)
        >>> M.update(2 * A)
        """
        if backend_of(A) is not self._backend:
            raise TypeError(f"A must be on {self._backend.name} like the operator, got a {type(A).__name__}")
        watch = self._backend.runtime.stopwatch.Stopwatch()
        csr = as_csr(A)
        pattern = pattern_digest(A)
        self._pattern.require_same(pattern)
        part = self._part.refreshed(csr)
        watch.stop()
        self._part, self._setup = part, SetupTime(watch, False)

    def _apply(self, r, transpose, conjugate):
        """One product. Where r has the result's type, only the result is allocated.

        (And the conjugate of r for the adjoint of a complex operator: M^H r is conj(M^T conj(r)).)
        """
        xp, part = self._backend.xp, self._part
        result = result_dtype(self.dtype, r.dtype)
        x = xp.empty(r.shape, result)
        if not r.size:
            return x
        conjugate = conjugate and part.stored.kind == "c"
        given = r.astype(result, copy=False)
        given = given.conj() if conjugate else given
        self.apply_into(*(array.reshape(part.n, -1) for array in (given, x)), transpose)
        return xp.conj(x, out=x) if conjugate else x

    def apply_into(self, b: Any, x: Any, transpose: bool) -> None:
        """Apply the part to the columns of b, converted to types that it takes; shapes are not checked."""
        part, xp = self._part, self._backend.xp
        if b.dtype.kind == "c" and part.stored.kind != "c":  # a complex column is two real ones
            real = b.real.dtype
            b, x = xp.ascontiguousarray(b).view(real), x.view(real)
        if b.dtype.itemsize >= part.stored.itemsize:
            part.solve_into(b, x, transpose)
        else:
            wide = xp.empty(x.shape, part.stored)
            part.solve_into(b.astype(part.stored), wide, transpose)
            x[...] = wide

    def _checked(self, r, fewest_axes=1, most_columns=None):
        """The array that r is, or an exception that says why it cannot be used."""
        xp, n = self._backend.xp, self._part.n
        if not isinstance(r, xp.ndarray):
            if xp is not np or backend_of(r) is not self._backend:
                raise TypeError(
                    f"r must be on {self._backend.name} like the operator, got a {type(r).__name__}"
                )
            r = np.asarray(r)
        if getattr(r, "device", None) != self._device:
            raise TypeError(f"r must be on the operator's device, {self._device}, got one on {r.device}")
        if not fewest_axes <= r.ndim <= 2 or r.shape[0] != n:
            shapes = f"({n},) or ({n}, k)" if fewest_axes == 1 else f"({n}, k)"
            raise ValueError(f"r must have the shape {shapes}, got {r.shape}")
        if most_columns is not None and r.ndim == 2 and r.shape[1] != most_columns:
            raise ValueError(
                f"r must have the shape ({n},) or ({n}, 1), got {r.shape}; matmat takes several columns"
            )
        return np.asarray(r) if xp is np else r  # not np.matrix, which is always 2-D

    def _view(self, transpose, conjugate):
        return _view_of(self, transpose, conjugate) if transpose or conjugate else self

    def __reduce__(self):
        return restore, (self.kind, packed(self))

    def __str__(self) -> str:
        part = self._part
        stored = f"{part.stored}" + (f", applied to {self.dtype}" if part.stored != self.dtype else "")
        return as_table(
            part.name,
            ("rows", f"{part.n:,}"),
            ("numbers", stored),
            *part.described(),
            ("bytes held", f"{part.nbytes:,}"),
            ("setup", f"{self._setup} on {self._backend.name}"),
        )

    __repr__ = __str__


@functools.cache
def _class(kind: type, backend_name: str) -> type:
    """The kind as a LinearOperator of the backend's library, which is imported here and not before."""
    library = importlib.import_module(LIBRARIES[backend_name])
    name = f"{kind.__name__.strip('_')}_{backend_name}"
    return type(name, (kind, library.LinearOperator), {"__doc__": kind.__doc__, "__module__": __name__})


def _view_of(operator: Preconditioner, transpose: bool, conjugate: bool) -> Any:
    return _class(_View, operator._backend.name)(operator, transpose, conjugate)


def operator_of(
    part: Part, pattern: PatternDigest, dtype: np.dtype, setup: SetupTime, backend: Any, array: Any
) -> Any:
    """Put an operator together; `array` is any of its arrays, and tells the device."""
    device = getattr(array, "device", None)
    return _class(Preconditioner, backend.name)(part, pattern, dtype, setup, backend, device)


class Setup:
    """The setup of a preconditioner: A passes the gate, becomes a part, and the part becomes an operator.

    Attributes
    ----------
    csr : CSR
        The checked matrix.
    stored : dtype
        The type to store numbers in.
    """

    def __init__(self, A: Any, dtype: Any):
        self._matrix, self._backend = A, backend_of(A)
        self._watch = self._backend.runtime.stopwatch.Stopwatch()
        self.csr = as_csr(A)
        self.stored = stored_dtype(dtype, self.csr.data.dtype)

    def operator(self, part: Part) -> Any:
        """The operator that applies the part; the setup's time ends here."""
        csr, backend = self.csr, self._backend
        pattern = pattern_digest(self._matrix)
        self._watch.stop()
        types = part.name, backend.name, str(self.stored), str(csr.data.dtype), str(csr.indices.dtype)
        time = SetupTime(self._watch, first=types not in _seen)
        _seen.add(types)
        return operator_of(part, pattern, csr.data.dtype, time, backend, csr.data)


def packed(M: Preconditioner) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A preconditioner as plain values and host arrays."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        "backend": M._backend.name,
        "dtype": str(M.dtype),
        "setup": [M._setup.milliseconds, M._setup.first],
        "pattern": pack(M._pattern, "pattern", arrays),
        "part": pack(M._part.state(), "part", arrays),
    }
    return header, arrays


def restore(kind: str, state: tuple[dict[str, Any], dict[str, np.ndarray]]) -> Preconditioner:
    """The preconditioner that was packed, on the GPU if it was there and one is usable."""
    header, arrays = state
    backend = _restored_backend(header["backend"])
    pattern, fields_of_part = (unpack(header[name], arrays, backend.xp) for name in ("pattern", "part"))
    with warnings.catch_warnings():  # told when it was made
        warnings.simplefilter("ignore", RuntimeWarning)
        part = PARTS[kind].from_state(**fields_of_part)
    milliseconds, first = header["setup"]
    dtype = np.dtype(header["dtype"])
    return operator_of(part, pattern, dtype, SetupTime(_Told(milliseconds), first), backend, pattern.digest)


class _Told:
    """A stopwatch that was read before."""

    def __init__(self, milliseconds: float):
        self.milliseconds = lambda: milliseconds


def _restored_backend(name: str) -> Any:
    if name == "cuda":
        usable, reason = cuda_status()
        if usable:
            return importlib.import_module("linforest_precond.backends.cuda")
        warn_user(f"the preconditioner was made on a GPU and is restored on the CPU: {reason}")
    return backend_of(np.empty(0))
