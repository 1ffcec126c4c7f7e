"""Similarities of all elements of one set to all of another: the weights of a complete bipartite graph."""

import numpy as np

from ..runtime import BLOCK, Program, Struct, blocks_for, cupy, launch, launch_blocks
from .set_pairs import WARP, pair_arrays

ELEMENTS = Struct("ElementArrays", "similarity/element_weights.cu")
# Entries of the table of edit distances, which has a row for each thread.
TABLE = 2**28
PROGRAM = Program("similarity/element_weights", INDEX=np.int32)


def jaccard_weights(sets, symbols, pairs):
    weights = cupy.empty(pairs.cells, np.float64)
    arguments = _elements(sets, symbols), pair_arrays(pairs), weights
    launch(PROGRAM().fill_jaccard, arguments, items=WARP * pairs.starts.size)
    return weights


def edit_weights(sets, symbols, pairs):
    weights = cupy.empty(pairs.cells, np.float64)
    kernel = PROGRAM().fill_edit
    row = symbols.longest + 1
    blocks = max(1, min(blocks_for(kernel, WARP * pairs.starts.size), TABLE // (BLOCK * row)))
    table = cupy.empty(blocks * BLOCK * row, np.int32)
    launch_blocks(kernel, blocks, (_elements(sets, symbols), pair_arrays(pairs), table, weights))
    return weights


def _elements(sets, symbols):
    arrays = {"indptr": sets.indptr, "elements": sets.elements}
    return ELEMENTS(**arrays, symbol_ptr=symbols.indptr, symbols=symbols.values)
