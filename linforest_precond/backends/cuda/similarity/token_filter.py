"""Candidate pairs whose common tokens are too few for the required overlap are dropped."""

import numpy as np

from ..runtime import Program, cupy, launch

PROGRAM = Program("similarity/token_filter", INDEX=np.int32)


def shares_enough(token_sets, lefts, rights, left_slacks, right_slacks):
    kept = cupy.empty(lefts.size, np.bool_)
    tokens = token_sets.indptr, token_sets.tokens, token_sets.weights
    arguments = (*tokens, lefts, rights, left_slacks, right_slacks, lefts.size, kept)
    launch(PROGRAM().compare_tokens, arguments, items=lefts.size)
    return kept
