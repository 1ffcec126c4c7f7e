"""Reproducible sums of float64 in fixed point.

A number is two integers, units of 2**-bits and of 2**-(bits + 32).
Integers add exactly, so a sum over ranks is the same for every grid and every order of an MPI reduction.
"""

from __future__ import annotations

import math

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.communicator import Communicator

LOW_BITS = 32
# Bits for sums of at most 4, as of probabilities.
BITS_OF_PROBABILITIES = 60
# Bits for sums of up to 2**32 numbers of at most 1.
BITS_OF_MANY = 30


def encoded(values: Array, bits: int) -> tuple[Array, Array]:
    """Numbers, not negative, as units and lower units; the lower ones are truncated."""
    xp, scaled = xp_of(values), values * 2.0**bits
    units = xp.floor(scaled)
    lower = xp.floor((scaled - units) * 2.0**LOW_BITS)
    return units.astype(np.int64), lower.astype(np.int64)


def decoded(sums: Array, bits: int) -> Array:
    """The numbers of sums of units and of lower units, the two rows of an array."""
    units, lower = sums[0] + (sums[1] >> LOW_BITS), sums[1] & (2**LOW_BITS - 1)
    return (units + lower.astype(np.float64) * 2.0**-LOW_BITS) * 2.0**-bits


def sums_by_index(backend: Backend, values: Array, index: Array, count: int, bits: int) -> Array:
    """Sums of encoded values with the same index: (2, count)."""
    sums = backend.xp.zeros((2, count), np.int64)
    for row, part in zip(sums, encoded(values, bits)):
        backend.csgraph.grid_blocks.add_at(row, index, part)
    return sums


def sums_of(values: Array, bits: int) -> list[int]:
    """The sums of encoded values."""
    return [int(part.sum()) for part in encoded(values, bits)]  # stall: a number of all ranks


def total(comm: Communicator, values: Array) -> float:
    """The sum of numbers of all ranks, not negative."""
    largest = comm.largest(float(values.max()) if values.size else 0.0)
    exponent = math.frexp(largest)[1]
    sums = sums_of(xp_of(values).ldexp(values, -exponent), BITS_OF_MANY)
    return float(np.ldexp(decoded(comm.allreduce(np.array(sums)), BITS_OF_MANY), exponent))
