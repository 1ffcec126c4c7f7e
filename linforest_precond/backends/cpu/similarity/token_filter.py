"""Candidate pairs whose common tokens are too few for the required overlap are dropped."""

import numpy as np
from numba import prange

from ..runtime.jit import helper, kernel


def shares_enough(token_sets, lefts, rights, left_slacks, right_slacks):
    """Whether the tokens of each side that the other side lacks weigh no more than that side's slack."""
    kept = np.empty(lefts.size, np.bool_)
    compare_tokens(
        token_sets.indptr,
        token_sets.tokens,
        token_sets.weights,
        lefts,
        rights,
        left_slacks,
        right_slacks,
        kept,
    )
    return kept


@kernel(parallel=True)
def compare_tokens(indptr, tokens, weights, lefts, rights, left_slacks, right_slacks, kept):
    for pair in prange(lefts.size):
        left, right = lefts[pair], rights[pair]
        kept[pair] = misses_little(
            tokens[indptr[left] : indptr[left + 1]],
            weights[indptr[left] : indptr[left + 1]],
            left_slacks[pair],
            tokens[indptr[right] : indptr[right + 1]],
            weights[indptr[right] : indptr[right + 1]],
            right_slacks[pair],
        )


@helper
def misses_little(left, left_weights, left_slack, right, right_weights, right_slack):
    """Merge two sorted lists of tokens; stops as soon as one side misses more than its slack."""
    i = j = 0
    while (i < left.size or j < right.size) and left_slack >= 0 and right_slack >= 0:
        if j == right.size or (i < left.size and left[i] < right[j]):
            left_slack -= left_weights[i]
            i += 1
        elif i == left.size or right[j] < left[i]:
            right_slack -= right_weights[j]
            j += 1
        else:
            i += 1
            j += 1
    return left_slack >= 0 and right_slack >= 0
