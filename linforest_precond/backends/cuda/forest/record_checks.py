"""Checks of the arrays of factors and forests that users give back."""

import numpy as np

from ..matrix.entries import first_place
from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import INDICES, Program

PROGRAM = Program("forest/record_checks", INDEX=INDICES)


def rank_order(order):
    """The inverse of an order, and the first of its places that shows it to be no permutation, or -1."""
    rank = cupy.empty_like(order)
    return rank, _first("rank_order", "check_ranks", order, rank)


def first_stray(neighbors, rank):
    """The first vertex whose neighbours are not next to it in the order, or -1."""
    return _first("check_paths", None, neighbors, rank)


def first_unpaired(neighbors):
    """The first vertex whose neighbours are no vertices that have it as a neighbour, or -1."""
    return _first("check_edges", None, neighbors)


def _first(first_kernel, second_kernel, *arrays):
    """The lowest item that the kernels report, or -1."""
    program = PROGRAM(INDEX=arrays[0].dtype.type)
    report, n = cupy.zeros(1, np.uint64), arrays[0].shape[0]
    for name in (first_kernel, second_kernel):
        if name and n:
            launch(getattr(program, name), (*arrays, n, report), items=n)
    return first_place(report.get()[0])  # stall: before they are used as indices
