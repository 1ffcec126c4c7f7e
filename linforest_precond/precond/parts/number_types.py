"""Types of stored numbers and of products, and the bytes that objects hold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_dtype
from linforest_precond.backends.array_libraries import address, is_array, xp_of
from linforest_precond.backends.flags import all_set
from linforest_precond.matrix.checks import VALUE_DTYPES
from linforest_precond.precond.parts.work_vectors import WorkVectors


def stored_dtype(dtype: npt.DTypeLike | None, of_matrix: DType) -> DType:
    """The type to store numbers in: `dtype`, or the matrix's own by default."""
    if dtype is None:
        return of_matrix
    stored = as_dtype("dtype", dtype)
    if stored not in VALUE_DTYPES or stored.kind != of_matrix.kind:
        choices = ", ".join(str(value) for value in VALUE_DTYPES if value.kind == of_matrix.kind)
        raise TypeError(f"dtype must be None or one of {choices} for a matrix of {of_matrix}, got {stored}")
    return stored


def stored_array(array: Array, dtype: DType, exponent: int | None = None) -> Array:
    """The array in the stored type; ValueError where a narrower type overflows.

    No entry is looked at where all magnitudes are known to be below ``2**exponent`` and that does not
    overflow.
    """
    if array.dtype == dtype:
        return array
    if exponent is not None and exponent <= np.finfo(dtype).maxexp - 1:
        return array.astype(dtype)
    with np.errstate(over="ignore"):
        stored = array.astype(dtype)
    # stall: for narrower types only
    if dtype.itemsize < array.dtype.itemsize and not all_set(xp_of(array).isfinite(stored)):
        raise ValueError(
            f"A's entries differ too much in size for dtype {dtype}; scale A or leave dtype at {array.dtype}"
        )
    return stored


def stored_arrays(arrays: Sequence[Array], dtype: DType, exponents: Sequence[int | None]) -> list[Array]:
    """`stored_array` of several arrays: at once, where none needs to be looked at."""
    largest = np.finfo(dtype).maxexp - 1
    if all(exponent is not None and exponent <= largest for exponent in exponents):
        return backend_of(arrays[0]).matrix.copies.converted(arrays, dtype)
    return [stored_array(array, dtype, exponent) for array, exponent in zip(arrays, exponents, strict=True)]


def held_bytes(*things: Any) -> int:
    """The bytes of all arrays in records, objects of this package and tuples, each counted once."""
    arrays: dict[int, int] = {}
    seen: set[int] = set()  # objects may refer to each other in cycles
    pending = list(things)
    while pending:
        thing = pending.pop()
        if is_array(thing):
            start = address(thing)
            arrays[start] = max(thing.nbytes, arrays.get(start, 0))
        elif isinstance(thing, tuple | list):
            pending += thing
        elif type(thing).__module__.startswith("linforest_precond") and not isinstance(thing, WorkVectors):
            pending += () if id(thing) in seen else getattr(thing, "__dict__", {}).values()
            seen.add(id(thing))
    return sum(arrays.values())


def is_same_memory(one: Array, other: Array) -> bool:
    """Whether two contiguous arrays of a device hold the same numbers in the same place."""
    return bool(address(one) == address(other) and (one.dtype, one.size) == (other.dtype, other.size))


@functools.cache
def result_dtype(of_operator: DType, of_vector: DType) -> DType:
    is_number = of_vector.kind in "biufc" and of_vector != np.float16  # which solvers refuse, too
    if not is_number or np.promote_types(of_operator, of_vector) not in VALUE_DTYPES:
        raise TypeError(
            f"r must hold numbers of single or double precision, got {of_vector}; convert it by r.astype(...)"
        )
    return np.promote_types(of_operator, of_vector)
