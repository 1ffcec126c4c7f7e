"""Sets of strings are checked, and encoded as arrays of integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from linforest_precond.backends.annotations import Array

# The most characters of an element. Different Jaccard similarities of longer elements could be equal in
# float64 (element_weights.py); an edit distance takes quadratic time, seconds for this length.
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
    for element in elements:
        if not isinstance(element, str):
            raise ValueError(f"{name} must contain strings only, got {element!r}")
        if len(element) > longest:
            limits = " and ".join(f'{most:,} for "{each}"' for each, most in LONGEST_ELEMENTS.items())
            raise ValueError(
                f"{name} must have elements of at most {longest:,} characters, got one of {len(element):,}; "
                f"the limits are {limits}"
            )
    if not elements:
        raise ValueError(f"{name} must not be empty: leave it out, it is similar to no set")
    if len(found := frozenset(elements)) > LARGEST_SET:
        raise ValueError(f"{name} must have at most {LARGEST_SET:,} elements, got {len(found):,}; split it")
    return found


def encode(sets: Sequence[frozenset[str]]) -> tuple[Sets, Strings]:
    """The sets as arrays, and their distinct elements."""
    texts = sorted(set().union(*sets))
    numbers = {text: number for number, text in enumerate(texts)}
    indptr = _pointers([len(each) for each in sets])
    elements = np.fromiter(
        chain.from_iterable(sorted(numbers[text] for text in each) for each in sets), np.int64, indptr[-1]
    )
    return Sets(indptr, elements), _strings(texts)


def _strings(texts: list[str]) -> Strings:
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, np.uint32).astype(np.int64)
    return Strings(_pointers([len(text) for text in texts]), codes)


def _pointers(counts: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
