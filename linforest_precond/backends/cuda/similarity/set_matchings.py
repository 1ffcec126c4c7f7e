"""Matchings of complete bipartite graphs with weights in [0, 1], one for each pair of sets, and their bounds.

As in the CPU's module of the same name; greedy's matching is found by locally dominant edges.
"""

import numpy as np

from ..runtime import Program, Struct, cupy, launch
from .set_pairs import WARP, pair_arrays

MATCHING = Struct("MatchingArrays", "similarity/set_matchings.cu")
NO_VERTEX = -1
STALE = -2  # a pointer that has to be searched again
PROGRAM = Program("similarity/set_matchings", INDEX=np.int32)
CERTIFICATES = Program("similarity/certificates", INDEX=np.int32)


def greedy(weights, pairs):
    return locally_dominant(weights, pairs)


def locally_dominant(weights, pairs):
    state = _state(pairs)
    arguments = pair_arrays(pairs), MATCHING(**state), weights
    launch(PROGRAM().match_pointers, arguments, items=WARP * pairs.starts.size)
    return state["mates"], state["row_duals"], state["column_duals"]


def paz_schwartzman(weights, pairs, epsilon):
    state = _state(pairs)
    stacks = cupy.empty(pairs.cells, np.int32)
    arguments = pair_arrays(pairs), MATCHING(**state), weights, np.float64(1.0 + 0.5 * epsilon), stacks
    launch(PROGRAM().match_stream, arguments, items=WARP * pairs.starts.size)
    return state["mates"], state["row_duals"], state["column_duals"]


def _state(pairs):
    rows, columns = pairs.all_rows, pairs.all_columns
    return {
        "mates": cupy.full(rows, NO_VERTEX, np.int32),
        "owners": cupy.full(columns, NO_VERTEX, np.int32),
        "pointers": cupy.full(rows, STALE, np.int32),
        "back_pointers": cupy.full(columns, STALE, np.int32),
        "row_duals": cupy.zeros(rows, np.float64),
        "column_duals": cupy.zeros(columns, np.float64),
    }


def largest_weight_bounds(weights, pairs):
    bounds = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, bounds
    launch(CERTIFICATES().sum_largest_weights, arguments, items=WARP * bounds.size)
    return bounds


def overlaps(weights, pairs, mates):
    sums = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, mates, sums
    launch(CERTIFICATES().sum_matched_weights, arguments, items=sums.size)
    return sums


def dual_bounds(weights, pairs, row_duals, column_duals):
    bounds = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, row_duals, column_duals, bounds
    launch(CERTIFICATES().reduce_duals, arguments, items=WARP * bounds.size)
    return bounds
