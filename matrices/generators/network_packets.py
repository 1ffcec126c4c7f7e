"""Synthetic network packets whose sources and destinations follow power laws.

Every packet is a hash of its number and the seed, in integers only, so that both devices and any part of a
sequence give the same packets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer, as_number
from linforest_precond.backends.hash_keys import VERTEX_STRIDE, iteration_keys, mixed
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import Device, array_modules

# The distribution of ranks is piecewise constant, with this number of steps for each factor of two.
STEPS_PER_OCTAVE = 8
# Packets that are generated at a time: temporary arrays have this size.
AT_ONCE = 2**22
LARGEST_SCALE = 40


@named_arguments
def packets(
    scale: int,
    *,
    exponent: float = 1.2,
    offset: float = 10.0,
    address_bits: int = 32,
    seed: int = 0,
    first: int = 0,
    device: Device = None,
) -> tuple[Array, Array]:
    """The addresses of 2**scale synthetic packets, with few busy hosts and many that occur once.

    Sources and destinations are drawn independently. The host of rank r = 0, 1, 2 ... has a probability
    proportional to (r + offset)**-exponent (Zipf-Mandelbrot), constant between neighbouring ones of
    STEPS_PER_OCTAVE ranks per factor of two, and an address that depends on the rank in a scrambled way.

    Parameters
    ----------
    scale : int
        Logarithm of the number of packets, 0 to 40.
    exponent : float
        Of the power law; positive. A larger one gives fewer hosts.
    offset : float
        Positive; flattens the head of the power law.
    address_bits : int
        1 to 32: addresses lie in [0, 2**address_bits), one for each host.
    seed : int
    first : int
        The number of the first packet: ``first = k << scale`` gives the k-th part of a longer sequence.
    device : {None, "cpu", "cuda"}
        Where the packets are generated; they are the same.

    Returns
    -------
    sources, destinations : arrays of uint32

    References
    ----------
    J. Kepner, K. Cho, KC Claffy, V. Gadepally, P. Michaleas, L. Milechin, "Hypersparse Neural Network
    Analysis of Large-Scale Internet Traffic" (2019), doi:10.1109/HPEC.2019.8916263: Zipf-Mandelbrot laws in
    measured traffic.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> sources, destinations = matrices.packets(16)
    >>> sources.size, sources.dtype.name
    (65536, 'uint32')
    """
    scale = as_integer("scale", scale, 0, LARGEST_SCALE)
    bits = as_integer("address_bits", address_bits, 1, 32)
    seed, first = as_integer("seed", seed), as_integer("first", first)
    _check(scale, exponent, offset, first)
    xp, _ = array_modules(device)
    found = xp.empty((2, 1 << scale), np.uint32)
    tables = [xp.asarray(table) for table in _steps(exponent, offset, bits)]
    for begin in range(0, 1 << scale, AT_ONCE):
        numbers = xp.arange(first + begin, first + min(begin + AT_ONCE, 1 << scale), dtype=np.uint64)
        for side in (0, 1):
            ranks = _ranks(xp, numbers, _key(seed, 2 * side), *tables)
            found[side, begin : begin + AT_ONCE] = _scrambled(ranks, _key(seed, 2 * side + 1), bits)
    return found[0], found[1]


def _steps(exponent: float, offset: float, bits: int) -> tuple[Array, Array, Array]:
    """Bounds of the cumulative distribution as 64-bit words; first rank and number of ranks of each step."""
    octaves = np.arange(STEPS_PER_OCTAVE * bits + 1) / STEPS_PER_OCTAVE
    edges = np.unique(np.concatenate([[0], np.round(2.0**octaves)])).astype(np.uint64)
    masses = [
        _mass(float(a) + offset, float(b) + offset, exponent) for a, b in zip(edges, edges[1:], strict=False)
    ]
    total, sums = math.fsum(masses), np.cumsum(masses)
    if not 0 < total < math.inf:
        raise ValueError(f"exponent must be less far from 1 with offset {offset}, got {exponent}")
    bounds = [min(int(part / total * 2**64), 2**64 - 1) for part in sums[:-1].tolist()]
    return np.array(bounds, np.uint64), edges[:-1], np.diff(edges)


def _mass(begin: float, end: float, exponent: float) -> float:
    """The integral of x**-exponent, without cancellation near exponent 1."""
    power, ratio = 1.0 - exponent, math.log(end / begin)
    return begin**power * (math.expm1(power * ratio) / power if power else ratio)


def _key(seed: int, stream: int) -> Any:
    """The key of one of four streams of hashes."""
    return iteration_keys(seed, stream)[0]


def _ranks(xp: Any, numbers: Array, key: Any, bounds: Array, firsts: Array, counts: Array) -> Array:
    """The rank of a host for each number: a step by its probability, a rank in it by the hash of the hash."""
    words = _hashed(numbers, key)
    step = xp.searchsorted(bounds, words, side="right")
    # The high half of a product of two 32-bit numbers: uniform in the step.
    within = ((_hashed(words, key) >> np.uint64(32)) * counts[step]) >> np.uint64(32)
    return firsts[step] + within


def _hashed(numbers: Array, key: Any) -> Array:
    return mixed(numbers * VERTEX_STRIDE + key)


def _scrambled(ranks: Array, key: Any, bits: int) -> Array:
    """A permutation of [0, 2**bits): odd multipliers and shifts of the upper half are invertible."""
    mask, half = np.uint64(2**bits - 1), np.uint64((bits + 1) // 2)
    words = (ranks + key) & mask
    for shift in (np.uint64(0), np.uint64(32)):
        words = (words * ((key >> shift) | np.uint64(1))) & mask
        words = words ^ (words >> half)
    return words.astype(np.uint32)


def _check(scale: int, exponent: float, offset: float, first: int) -> None:
    for name, value in (("exponent", exponent), ("offset", offset)):
        if not 0 < as_number(name, value) < math.inf:
            raise ValueError(f"{name} must be a positive number, got {value}")
    if not 0 <= first <= 2**63 - (1 << scale):
        raise ValueError(f"first must be a number from 0 to 2**63 - 2**scale, got {first}")
