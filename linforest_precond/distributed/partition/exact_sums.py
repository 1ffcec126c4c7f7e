"""Inner products that are the same, bit for bit, for any number of ranks and any partition of the rows.

The backends sum the digits of products, which are integers (`backends/*/krylov/exact_digits.py`); one
allreduce adds up those of the ranks, and the sum is rounded once.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.host_numbers import BITS, DIGITS, LEAST, POSITIONS
from linforest_precond.distributed.partition.communicator import Communicator

Integers: TypeAlias = npt.NDArray[np.int64]


def inner(comm: Communicator, u: Array, v: Array) -> float | complex:
    """The inner product of two distributed vectors, with u conjugated.

    The same bits on every rank, for any number of ranks and any partition: the products are rounded to double
    precision, and of each product what is below 2**-96 of the largest one is dropped; their sum is exact, and
    rounded once. So the result is at least as accurate as a sum in double precision.

    Demmel & Nguyen, "Parallel reproducible summation", IEEE Trans. Comput. 64 (2015),
    doi:10.1109/TC.2014.2345391.

    Parameters
    ----------
    comm : Communicator
        The ranks, all of which call.
    u, v : (n_local,) arrays of NumPy or CuPy
        A rank's parts, real or complex.

    Returns
    -------
    float or complex
        NaN and infinity as in a plain sum; infinite where the result overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.distributed import inner, simulate
    >>> x = np.array([1e30, 1.0, -1e30, 2.0])
    >>> ones = np.ones(4)
    >>> set(simulate(2, lambda comm: inner(comm, x[comm.rank :: 2], ones[comm.rank :: 2])))
    {3.0}
    """
    u_is_complex, v_is_complex = (each.dtype.kind == "c" for each in (u, v))
    real, imaginary = Sum(), Sum()
    real.add(u.real, v.real)
    if u_is_complex and v_is_complex:
        real.add(u.imag, v.imag)
    if v_is_complex:
        imaginary.add(u.real, v.imag)
    if u_is_complex:
        imaginary.add(u.imag, v.real, sign=-1)
    sums = [real, imaginary] if u_is_complex or v_is_complex else [real]
    found = comm.allreduce(np.stack([part.words() for part in sums]))
    values = [value_of(words) for words in found]
    return complex(*values) if len(values) == 2 else values[0]


class Sum:
    """A sum of products of doubles on one rank, as integers."""

    def __init__(self) -> None:
        self.digits: Integers = np.zeros(POSITIONS, np.int64)
        self.leading: Integers = np.zeros(POSITIONS, np.int64)
        self.nonfinite: Integers = np.zeros(3, np.int64)

    def add(self, u: Array, v: Array, sign: int = 1) -> None:
        """Add the products of two real vectors, or subtract them."""
        exact_digits = backend_of(u).krylov.exact_digits
        exact_digits.add_products(u, v, sign, self.digits, self.leading, self.nonfinite)

    def words(self) -> Integers:
        """The words of the allreduce: sums of digits are split into 32 bits each, so that none overflows."""
        low = self.digits & (2**BITS - 1)
        return np.concatenate([low, self.digits >> BITS, self.leading, self.nonfinite])


def value_of(words: Integers) -> float:
    """The sum that the words of all ranks stand for, rounded to the nearest double."""
    nan, plus, minus = words[-3:].tolist()
    if nan or (plus and minus):
        return math.nan
    if plus or minus:
        return math.inf if plus else -math.inf
    low, high, leading = words[:-3].reshape(3, POSITIONS)
    occupied = np.flatnonzero(leading)
    if not occupied.size:
        return 0.0
    # Lower digits are dropped: whether a block kept them depends on the partition.
    first = int(occupied[-1]) - DIGITS + 1
    total = 0
    for above, below in zip(high[: first - 1 : -1].tolist(), low[: first - 1 : -1].tolist()):
        total = (total << BITS) + (above << BITS) + below
    return _rounded(total, (first + LEAST) * BITS)


def _rounded(integer: int, exponent: int) -> float:
    """integer * 2**exponent, infinite where it overflows; Python rounds to the nearest double."""
    try:
        return float(integer << exponent) if exponent >= 0 else integer / (1 << -exponent)
    except OverflowError:
        return math.inf if integer > 0 else -math.inf
