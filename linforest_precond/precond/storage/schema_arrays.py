"""Arrays in schemas: their types, shapes and contents."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checks import VALUE_DTYPES
from linforest_precond.precond.storage.schema import Scope

INDEX_DTYPES = np.dtype(np.int32), np.dtype(np.int64)
UNSIGNED_DTYPES = np.dtype(np.uint32), np.dtype(np.uint64)
REAL_DTYPES = tuple(dtype for dtype in VALUE_DTYPES if dtype.kind == "f")


class ArrayOf:
    """An array of a shape of numbers and names, of one of these types; `dtype` is the name of its type.

    The array of a field has the field's name, so no two fields share one.
    """

    def __init__(self, shape: tuple[int | str, ...], dtypes: tuple[DType, ...], dtype: str | None):
        self.shape, self.dtypes, self.dtype = shape, dtypes, dtype

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and "array" in value

    def check(self, value: Any, scope: Scope) -> Array:
        if value != {"array": scope.path}:
            scope.fail("refer to the array of its own name", value)
        array = scope.given.get(scope.path)
        if not isinstance(array, np.ndarray):
            scope.fail("have an array of its name", type(array).__name__)
        dtype = self._checked_dtype(array, scope)
        self._check_shape(array, scope)
        array = np.ascontiguousarray(array, dtype)
        self.check_contents(array, scope)
        scope.checked[scope.path] = array
        return array

    def check_contents(self, array: Array, scope: Scope) -> None:
        """For subclasses; the names of the shape are known."""

    def _checked_dtype(self, array: Array, scope: Scope) -> DType:
        """In the machine's byte order."""
        dtype = array.dtype.newbyteorder("=") if array.dtype.kind in "iufc" else array.dtype
        if dtype not in self.dtypes:
            scope.fail(f"have the type {' or '.join(map(str, self.dtypes))}", str(array.dtype))
        if self.dtype is not None:
            scope.require(self.dtype, dtype, "type")
        return dtype

    def _check_shape(self, array: Array, scope: Scope) -> None:
        if array.ndim != len(self.shape):
            scope.fail(f"have {len(self.shape)} dimensions", array.shape)
        for wanted, size in zip(self.shape, array.shape):
            if isinstance(wanted, str):
                scope.require(wanted, size, "length")
            elif size != wanted:
                scope.fail(f"have the shape ({', '.join(map(str, self.shape))})", array.shape)


class Numbers(ArrayOf):
    """Finite numbers; all numbers of a preconditioner have one type, `value`."""

    def __init__(self, *shape: int | str, real: bool = False):
        super().__init__(shape, REAL_DTYPES if real else VALUE_DTYPES, None if real else "value")

    def check_contents(self, array: Array, scope: Scope) -> None:
        finite = np.isfinite(array)
        if not finite.all():
            scope.fail("be finite", array[~finite][0].item())


class OwnNumbers(Numbers):
    """Finite numbers in the precision of the matrix, which may be another one than that of `value`."""

    def __init__(self, *shape: int | str):
        ArrayOf.__init__(self, shape, VALUE_DTYPES, None)


class Indices(ArrayOf):
    """Integers from `least` on: below the value of one name, or at most that of another.

    All index arrays of a table have one type, `index`, unless another name is given.
    """

    def __init__(
        self,
        *shape: int | str,
        least: int = 0,
        below: str | None = None,
        most: str | None = None,
        dtype: str = "index",
    ):
        super().__init__(shape, INDEX_DTYPES, dtype)
        self.least, self.below, self.most = least, below, most

    def check_contents(self, array: Array, scope: Scope) -> None:
        if array.size and int(array.min()) < self.least:
            scope.fail(f"hold numbers from {self.least} on", int(array.min()))
        for name, last in ((self.below, -1), (self.most, 0)):
            if name is not None and array.size and int(array.max()) > scope.names[name] + last:
                scope.fail(f"hold numbers up to {scope.names[name] + last}", int(array.max()))


class Pointers(ArrayOf):
    """Row pointers of a CSR matrix of `rows` rows: from 0, never falling, to the number of `entries`."""

    def __init__(self, rows: str, entries: str):
        super().__init__((f"{rows} + 1",), INDEX_DTYPES, "index")
        self.rows, self.entries = rows, entries

    def check_contents(self, array: Array, scope: Scope) -> None:
        if not array.size or array[0] != 0:
            scope.fail("begin with 0", reprlib.repr(array[:1].tolist()))
        if (array[1:] < array[:-1]).any():
            scope.fail("not fall", "smaller numbers after larger ones")
        scope.require(self.rows, array.size - 1, "number of rows")
        scope.require(self.entries, int(array[-1]), "number of entries")


class Counts(ArrayOf):
    """Small arrays of integers that are not negative, signed or unsigned."""

    def __init__(self, *shape: int | str):
        super().__init__(shape, (*INDEX_DTYPES, *UNSIGNED_DTYPES), None)

    def check_contents(self, array: Array, scope: Scope) -> None:
        if array.size and int(array.min()) < 0:
            scope.fail("not be negative", int(array.min()))


class Marks(ArrayOf):
    """Zeros and ones, in bytes."""

    def __init__(self, *shape: int | str):
        super().__init__(shape, (np.dtype(np.uint8),), None)

    def check_contents(self, array: Array, scope: Scope) -> None:
        if array.size and int(array.max()) > 1:
            scope.fail("hold zeros and ones", int(array.max()))


class Words(ArrayOf):
    """64-bit words, of any value."""

    def __init__(self, *shape: int | str):
        super().__init__(shape, (np.dtype(np.uint64),), None)
