"""Pairs of sets: those that share too few tokens are dropped, the others get the weights of their edges.

An edge joins an element of one set and one of the other, and weighs their similarity. A weight is a ratio of
two integers, divided once in float64. Ratios with denominators below 2**26 that differ are at least 2**-52
apart, so equal weights are equal ratios: ties are the same on every machine.
"""

import numpy as np
from numba import prange

from ..runtime.jit import helper, kernel

# Weights of one batch of pairs, 8 bytes each.
CELLS = 2**21
# Parts of the pairs that are processed at once; each has one table of all tokens.
PARTS = 8


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


def jaccard_weights(sets, symbols, pairs):
    """The Jaccard similarities of the elements' tokens, a row-major block for each pair."""
    weights = np.zeros(pairs.cells, np.float64)
    arrays = sets.indptr, sets.elements, symbols.indptr, symbols.values
    blocks = pairs.lefts, pairs.rights, pairs.starts
    fill_jaccard(*arrays, symbols.count, *blocks, weights)
    return weights


def edit_weights(sets, symbols, pairs):
    """The normalized edit similarities of the elements' characters, a row-major block for each pair."""
    weights = np.empty(pairs.cells, np.float64)
    arrays = sets.indptr, sets.elements, symbols.indptr, symbols.values
    blocks = pairs.lefts, pairs.rights, pairs.starts
    fill_edit(*arrays, symbols.longest, *blocks, weights)
    return weights


@kernel(parallel=True)
def fill_jaccard(indptr, elements, token_ptr, tokens, count, lefts, rights, starts, weights):
    for part in prange(PARTS):
        first, last = part * lefts.size // PARTS, (part + 1) * lefts.size // PARTS
        fill_part(indptr, elements, token_ptr, tokens, count, lefts, rights, starts, first, last, weights)


@helper
def fill_part(indptr, elements, token_ptr, tokens, count, lefts, rights, starts, first, last, weights):
    # The elements of the left set with a token are a linked list, whose first entry is in the table.
    heads = np.full(count if first < last else 0, -1, np.int32)
    while first < last:
        left = elements[indptr[lefts[first]] : indptr[lefts[first] + 1]]
        owners, following = list_tokens(left, token_ptr, tokens, heads)
        pair = first
        while pair < last and lefts[pair] == lefts[first]:
            right = elements[indptr[rights[pair]] : indptr[rights[pair] + 1]]
            block = weights[starts[pair] : starts[pair] + left.size * right.size]
            count_common(left, right, token_ptr, tokens, heads, owners, following, block)
            pair += 1
        clear_tokens(left, token_ptr, tokens, heads)
        first = pair


@helper
def list_tokens(left, token_ptr, tokens, heads):
    total = 0
    for element in left:
        total += token_ptr[element + 1] - token_ptr[element]
    owners, following = np.empty(total, np.int64), np.empty(total, np.int64)
    entry = 0
    for row in range(left.size):
        for slot in range(token_ptr[left[row]], token_ptr[left[row] + 1]):
            owners[entry], following[entry] = row, heads[tokens[slot]]
            heads[tokens[slot]] = entry
            entry += 1
    return owners, following


@helper
def clear_tokens(left, token_ptr, tokens, heads):
    for element in left:
        for slot in range(token_ptr[element], token_ptr[element + 1]):
            heads[tokens[slot]] = -1


@helper
def count_common(left, right, token_ptr, tokens, heads, owners, following, block):
    """The tokens that each two elements have in common, then their Jaccard similarity."""
    for column in range(right.size):
        for slot in range(token_ptr[right[column]], token_ptr[right[column] + 1]):
            entry = heads[tokens[slot]]
            while entry >= 0:
                block[owners[entry] * right.size + column] += 1.0
                entry = following[entry]
    for row in range(left.size):
        of_row = token_ptr[left[row] + 1] - token_ptr[left[row]]
        for column in range(right.size):
            common = block[row * right.size + column]
            if common > 0.0:
                of_column = token_ptr[right[column] + 1] - token_ptr[right[column]]
                block[row * right.size + column] = common / (of_row + of_column - common)


@kernel(parallel=True)
def fill_edit(indptr, elements, code_ptr, codes, longest, lefts, rights, starts, weights):
    for part in prange(PARTS):
        first, last = part * lefts.size // PARTS, (part + 1) * lefts.size // PARTS
        distances = np.empty(longest + 1, np.int64)
        for pair in range(first, last):
            left = elements[indptr[lefts[pair]] : indptr[lefts[pair] + 1]]
            right = elements[indptr[rights[pair]] : indptr[rights[pair] + 1]]
            fill_block(left, right, code_ptr, codes, distances, weights, starts[pair])


@helper
def fill_block(left, right, code_ptr, codes, distances, weights, cell):
    for row in left:
        a = codes[code_ptr[row] : code_ptr[row + 1]]
        for column in right:
            b = codes[code_ptr[column] : code_ptr[column + 1]]
            weights[cell] = edit_similarity(a, b, distances)
            cell += 1


@helper
def edit_similarity(a, b, distances):
    """1 - (edit distance) / (longer length), by the rows of Wagner and Fischer's table."""
    longer = max(a.size, b.size)
    if longer == 0:
        return 1.0
    for j in range(b.size + 1):
        distances[j] = j
    for i in range(a.size):
        diagonal, distances[0] = distances[0], i + 1
        for j in range(b.size):
            replaced = diagonal + (a[i] != b[j])
            diagonal = distances[j + 1]
            distances[j + 1] = min(replaced, min(diagonal, distances[j]) + 1)
    return (longer - distances[b.size]) / longer
