"""Weights of matchings and upper bounds on them, one for each pair of sets."""

import numpy as np

from ..runtime import Program, cupy, launch
from .set_pairs import WARP, pair_arrays

PROGRAM = Program("similarity/certificates", INDEX=np.int32)


def largest_weight_bounds(weights, pairs):
    bounds = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, bounds
    launch(PROGRAM().sum_largest_weights, arguments, items=WARP * bounds.size)
    return bounds


def overlaps(weights, pairs, mates):
    sums = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, mates, sums
    launch(PROGRAM().sum_matched_weights, arguments, items=sums.size)
    return sums


def dual_bounds(weights, pairs, row_duals, column_duals):
    bounds = cupy.empty(pairs.starts.size, np.float64)
    arguments = pair_arrays(pairs), weights, row_duals, column_duals, bounds
    launch(PROGRAM().reduce_duals, arguments, items=WARP * bounds.size)
    return bounds
