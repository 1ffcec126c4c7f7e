"""What multigrid costs: estimates of its memory, and bytes of a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.precond.kinds import kind_named
from linforest_precond.precond.memory_sizes import Sizes
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.multigrid_cycle import twice_visited
from linforest_precond.precond.multigrid.multilevel_part import MultilevelPart
from linforest_precond.precond.number_types import held_bytes

# Of hierarchies with default options: the operator complexity, and the most rows of the coarsest level.
COMPLEXITY = 1.7
MAX_COARSE = 1000
# Vectors that a level of a cycle reads and writes for smoothing, transfers and corrections.
VECTORS_OF_LEVEL = 10


def cycle_moved(part: MultilevelPart) -> float:
    """Products, smoothing and grid transfers of all visits to all levels, and the inverse of the coarsest."""
    levels, kind = part.levels, part.cycle
    twice = twice_visited(kind, len(levels) - 1)
    total, visits = float(held_bytes(part.coarsest)), 1
    for i, level in enumerate(levels[:-1]):
        if i in twice:
            visits = visits + 1 if kind == "F" else 2 * visits
        total += visits * _level(level, part.options.presmooth + part.options.postsmooth)
    return total


def _level(level: Level, sweeps: int) -> float:
    """Each step of a smoother is one product; the first starts from 0, but a residual is restricted."""
    csr = level.csr
    matrix = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    vectors = VECTORS_OF_LEVEL * csr.n * csr.data.dtype.itemsize
    smoother: Any = level.smoother
    own = kind_named(smoother.kind).bytes_moved(smoother.part) if hasattr(smoother, "part") else 0.0
    products = sweeps * len(getattr(smoother, "steps", (None,)))
    return products * matrix + sweeps * own + vectors + held_bytes(level.transfer)


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
