"""Inner products that do not depend on the partition: against exact rational sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import random_offsets

from linforest_precond.backends.cpu.krylov import exact_digits
from linforest_precond.distributed import inner, simulate
from linforest_precond.distributed.partition.exact_sums import Sum, value_of

doubles = st.floats(allow_nan=False, allow_infinity=False)


def over_ranks(size, offsets, u, v):
    """The inner product as every rank has it: one value."""

    def part(comm):
        own = slice(offsets[comm.rank], offsets[comm.rank + 1])
        return inner(comm, u[own], v[own])

    found = simulate(size, part)
    assert len({str(value) for value in found}) == 1
    return found[0]


def exact(products):
    """The exact sum of doubles, rounded to a double."""
    total = sum(map(Fraction, products), Fraction(0))
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return math.copysign(math.inf, total)


@given(x=st.lists(doubles, max_size=30), size=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_sums_of_any_doubles_do_not_depend_on_the_partition(x, size, seed):
    x, rng = np.array(x, np.float64), np.random.default_rng(seed)
    ones = np.ones(x.size)
    found = over_ranks(1, [0, x.size], x, ones)
    order = rng.permutation(x.size)
    assert over_ranks(size, random_offsets(x.size, size, seed), x[order], ones) == found
    if math.isfinite(found):
        dropped = Fraction(max(map(abs, x), default=0.0)) * x.size / 2**95
        assert abs(sum(map(Fraction, x)) - Fraction(found)) <= dropped + Fraction(math.ulp(found)) / 2


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 8),
    dtype=st.sampled_from("fdFD"),
    other=st.sampled_from("fdFD"),
)
def test_inner_products_are_correctly_rounded(seed, size, dtype, other):
    rng = np.random.default_rng(seed)
    u, v = (
        ((rng.standard_normal(20) + 1j * rng.standard_normal(20)) * 2.0 ** rng.integers(-8, 8, 20)).astype(
            kind
        )
        if kind in "FD"
        else (rng.standard_normal(20) * 2.0 ** rng.integers(-8, 8, 20)).astype(kind)
        for kind in (dtype, other)
    )
    a, b = u.astype(complex), v.astype(complex)
    real = exact(np.concatenate([a.real * b.real, a.imag * b.imag]))
    imaginary = exact(np.concatenate([a.real * b.imag, -a.imag * b.real]))
    found = over_ranks(size, random_offsets(20, size, seed), u, v)
    assert found == complex(real, imaginary)
    assert isinstance(found, complex if {dtype, other} & set("FD") else float)


def test_long_vectors_have_several_blocks():
    rng = np.random.default_rng(5)
    n = 3 * exact_digits.BLOCK + 17
    # Blocks with leading digits far apart, in both orders.
    for scale in (np.linspace(-140, 140, n), np.linspace(140, -140, n)):
        u, v = rng.standard_normal(n) * 2.0 ** np.rint(scale), rng.standard_normal(n)
        expected = math.fsum(u * v)
        for size in (1, 2, 5):
            assert over_ranks(size, random_offsets(n, size, size), u, v) == expected


def test_cancellation_keeps_what_double_precision_would_lose():
    x = np.array([1e20, 1.0, -1e20, 2.0**-20])
    for order in itertools.permutations(range(4)):
        assert over_ranks(2, [0, 2, 4], x[list(order)], np.ones(4)) == 1.0 + 2.0**-20


def test_what_is_dropped_depends_on_the_largest_product_only():
    # 2**-200 is far below the last digit of 1, also where it is alone in its block or on its rank.
    x, ones = np.array([1.0, 2.0**-200, -1.0]), np.ones(3)
    for offsets in ([0, 3, 3], [0, 1, 3], [0, 2, 3], [0, 0, 3]):
        assert over_ranks(2, offsets, x, ones) == 0.0


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([np.nan, 1.0], np.nan),
        ([np.inf, 1.0], np.inf),
        ([-np.inf, 1.0], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([1.7e308, 1.7e308], np.inf),
        ([-1.7e308, -1.7e308], -np.inf),
        ([1.7e308, 1.7e308, -1.7e308, -1.7e308], 0.0),
        ([5e-324, 5e-324], 1e-323),
        ([5e-324, -5e-324], 0.0),
        ([-0.0, 0.0], 0.0),
        ([], 0.0),
    ],
)
def test_the_edges_of_the_number_range(x, expected):
    x = np.array(x, np.float64)
    for size in (1, 2, 3):
        found = over_ranks(size, random_offsets(x.size, size, 1), x, np.ones(x.size))
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def test_subtracted_infinities():
    # The imaginary part of conj(i inf) 1 is minus infinity.
    found = over_ranks(1, [0, 1], np.array([complex(0.0, np.inf)]), np.array([1.0]))
    assert found.imag == -np.inf


def test_products_may_overflow_and_vanish():
    x = np.array([1e200, 1.0])
    assert over_ranks(2, [0, 1, 2], x, x) == np.inf
    assert over_ranks(2, [0, 1, 2], 1 / x, 1 / x) == 1.0


def test_sums_of_very_many_digits_do_not_overflow():
    one = Sum()
    one.add(np.full(5000, -3.7e11), np.ones(5000))
    words = one.words() * 2**24  # as many ranks
    assert value_of(words) == 2.0**24 * math.fsum([-3.7e11] * 5000)


def test_strided_and_read_only_vectors():
    x = np.random.default_rng(1).standard_normal((50, 3))
    x.flags.writeable = False
    assert over_ranks(1, [0, 50], x[:, 1], x[:, 2]) == exact(x[:, 1] * x[:, 2])


def test_one_collective_call():
    def count(comm):
        inner(comm, np.ones(3), np.ones(3))
        return comm.counters.collectives, comm.counters.messages

    assert simulate(3, count) == [(1, 0)] * 3
