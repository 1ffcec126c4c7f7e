"""MD5 (RFC 1321) of short messages, for the charges of vertices, and its first quarter, for their colours.

The same on every backend (kernels/runtime/md5.cuh), and the same as `hashlib.md5`.
"""

import numpy as np

from .hashing import SHIFT_11
from .jit import helper

# One for each of the 64 operations; the shifts of four operations repeat within each round of 16.
SINES = np.floor(2.0**32 * np.abs(np.sin(np.arange(1.0, 65.0)))).astype(np.uint32)
SHIFTS = np.array([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], np.uint32)
# The word of the message that operation i of a round takes is (factor * i + offset) % 16.
FACTORS, OFFSETS = np.array([1, 5, 3, 7]), np.array([0, 1, 5, 0])
INITIAL = tuple(np.uint32(word) for word in (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476))

NOTHING = np.uint32(0)
# The message is followed by a bit 1 and ends with its length in bits: three 64-bit numbers.
PADDING, LENGTH = np.uint32(0x80), np.uint32(192)
BITS_32, SHIFT_32 = np.uint32(32), np.uint64(32)


# Whether the charge of a vertex is positive; `threshold` is the probability times 2**53.
@helper
def is_positive_md5(vertex, k, seed, threshold):
    return (md5_of(np.uint64(vertex), k, seed) >> SHIFT_11) < threshold


# The first 8 bytes of the digest of three 64-bit numbers, all little-endian.
@helper
def md5_of(first, second, third):
    message = (
        np.uint32(first), np.uint32(first >> SHIFT_32), np.uint32(second), np.uint32(second >> SHIFT_32),
        np.uint32(third), np.uint32(third >> SHIFT_32), PADDING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
        NOTHING, NOTHING, LENGTH, NOTHING,
    )  # fmt: skip
    a, b, c, d = INITIAL
    for i in range(64):
        part = i // 16
        word = message[(FACTORS[part] * i + OFFSETS[part]) % 16]
        a, b, c, d = d, operated(i, a, b, c, d, word), b, c
    low, high = np.uint32(INITIAL[0] + a), np.uint32(INITIAL[1] + b)
    return np.uint64(low) | (np.uint64(high) << SHIFT_32)


# The colour hash of a vertex, Algorithm 4 of Fagginger Auer & Bisseling (2012): the first 16 operations of
# MD5 on the words v, r v, r^2 v ... modulo 2**32. The hash is added to in each of them, as printed there.
@helper
def quarter_md5_of(vertex, factor):
    word = np.uint32(vertex)
    a, b, c, d = INITIAL
    total = np.uint32(a + b + c + d)
    for i in range(16):
        a, b, c, d = d, operated(i, a, b, c, d, word), b, c
        total = np.uint32(total + np.uint32(np.uint32(a + b) + np.uint32(c + d)))
        word = np.uint32(word * factor)
    return total


# What operation i puts in the place of b.
@helper
def operated(i, a, b, c, d, word):
    part = i // 16
    total = np.uint32(a + mixed(part, b, c, d) + SINES[i] + word)
    shift = SHIFTS[4 * part + i % 4]
    return np.uint32(b + np.uint32((total << shift) | (total >> np.uint32(BITS_32 - shift))))


# The functions F, G, H and I of the four rounds.
@helper
def mixed(part, b, c, d):
    if part == 0:
        return np.uint32((b & c) | (~b & d))
    if part == 1:
        return np.uint32((d & b) | (~d & c))
    if part == 2:
        return np.uint32(b ^ c ^ d)
    return np.uint32(c ^ (b | ~d))
