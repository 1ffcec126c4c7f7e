"""Estimates of the memory of multigrid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.precond.memory_sizes import Sizes

# Of hierarchies with default options: the operator complexity, and the most rows of the coarsest level.
COMPLEXITY = 1.7
MAX_COARSE = 1000


def memory_of_levels(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """The matrices of all levels, prolongators with half as many entries, restrictions where A is not
    symmetric, the inverse of the coarsest matrix, and the aggregates."""
    copies = 1.5 if sizes.symmetric else 2.0

    def held(value: int) -> int:
        matrices = (sizes.index + value) * (copies * sizes.entries + sizes.rows)
        vectors = (3 * sizes.index + value) * sizes.rows
        return int(COMPLEXITY * (matrices + vectors)) + value * min(sizes.rows, MAX_COARSE) ** 2

    weights = np.dtype(np.float64).itemsize
    graph = replace(sizes, value=weights, weight=weights)
    pairing = (weights + 2 * (sizes.index + sizes.value)) * sizes.entries + 8 * sizes.value * sizes.rows
    return held(sizes.stored), held(max(sizes.stored, sizes.value)) + graph.graph_in_making + pairing
