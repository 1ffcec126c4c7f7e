"""Synthetic sets of words: groups of noisy copies of common originals."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
SHORTEST_WORD, LONGEST_WORD = 4, 12
ZIPF_EXPONENT = 0.8


def noisy_sets(
    count: int,
    *,
    size: int = 12,
    copies: int = 4,
    noise: float = 0.1,
    words: int | None = None,
    seed: int = 0,
) -> list[frozenset[str]]:
    """Sets of words in groups of noisy copies: what a fuzzy join should find together.

    Each group has an original, whose words are drawn from a vocabulary by Zipf's law. A copy leaves words out
    or replaces them by others, and misspells words: a letter is inserted, deleted, replaced, or swapped with
    the next.

    Parameters
    ----------
    count : int
        The number of sets.
    size : int
        The mean number of words of an original, at least 1.
    copies : int
        Sets in a group, at least 1.
    noise : float
        The probability that a copy changes a word, in [0, 1]: a quarter of the changes is another word or
        none, the others are misspellings.
    words : int, optional
        The size of the vocabulary, by default 1,000 and ``10 * size`` more.
    seed : int
        The same seed gives the same sets.

    Returns
    -------
    list of frozenset of str
        None of them is empty.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> sets = lf.similarity.noisy_sets(6, size=3, copies=3, seed=2)
    >>> len(sets)
    6
    """
    count, size = as_integer("count", count, 0), as_integer("size", size, 1)
    copies = as_integer("copies", copies, 1)
    words = as_integer("words", 1000 + 10 * size if words is None else words, 1)
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must be a probability in [0, 1], got {noise!r}")
    random = np.random.default_rng(as_integer("seed", seed))
    vocabulary = _vocabulary(words, random)
    chances = np.arange(1, words + 1) ** -ZIPF_EXPONENT
    ends = np.cumsum(chances / chances.sum())
    sets: list[frozenset[str]] = []
    while len(sets) < count:
        length = 1 + random.poisson(size - 1)
        original = [vocabulary[place] for place in _drawn(ends, length, random)]
        sets += [_copy(original, noise, vocabulary, ends, random) for _ in range(copies)]
    return sets[:count]


def _vocabulary(words: int, random: np.random.Generator) -> list[str]:
    lengths = random.integers(SHORTEST_WORD, LONGEST_WORD + 1, words)
    # Frequent letters first: the square of a uniform number is often small.
    letters = (random.random(int(lengths.sum())) ** 2 * len(LETTERS)).astype(int)
    text, ends = "".join(LETTERS[letter] for letter in letters), np.cumsum(lengths)
    return [text[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist())]


def _drawn(ends: Array, number: int, random: np.random.Generator) -> list[int]:
    return np.minimum(np.searchsorted(ends, random.random(number)), ends.size - 1).tolist()


def _copy(
    original: list[str], noise: float, vocabulary: list[str], ends: Array, random: np.random.Generator
) -> frozenset[str]:
    changed = random.random(len(original))
    kept = [
        word if chance >= noise else _changed(word, vocabulary, ends, random)
        for word, chance in zip(original, changed.tolist())
    ]
    return frozenset(filter(None, kept)) or frozenset(original[:1])


def _changed(word: str, vocabulary: list[str], ends: Array, random: np.random.Generator) -> str:
    """A misspelled word, another one, or none."""
    kind = random.integers(8)
    if kind == 0:
        return ""
    if kind == 1:
        return vocabulary[_drawn(ends, 1, random)[0]]
    return _misspelled(word, random)


def _misspelled(word: str, random: np.random.Generator) -> str:
    place, letter = int(random.integers(len(word))), LETTERS[int(random.integers(len(LETTERS)))]
    before, at, after = word[:place], word[place], word[place + 1 :]
    return (
        before + letter + at + after,
        before + after,
        before + letter + after,
        before + after[:1] + at + after[1:],
    )[int(random.integers(4))]
