"""Sets of strings are checked, and encoded as arrays of integers, as are the q-grams of strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.host_numbers import sorted_distinct

# The most characters of an element. Different Jaccard similarities of longer elements could be equal in
# float64 (set_pairs.py); an edit distance takes quadratic time, seconds for this length.
LONGEST_ELEMENTS = {"jaccard": 2**24, "edit": 2**15}
# The places of the weights between two sets are counted in 32 bits.
LARGEST_SET = 2**15


@dataclass(frozen=True, eq=False)
class Strings:
    """The distinct elements of all sets, in the order of their code points."""

    indptr: Array
    codes: Array  # the code points of all elements, one after the other

    @property
    def lengths(self) -> Array:
        return np.diff(self.indptr)


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets as ascending numbers of their elements; in a join of two collections one follows the other."""

    indptr: Array
    elements: Array

    @property
    def sizes(self) -> Array:
        return np.diff(self.indptr)


def as_sets(name: str, sets: Iterable[Iterable[str]], similarity: str) -> list[frozenset[str]]:
    """The sets of an argument; a ValueError that names the first one which is none, or is too large."""
    if isinstance(sets, str | bytes):
        raise ValueError(f"{name} must be a sequence of sets of strings, got {sets!r}")
    try:
        return [as_set(f"{name}[{number}]", each, similarity) for number, each in enumerate(sets)]
    except TypeError:
        raise ValueError(f"{name} must be a sequence of sets of strings, got {sets!r}") from None


def as_set(name: str, given: Iterable[str], similarity: str) -> frozenset[str]:
    """One set; a ValueError if it is none, or too large."""
    longest = LONGEST_ELEMENTS[similarity]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a set of strings such as ['a', 'b'], got {given!r}")
    elements = list(given)
    if set(map(type, elements)) - {str} or max(map(len, elements), default=0) > longest:
        _check_elements(name, elements, longest)
    if not elements:
        raise ValueError(f"{name} must not be empty: leave it out, it is similar to no set")
    if len(found := frozenset(elements)) > LARGEST_SET:
        raise ValueError(f"{name} must have at most {LARGEST_SET:,} elements, got {len(found):,}; split it")
    return found


def _check_elements(name: str, elements: list[str], longest: int) -> None:
    for element in elements:
        if not isinstance(element, str):
            raise ValueError(f"{name} must contain strings only, got {element!r}")
        if len(element) > longest:
            limits = " and ".join(f'{most:,} for "{each}"' for each, most in LONGEST_ELEMENTS.items())
            raise ValueError(
                f"{name} must have elements of at most {longest:,} characters, got one of {len(element):,}; "
                f"the limits are {limits}"
            )


def encode(sets: Sequence[frozenset[str]]) -> tuple[Sets, Strings]:
    """The sets as arrays, and their distinct elements."""
    texts = sorted(set().union(*sets))
    numbers = {text: number for number, text in enumerate(texts)}
    indptr = _pointers([len(each) for each in sets])
    found = np.fromiter(map(numbers.__getitem__, chain.from_iterable(sets)), np.int64, indptr[-1])
    found += np.repeat(np.arange(len(sets)) * len(texts), np.diff(indptr))
    found.sort()
    return Sets(indptr, found % max(len(texts), 1)), _strings(texts)


def _strings(texts: list[str]) -> Strings:
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, np.uint32).astype(np.int64)
    return Strings(_pointers([len(text) for text in texts]), codes)


def _pointers(counts: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


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
    owners, tokens = np.divmod(sorted_distinct(owners * max(count, 1) + grams), max(count, 1))
    return _by_element(strings, owners, tokens, count)


def counted_grams(strings: Strings, q: int) -> Symbols:
    """The multiset of q-grams of each element: equal ones are numbered, and so different tokens."""
    owners, grams = _grams(strings, q)
    order = np.lexsort((grams, owners))
    owners, grams = owners[order], grams[order]
    begins = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(grams, prepend=-1))
    repeats = np.arange(grams.size) - np.repeat(begins, np.diff(begins, append=grams.size))
    most = int(repeats.max(initial=0)) + 1
    names, tokens = np.unique(grams * most + repeats, return_inverse=True)
    order = np.lexsort((tokens, owners))
    return _by_element(strings, owners, tokens[order].astype(np.int64), names.size)


def _by_element(strings: Strings, owners: Array, tokens: Array, count: int) -> Symbols:
    """The tokens of each element, by ascending owner and token."""
    indptr = np.searchsorted(owners, np.arange(strings.indptr.size)).astype(np.int64)
    return Symbols(indptr, tokens, count, _longest(indptr))


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
