"""The range of floating-point numbers: exponents of largest magnitudes, exact scaling by powers of two.

Comparisons are exact for subnormal numbers: CuPy compiles with --ftz=true, which flushes them to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import on_host, xp_of

# The exponent of 0, below that of every number.
NO_EXPONENT = -10_000
# Solvers scale systems whose largest numbers have exponents beyond these limits, by the bytes of a real
# number. Within them, no inner product (in double precision) overflows or underflows.
SOLVER_LIMIT = {4: 40, 8: 200}


def exponent_of(values: Array) -> int:
    """The binary exponent e of the largest magnitude m, 2**(e - 1) <= m < 2**e; `NO_EXPONENT` for zeros.

    The magnitude of a complex number counts as the larger one of its parts'.
    """
    parts: Any = _real_parts(values.reshape(-1, 1))
    if xp_of(values) is not np or not values.size:
        return int(column_exponents(values.reshape(-1, 1))[0])
    largest = max(float(parts.max()), -float(parts.min()))  # subnormal numbers are exact on the host
    return int(np.frexp(largest)[1]) if largest > 0 else NO_EXPONENT


def least_exponent_of(values: Array) -> int:
    """The binary exponent of the smallest nonzero magnitude; `NO_EXPONENT` for zeros."""
    bits = magnitude_bits(_real_parts(values.reshape(-1, 1)).reshape(-1))
    bits = bits[bits > 0]
    if not bits.size:
        return NO_EXPONENT
    least = bits.min(keepdims=True)
    found = on_host(least)  # stall: at the edge of the range alone
    return int(np.frexp(found.view(values.real.dtype).astype(np.float64))[1][0])


def column_exponents(columns: Array) -> Any:
    """`exponent_of` of each column of an (n, k) array, as an array on the host."""
    if not columns.size:
        return np.full(columns.shape[1], NO_EXPONENT)
    bits = magnitude_bits(_real_parts(columns)).max(axis=(0, 2))
    found = on_host(bits)  # stall: decides whether the numbers are scaled
    largest = found.view(columns.real.dtype).astype(np.float64)
    return np.where(largest > 0, np.frexp(largest)[1], NO_EXPONENT)


def shifted(values: Array, exponent: Any) -> Array:
    """values * 2**exponent: exact, but for numbers that leave the range. One exponent, or one per column."""
    if not values.size:
        return values.copy()
    xp = xp_of(values)
    columns = values.reshape(len(values), -1)
    parts, power = _real_parts(columns), xp.asarray(exponent, dtype=np.int32).reshape(-1, 1)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        shift_parts = _shifted_single if parts.dtype == np.float32 else xp.ldexp
        scaled = shift_parts(parts, power)
    return xp.ascontiguousarray(scaled).view(values.dtype).reshape(values.shape)


def _shifted_single(parts: Array, power: Array) -> Array:
    """`shifted` for single precision, in double: CuPy's functions flush subnormal numbers to 0."""
    xp = xp_of(parts)
    bits, word = magnitude_bits(parts), parts.view(np.int32)
    subnormal = bits < 2**23
    wide = xp.where(subnormal, xp.ldexp(bits.astype(np.float64), -149), abs(parts).astype(np.float64))
    wide = xp.ldexp(wide, power)
    small = xp.rint(xp.ldexp(xp.minimum(wide, 2.0**-126), 149)).astype(np.int32)
    found = xp.where(wide < 2.0**-126, small, wide.astype(np.float32).view(np.int32))
    return (found | (word & np.int32(-(2**31)))).view(np.float32)


def shift(values: Array, exponent: int) -> None:
    """Multiply by 2**exponent in place; nothing is allocated.

    Exact like `shifted`, except that CuPy takes subnormal numbers of single precision for 0.
    """
    xp = xp_of(values)
    with np.errstate(over="ignore", under="ignore"):
        for part in (values.real, values.imag) if values.dtype.kind == "c" else (values,):
            xp.ldexp(part, np.int32(exponent), out=part)


def solver_limit(dtype: DType) -> int:
    """The exponent beyond which solvers scale numbers of a type."""
    return SOLVER_LIMIT[np.finfo(dtype).bits // 8]


def exponents_outside(columns: Array, norms: Any) -> Any:
    """`column_exponents` where they are beyond the solvers' limit, 0 elsewhere."""
    limit = solver_limit(columns.dtype)
    if ((norms >= 2.0**-limit) & (norms <= 2.0**limit)).all():
        return np.zeros(norms.shape, np.int64)
    found = column_exponents(columns)
    return np.where((abs(found) > limit) & (found != NO_EXPONENT), found, 0)


def _real_parts(columns: Array) -> Array:
    """The parts of an (n, k) array's numbers, (n, k, 1) or (n, k, 2)."""
    xp = xp_of(columns)
    parts: Array = xp.ascontiguousarray(columns).view(columns.real.dtype)
    return parts.reshape(*columns.shape, -1 if columns.size else 1)


def magnitude_bits(values: Array) -> Array:
    """The bits of real numbers without their signs, as integers that compare as the magnitudes do."""
    word = np.dtype(f"i{values.dtype.itemsize}")
    return values.view(word) & np.iinfo(word).max


def is_nonzero(values: Array) -> Array:
    """A mask of nonzero real numbers."""
    return magnitude_bits(values) != 0


def nonzero_entries(values: Array) -> Array:
    """A mask of nonzero real or complex numbers, for an array of at most two axes."""
    columns = values.reshape(-1, 1) if values.ndim == 1 else values
    parts: Any = is_nonzero(_real_parts(columns))
    return parts.any(axis=2).reshape(values.shape)
