"""Atomic operations on the entries of arrays, for kernels whose threads write to one another's entries.

Numba has none of its own for the CPU. `load` acquires, `store` releases, `exchange_if` does both: what a
thread wrote before its `store` or exchange is seen by those that `load` the new value.
"""

import os

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _entry(context, builder, array_type, array, index):
    """The address of array[index]."""
    parts = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, parts, [index], wraparound=False)


def _read_modify_write(operation, array, value):
    """The type and code of an operation on one entry that gives what was there before."""
    signature = array.dtype(array, types.intp, array.dtype)

    def code(context, builder, signature, arguments):
        array, index, value = arguments
        place = _entry(context, builder, signature.args[0], array, index)
        return builder.atomic_rmw(operation, place, value, "monotonic")

    return signature, code


@intrinsic
def fetch_min(context, array, index, value):
    """Lower array[index] to value where that is less; gives what was there."""
    return _read_modify_write("min", array, value)


@intrinsic
def fetch_add(context, array, index, value):
    """Add value to array[index]; gives what was there."""
    return _read_modify_write("add", array, value)


@intrinsic
def exchange_if(context, array, index, expected, value):
    """Set array[index] to value if it is as expected; gives what was there."""
    signature = array.dtype(array, types.intp, array.dtype, array.dtype)

    def code(context, builder, signature, arguments):
        array, index, expected, value = arguments
        place = _entry(context, builder, signature.args[0], array, index)
        found = builder.cmpxchg(place, expected, value, "acq_rel", "acquire")
        return builder.extract_value(found, 0)

    return signature, code


@intrinsic
def load(context, array, index):
    """Give array[index] as some thread has stored it last."""
    signature = array.dtype(array, types.intp)

    def code(context, builder, signature, arguments):
        place = _entry(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, "acquire", array.dtype.bitwidth // 8)

    return signature, code


@intrinsic
def store(context, array, index, value):
    """Set array[index]."""
    signature = types.void(array, types.intp, array.dtype)

    def code(context, builder, signature, arguments):
        array_, index, value = arguments
        place = _entry(context, builder, signature.args[0], array_, index)
        builder.store_atomic(value, place, "release", array.dtype.bitwidth // 8)

    return signature, code


# A thread that waits lets another run on its core, which may be the one it waits for.
if hasattr(os, "sched_yield"):
    give_way = types.ExternalFunction("sched_yield", types.int32())
else:

    @numba.njit
    def give_way():
        return 0


if numba.config.DISABLE_JIT:  # for stepping through the Python code, with one thread

    def fetch_min(array, index, value):
        before = array[index]
        array[index] = min(before, value)
        return before

    def fetch_add(array, index, value):
        before = array[index]
        array[index] += value
        return before

    def exchange_if(array, index, expected, value):
        before = array[index]
        array[index] = value if before == expected else before
        return before

    def load(array, index):
        return array[index]

    def store(array, index, value):
        array[index] = value

    def give_way():
        return 0
