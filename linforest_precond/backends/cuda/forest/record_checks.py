"""Checks of the arrays of factors and forests that users give back."""

import numpy as np

from ..matrix.entries import first_place
from ..runtime import INDICES, Program, cupy, launch

PROGRAM = Program("forest/record_checks", INDEX=INDICES)


def rank_order(order):
    rank = cupy.empty_like(order)
    return rank, _first("rank_order", "check_ranks", order, rank)


def first_stray(neighbors, rank):
    return _first("check_paths", None, neighbors, rank)


def first_unpaired(neighbors):
    return _first("check_edges", None, neighbors)


def _first(first_kernel, second_kernel, *arrays):
    """The lowest item that the kernels report, or -1."""
    program = PROGRAM(INDEX=arrays[0])
    report, n = cupy.zeros(1, np.uint64), arrays[0].shape[0]
    for name in (first_kernel, second_kernel):
        if name and n:
            launch(getattr(program, name), (*arrays, n, report), items=n)
    return first_place(report.get()[0])  # stall: before they are used as indices
