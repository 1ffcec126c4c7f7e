"""Atomic operations on array entries, for kernels whose threads write to shared entries.

Numba has none for the CPU. `load` has acquire and `store` has release semantics, `exchange_if`
(compare-and-swap) has both: what a thread wrote before its `store` or exchange is visible to threads that
`load` the new value. `relaxed_load` and `relaxed_store` order nothing; they are plain instructions, where an
acquiring load of some processors waits for all earlier stores.
"""

import os

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _entry(context, builder, array_type, array, index):
    """The address of array[index]."""
    parts = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, parts, [index], wraparound=False)


def _read_modify_write(operation, array, value):
    """The signature and code of an atomic read-modify-write of one entry, which returns the old value."""
    signature = array.dtype(array, types.intp, array.dtype)

    def code(context, builder, signature, arguments):
        array, index, value = arguments
        place = _entry(context, builder, signature.args[0], array, index)
        return builder.atomic_rmw(operation, place, value, "monotonic")

    return signature, code


@intrinsic
def fetch_min(context, array, index, value):
    """Atomic minimum: lower array[index] to value if that is less; return the old value."""
    return _read_modify_write("min", array, value)


@intrinsic
def fetch_add(context, array, index, value):
    """Atomic addition of value to array[index]; return the old value."""
    return _read_modify_write("add", array, value)


@intrinsic
def exchange_if(context, array, index, expected, value):
    """Compare-and-swap: set array[index] to value if it equals expected; return the old value."""
    signature = array.dtype(array, types.intp, array.dtype, array.dtype)

    def code(context, builder, signature, arguments):
        array, index, expected, value = arguments
        place = _entry(context, builder, signature.args[0], array, index)
        found = builder.cmpxchg(place, expected, value, "acq_rel", "acquire")
        return builder.extract_value(found, 0)

    return signature, code


def _load(ordering, array):
    """The signature and code of an atomic load of one entry."""
    signature = array.dtype(array, types.intp)

    def code(context, builder, signature, arguments):
        place = _entry(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, ordering, array.dtype.bitwidth // 8)

    return signature, code


def _store(ordering, array):
    """The signature and code of an atomic store to one entry."""
    signature = types.void(array, types.intp, array.dtype)

    def code(context, builder, signature, arguments):
        array_, index, value = arguments
        place = _entry(context, builder, signature.args[0], array_, index)
        builder.store_atomic(value, place, ordering, array.dtype.bitwidth // 8)

    return signature, code


@intrinsic
def load(context, array, index):
    """Atomic load of array[index], acquire."""
    return _load("acquire", array)


@intrinsic
def relaxed_load(context, array, index):
    """Atomic load of array[index], which orders no other accesses."""
    return _load("monotonic", array)


@intrinsic
def store(context, array, index, value):
    """Atomic store to array[index], release."""
    return _store("release", array)


@intrinsic
def relaxed_store(context, array, index, value):
    """Atomic store to array[index], which orders no other accesses."""
    return _store("monotonic", array)


@intrinsic
def prefetch(context, array, index):
    """Fetch the cache line of array[index] for a later read."""
    signature = types.void(array, types.intp)

    def code(context, builder, signature, arguments):
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(_entry(context, builder, signature.args[0], *arguments), byte_pointer)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer], kind)
        builder.call(fetch, [place, word(0), word(3), word(1)])  # to read, into all levels, data

    return signature, code


# Called in spin loops: yields the core, possibly to the thread that the loop waits for.
if hasattr(os, "sched_yield"):
    give_way = types.ExternalFunction("sched_yield", types.int32())
else:

    @numba.njit
    def give_way():
        return 0


if numba.config.DISABLE_JIT:  # interpreted kernels, for debugging, have one thread

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

    def prefetch(array, index):
        pass

    relaxed_load, relaxed_store = load, store

    def give_way():
        return 0
