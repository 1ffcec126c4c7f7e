"""Upper bounds on the overlap of two sets by their common tokens, and prefixes for the prefix filter.

Why no similar pair is lost. Let O be the weight of a heaviest matching between the elements of R and S. Each
element r of R is matched at most once, so O is at most the sum over r of its largest similarity to any
element of S. If r has g tokens, c of them in s, then

- Jaccard: phi(r, s) = c / |r u s| <= c / g.
- Edit, with counted k-grams and r at least k long: let L be the longer length of the two strings. An edit
  changes at most k of the L - k + 1 grams of the longer string, and the others are common, so
  c >= L - k + 1 - k * distance, and phi = 1 - distance / L <= 1 - 1 / k + (k - 1 + c) / (k L). This decreases
  with L, which is at least |r|: phi <= 1 - g / (k |r|) + c / (k |r|).
- Edit, r shorter than k, with itself as its only token: if s differs from r and is not longer, then
  phi <= 1 - 1 / |r|; if s is longer, phi <= |r| / |s| <= 1 - 1 / (|r| + 1). So phi <= 1 - 1 / (|r| + 1), plus
  1 / (|r| + 1) if the token is common.

In all cases phi(r, s) <= 1 - g / d + c / d with a number d that depends on r alone, and c is at most the
number of r's tokens that occur anywhere in S. So O <= base(R) + (the weight of the tokens of R that S has),
where a token weighs 1 / d for each element of R that has it.

A similar pair has O >= t / (1 + t) (|R| + |S|) for the threshold t; since O <= min(|R|, |S|) this implies
|S| >= t |R|, and O >= t |R|. Order all tokens, rarest first. The prefix of R ends where the weight of the
tokens behind it, with base(R), falls below t |R|. The common tokens of a similar pair weigh more than that,
so the first of them is in the prefix of R, and for the same reason in the prefix of S: pairs whose prefixes
have no common token are not similar. (A set whose base alone reaches t |R| is paired with all sets.)

Weights are counted in units of 2**-32 and rounded up, required overlaps are rounded down, so sums are exact
and rounding loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from linforest_precond.backends.annotations import Array
from linforest_precond.similarity.encoding import Sets, Strings, Symbols, counted_grams, distinct_grams

UNIT = 2**32


@dataclass(frozen=True, eq=False)
class TokenSets:
    """The tokens of each set, rarest first, with the weight of each."""

    indptr: Array
    tokens: Array
    weights: Array
    bases: Array  # upper bounds of the overlap without common tokens
    totals: Array  # bases and all weights
    count: int

    def prefixes(self, least: Array) -> tuple[sp.csr_array, Array]:
        """The prefix of each set, whose overlap must reach `least`, as a matrix of sets and tokens.

        Also whether a set has none, because its base alone reaches `least`.
        """
        ends = np.concatenate(([0], np.cumsum(self.weights)))
        behind = np.repeat(ends[self.indptr[1:]], np.diff(self.indptr)) - ends[:-1]
        inside = behind >= np.repeat(least - self.bases, np.diff(self.indptr))
        indptr = np.concatenate(([0], np.cumsum(inside)))[self.indptr]
        tokens = self.tokens[inside]
        shape = (self.indptr.size - 1, self.count)
        matrix = sp.csr_array((np.ones(tokens.size, np.int32), tokens, indptr), shape=shape)
        return matrix, self.bases >= least


def jaccard_tokens(sets: Sets, strings: Strings, q: int) -> tuple[TokenSets, Symbols]:
    """The tokens of the sets, and those of the elements."""
    symbols = distinct_grams(strings, q)
    return token_sets(sets, symbols, np.diff(symbols.indptr)), symbols


def edit_tokens(sets: Sets, strings: Strings, q: int) -> TokenSets:
    """The tokens of the sets, for a bound on edit similarities."""
    lengths = strings.lengths
    return token_sets(sets, counted_grams(strings, q), np.where(lengths < q, lengths + 1, q * lengths))


def token_sets(sets: Sets, symbols: Symbols, divisors: Array) -> TokenSets:
    """The weighted tokens of each set; a token of an element weighs 1 / divisor."""
    counts = np.diff(symbols.indptr)
    shares = -(-UNIT // divisors)
    bases = UNIT - counts * UNIT // divisors
    members = sp.csr_array(
        (np.ones(sets.elements.size, np.int64), sets.elements, sets.indptr),
        shape=(sets.indptr.size - 1, counts.size),
    )
    tokens = sp.csr_array(
        (np.repeat(shares, counts), symbols.values, symbols.indptr), shape=(counts.size, symbols.count)
    )
    weighted = members @ tokens
    weighted.indices = _ranks(weighted.indices, symbols.count)[weighted.indices]
    weighted.sort_indices()
    found, totals = members @ bases, np.asarray(weighted.sum(axis=1))
    arrays = weighted.indptr.astype(np.int64), weighted.indices.astype(np.int64), weighted.data
    return TokenSets(*arrays, found, found + totals, symbols.count)


def _ranks(tokens: Array, count: int) -> Array:
    """The place of each token in the order from the rarest to the most frequent."""
    ranks = np.empty(count, np.int64)
    ranks[np.argsort(np.bincount(tokens, minlength=count), kind="stable")] = np.arange(count)
    return ranks
