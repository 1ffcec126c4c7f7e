"""Reproducible sums of float64 in fixed point.

A number is two integers, units of 2**-bits and of 2**-(bits + 32).
Integers add exactly, so a sum over ranks is the same for every grid and every order of an MPI reduction.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator

LOW_BITS = 32
# Bits for sums of at most 4, as of probabilities.
BITS_OF_PROBABILITIES = 60
# Bits for sums of up to 2**32 numbers of at most 1.
BITS_OF_MANY = 30


def encoded(values: Array, bits: int) -> tuple[Array, Array]:
    """Numbers, not negative, as units and lower units; the lower ones are truncated."""
    scaled = values * 2.0**bits
    units = np.floor(scaled)
    lower = np.floor((scaled - units) * 2.0**LOW_BITS)
    return units.astype(np.int64), lower.astype(np.int64)


def decoded(sums: Array, bits: int) -> Array:
    """The numbers of sums of units and of lower units, the two rows of an array."""
    units, lower = sums[0] + (sums[1] >> LOW_BITS), sums[1] & (2**LOW_BITS - 1)
    return np.ldexp(units + np.ldexp(lower.astype(np.float64), -LOW_BITS), -bits)


def sums_by_index(values: Array, index: Array, count: int, bits: int) -> Array:
    """Sums of encoded values with the same index: (2, count)."""
    sums = np.zeros((2, count), np.int64)
    for row, part in zip(sums, encoded(values, bits)):
        np.add.at(row, index, part)
    return sums


def total(comm: Communicator, values: Array) -> float:
    """The sum of numbers of all ranks, not negative."""
    largest = comm.largest(values.max(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(values, -exponent)
    sums = sums_by_index(scaled, np.zeros(values.size, np.int64), 1, BITS_OF_MANY)
    return float(np.ldexp(decoded(comm.allreduce(sums), BITS_OF_MANY), exponent)[0])
