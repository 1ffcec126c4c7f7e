"""The q-grams of strings as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.similarity.encoding import Strings

CODE_BITS = 21
# Pads strings shorter than q; greater than every code point.
PADDING = 0x110000
WORD_BITS = 63


@dataclass(frozen=True, eq=False)
class Symbols:
    """A sequence of numbers below `count` for each element: its tokens (ascending), or its characters."""

    indptr: Array
    values: Array
    count: int
    longest: int


def characters(strings: Strings) -> Symbols:
    return Symbols(strings.indptr, strings.codes, PADDING, _longest(strings.indptr))


def distinct_grams(strings: Strings, q: int) -> Symbols:
    """The set of q-grams of each element; an element shorter than q is its own only token."""
    owners, grams = _grams(strings, q)
    count = int(grams.max(initial=-1)) + 1
    pairs = np.unique(owners * max(count, 1) + grams)
    return _by_element(strings, pairs // max(count, 1), pairs % max(count, 1), count)


def counted_grams(strings: Strings, q: int) -> Symbols:
    """The multiset of q-grams of each element: equal ones are numbered, and so different tokens."""
    owners, grams = _grams(strings, q)
    order = np.lexsort((grams, owners))
    owners, grams = owners[order], grams[order]
    begins = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(grams, prepend=-1))
    repeats = np.arange(grams.size) - np.repeat(begins, np.diff(begins, append=grams.size))
    most = int(repeats.max(initial=0)) + 1
    names, tokens = np.unique(grams * most + repeats, return_inverse=True)
    return _by_element(strings, owners, tokens, names.size)


def _by_element(strings: Strings, owners: Array, tokens: Array, count: int) -> Symbols:
    """Tokens of owners as ascending lists."""
    order = np.lexsort((tokens, owners))
    indptr = np.searchsorted(owners, np.arange(strings.indptr.size)).astype(np.int64)
    return Symbols(indptr, tokens[order].astype(np.int64), count, _longest(indptr))


def _longest(indptr: Array) -> int:
    return int(np.diff(indptr).max(initial=0))


def _grams(strings: Strings, q: int) -> tuple[Array, Array]:
    """The element and the number of each q-gram; equal numbers mean equal q-grams."""
    lengths = strings.lengths
    q = min(q, max(int(lengths.max(initial=0)), 1))
    padded = np.maximum(lengths, q)
    ends = np.cumsum(padded)
    codes = np.full(int(padded.sum()), PADDING)
    codes[np.arange(strings.codes.size) + np.repeat(ends - padded - strings.indptr[:-1], lengths)] = (
        strings.codes
    )
    windows = padded - q + 1
    places = np.arange(windows.sum()) + np.repeat(ends - padded - (np.cumsum(windows) - windows), windows)
    names, grams = np.unique(_packed(codes, q)[places], return_inverse=True)
    return np.repeat(np.arange(lengths.size), windows), grams


def _packed(codes: Array, q: int) -> Array:
    """The q characters from each place on, packed into one number."""
    words, bits = codes, CODE_BITS
    for step in range(1, q):
        if bits + CODE_BITS > WORD_BITS:  # replace words by their ranks, which need fewer bits
            names, words = np.unique(words, return_inverse=True)
            bits = int(names.size).bit_length()
        words = words[: codes.size - step] << CODE_BITS | codes[step:]
        bits += CODE_BITS
    return words
