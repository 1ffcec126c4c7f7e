"""Estimates of the memory of (block) tridiagonal preconditioners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.precond.kinds import Sizes
from linforest_precond.records.forest import Forest


def memory_of_paths(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    operator, setup = _one_system(sizes, options["ordering"])
    if options["forests"] > 1 or options["polynomial"] > 1:
        return _several_forests(sizes, operator, setup, options["forests"])
    return operator, setup


def _one_system(sizes: Sizes, ordering: Any) -> tuple[int, int]:
    """A forest has eight indices and two weights per row, a solver three bands and the pivots."""
    index, weight = sizes.index, sizes.weight
    by_name = ordering if isinstance(ordering, str) else None
    if by_name == "original":
        order, search = 0, 5 * index
    elif by_name == "forest" or isinstance(ordering, Forest):
        order, search = 8 * index + 2 * weight, 0
    else:
        order, search = 2 * index, 3 * index
    operator = (order + 4 * sizes.stored) * sizes.rows
    bands = (order + search + 3 * sizes.value + _solving(sizes)) * sizes.rows
    if by_name == "rcm":
        # The pattern with single-precision ones; neighbours sorted by degree; the state of each vertex.
        pattern = replace(sizes, value=4, weight=4)
        traversal = pattern.graph + 24 * sizes.entries + 80 * sizes.rows
        return operator, max(pattern.graph_in_making, traversal, bands)
    if by_name != "forest":
        return operator, bands
    return operator, max(
        sizes.graph_in_making, sizes.graph + _forest(sizes) * sizes.rows, sizes.graph + bands
    )


def _several_forests(sizes: Sizes, operator: int, setup: int, forests: int) -> tuple[int, int]:
    """As many tridiagonal operators, whose scaled bands are copies; A; the graph that is left; vectors."""
    scaled = 7 * sizes.stored * sizes.rows
    matrix = (sizes.index + sizes.stored) * sizes.entries + (sizes.index + sizes.stored) * sizes.rows
    graph = sizes.weight * sizes.entries * (1 if sizes.symmetric else 2)
    held = forests * operator + matrix
    return held, held + setup + graph + forests * scaled + 16 * sizes.value * sizes.rows


def memory_of_blocks(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """At most as many blocks as vertices; every pairing makes a coarse graph, and "auto" two forests."""
    block_size = options["block_size"]
    if block_size not in (1, 2, 4):
        raise ValueError(f"block_size must be 1, 2 or 4, got {block_size!r}")
    index, weight, rows = sizes.index, sizes.weight, sizes.rows
    forest = ((block_size + 6) * index + 2 * weight) * rows
    operator = forest + 4 * block_size**2 * sizes.stored * rows
    coarse = (index + weight) * sizes.entries * (block_size.bit_length() if block_size > 1 else 0)
    pairing = forest + coarse + (_forest(sizes) + 6 * index) * rows
    bands = 2 * forest + block_size**2 * (3 * sizes.value + _solving(sizes)) * rows
    return operator, max(sizes.graph_in_making, sizes.graph + pairing, sizes.graph + bands)


def _forest(sizes: Sizes) -> int:
    """Bytes per row: the arrays of the factor and the forest, and the levels of list ranking."""
    return 7 * sizes.index + 2 * sizes.weight + 64


def _solving(sizes: Sizes) -> int:
    """Bytes per row: bands in the stored type, clipped bands, pivots twice and those of the groups."""
    return 6 * sizes.stored + 2 * sizes.stored + np.dtype(np.float64).itemsize
