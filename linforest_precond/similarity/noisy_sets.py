"""Synthetic sets of words: groups of noisy copies of common originals, with or without near-duplicates."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
MOST_LETTERS = 400
# Frequent letters first, then those of Latin Extended and of the blocks after it.
ALPHABET = LETTERS + "".join(map(chr, range(0x100, 0x100 + MOST_LETTERS - len(LETTERS))))
# Shortest and longest words, and phrases: misspellings of phrases remain similar to them.
WORD_LENGTHS, PHRASE_LENGTHS = (4, 12), (10, 24)
MOST_VARIANTS = 8  # so that no chain of deletions empties a phrase
ZIPF_EXPONENT = 0.8


@named_arguments
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
    count, size, copies, noise = _checked(count, size, copies, noise)
    words = as_integer("words", 1000 + 10 * size if words is None else words, 1)
    random = np.random.default_rng(as_integer("seed", seed, 0))
    vocabulary, ends = _vocabulary(words, WORD_LENGTHS, random), _zipf(words)
    sets: list[frozenset[str]] = []
    while len(sets) < count:
        length = 1 + random.poisson(size - 1)
        original = [vocabulary[place] for place in _drawn(ends, length, random)]
        sets += [_copy(original, noise, vocabulary, ends, random) for _ in range(copies)]
    return sets[:count]


@named_arguments
def ambiguous_sets(
    count: int,
    *,
    size: int = 12,
    copies: int = 4,
    noise: float = 0.6,
    chains: int | None = None,
    variants: int = 6,
    letters: int = 26,
    seed: int = 0,
) -> list[frozenset[str]]:
    """
    Sets of phrases in which each has several near-duplicates, so that elements compete for partners.

    The vocabulary consists of chains of phrases, each a misspelling of the one before. An original has half
    of the phrases of each of its chains. In a copy, all phrases of a chain may move one place along it, in
    one direction: then each is as similar to the phrase that it was as to another one that the original has.
    Approximate matchings make mistakes here, and the similarities of copies lie on both sides of a threshold.

    Parameters
    ----------
    count : int
        The number of sets.
    size : int
        The mean number of phrases of an original, at least 1.
    copies : int
        Sets in a group, at least 1.
    noise : float
        Each copy draws a probability in [0, noise], with which it changes a chain: six of eight changes move
        the phrases, one takes another chain, one leaves it out.
    chains : int, optional
        The number of chains, by default 1,000 and ``10 * size`` more.
    variants : int
        The phrases of a chain, 2 to 8.
    letters : int
        The size of the alphabet, 1 to 400. The number of q-grams grows with it.
    seed : int
        The same seed gives the same sets.

    Returns
    -------
    list of frozenset of str
        None of them is empty.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> sets = lf.similarity.ambiguous_sets(400, seed=1)
    >>> exact = lf.similarity.fuzzy_join(sets, matching="exact")
    >>> lf.similarity.join_quality(lf.similarity.fuzzy_join(sets), exact).missed > 0
    True
    """
    count, size, copies, noise = _checked(count, size, copies, noise)
    chains = as_integer("chains", 1000 + 10 * size if chains is None else chains, 1)
    variants = as_integer("variants", variants, 2, MOST_VARIANTS)
    letters = as_integer("letters", letters, 1, MOST_LETTERS)
    random = np.random.default_rng(as_integer("seed", seed, 0))
    phrases = _phrases(chains, variants, ALPHABET[:letters], random)
    ends, held, groups = _zipf(chains), variants // 2, -(-count // copies)
    # The chains of all originals, one after the other, and the phrases that each has of its chains.
    numbers = -(-(1 + random.poisson(size - 1, groups)) // held)
    group = np.repeat(np.arange(groups), numbers)
    chain = np.array(_drawn(ends, group.size, random), np.int64)[:, None]
    places = 1 + random.permuted(np.tile(np.arange(variants), (group.size, 1)), axis=1)[:, :held]
    # In each copy: 0 takes another chain, 1 leaves it out, others move its phrases.
    change = random.integers(8, size=(group.size, copies))
    change[random.random(change.shape) >= (noise * random.random((groups, copies)))[group]] = -1
    other = np.array(_drawn(ends, change.size, random), np.int64).reshape(change.shape)
    moved = np.where(change > 1, random.choice((-1, 1), change.shape), 0)
    found = np.where(change == 0, other, chain) * (variants + 2)
    found = found[:, :, None] + places[:, None, :] + moved[:, :, None]
    found[change == 1] = -1
    ends_of = np.cumsum(numbers)
    return [
        _phrases_of(found[end - number : end, copy].ravel().tolist(), phrases)
        or frozenset(phrases[(variants + 2) * int(chain[end - number, 0]) + 1 :][:1])
        for end, number in zip(ends_of.tolist(), numbers.tolist())
        for copy in range(copies)
    ][:count]


def _phrases_of(numbers: list[int], phrases: list[str]) -> frozenset[str]:
    return frozenset(phrases[number] for number in numbers if number >= 0)


def _phrases(chains: int, variants: int, letters: str, random: np.random.Generator) -> list[str]:
    """Chains of phrases, each a misspelling of the one before; one more at each end, so that all may move."""
    found: list[str] = []
    draws = random.random((chains, variants + 1, 3)).tolist()
    for phrase, own in zip(_vocabulary(chains, PHRASE_LENGTHS, random, letters), draws):
        found.append(phrase)
        for place, letter, kind in own:
            phrase = found[-1]
            found.append(
                _edited(phrase, int(place * len(phrase)), letters[int(letter * len(letters))], int(4 * kind))
            )
    return found


def _checked(count: int, size: int, copies: int, noise: float) -> tuple[int, int, int, float]:
    count, size = as_integer("count", count, 0), as_integer("size", size, 1)
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must be a probability in [0, 1], got {noise!r}")
    return count, size, as_integer("copies", copies, 1), noise


def _zipf(words: int) -> Array:
    """The cumulated probabilities of words by Zipf's law."""
    chances = np.arange(1, words + 1) ** -ZIPF_EXPONENT
    return np.cumsum(chances / chances.sum())


def _vocabulary(
    words: int, lengths_of: tuple[int, int], random: np.random.Generator, alphabet: str = LETTERS
) -> list[str]:
    shortest, longest = lengths_of
    lengths = random.integers(shortest, longest + 1, words)
    # Frequent letters first: the square of a uniform number is often small.
    letters = (random.random(int(lengths.sum())) ** 2 * len(alphabet)).astype(int)
    text, ends = "".join(alphabet[letter] for letter in letters.tolist()), np.cumsum(lengths)
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
    return _edited(word, place, letter, int(random.integers(4)))


def _edited(word: str, place: int, letter: str, kind: int) -> str:
    """A letter inserted, deleted, replaced, or swapped with the next."""
    before, at, after = word[:place], word[place], word[place + 1 :]
    return (
        before + letter + at + after,
        before + after,
        before + letter + after,
        before + after[:1] + at + after[1:],
    )[kind]
