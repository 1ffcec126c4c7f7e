"""Pairs of sets: those that share too few tokens are dropped, the others get the weights of their edges."""

import numpy as np

from ..runtime import BLOCK, Program, Struct, blocks_for, cupy, launch, launch_blocks

PAIRS = Struct("PairArrays", "similarity/set_pairs.cuh")
# Weights of one batch of pairs, 8 bytes each.
CELLS = 2**26
# Lanes that work on one pair.
WARP = 32
TOKEN_FILTER = Program("similarity/token_filter", INDEX=np.int32)
ELEMENTS = Struct("ElementArrays", "similarity/element_weights.cu")
# Entries of the table of edit distances, which has a row for each thread.
TABLE = 2**28
ELEMENT_WEIGHTS = Program("similarity/element_weights", INDEX=np.int32)


def pair_arrays(pairs):
    """The arrays of pairs as a struct; the caller keeps `pairs` until the kernel is enqueued."""
    arrays = {name: getattr(pairs, name) for name in PAIRS.fields if name != "pairs"}
    return PAIRS(**arrays, pairs=pairs.starts.size)


def shares_enough(token_sets, lefts, rights, left_slacks, right_slacks):
    kept = cupy.empty(lefts.size, np.bool_)
    tokens = token_sets.indptr, token_sets.tokens, token_sets.weights
    arguments = (*tokens, lefts, rights, left_slacks, right_slacks, lefts.size, kept)
    launch(TOKEN_FILTER().compare_tokens, arguments, items=lefts.size)
    return kept


def jaccard_weights(sets, symbols, pairs):
    weights = cupy.empty(pairs.cells, np.float64)
    arguments = _elements(sets, symbols), pair_arrays(pairs), weights
    launch(ELEMENT_WEIGHTS().fill_jaccard, arguments, items=WARP * pairs.starts.size)
    return weights


def edit_weights(sets, symbols, pairs):
    weights = cupy.empty(pairs.cells, np.float64)
    kernel = ELEMENT_WEIGHTS().fill_edit
    row = symbols.longest + 1
    blocks = max(1, min(blocks_for(kernel, WARP * pairs.starts.size), TABLE // (BLOCK * row)))
    table = cupy.empty(blocks * BLOCK * row, np.int32)
    launch_blocks(kernel, blocks, (_elements(sets, symbols), pair_arrays(pairs), table, weights))
    return weights


def _elements(sets, symbols):
    arrays = {"indptr": sets.indptr, "elements": sets.elements}
    return ELEMENTS(**arrays, symbol_ptr=symbols.indptr, symbols=symbols.values)
