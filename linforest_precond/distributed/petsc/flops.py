"""Floating-point operations of one product with a preconditioner on this rank, for ``-log_view``."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.precond.parts.number_types import held_bytes


def flops_of(part: Any) -> float:
    """A multiplication and an addition for each number of the matrices and factors that a product reads.

    On levels of multigrid, of the matrix in each step of a smoother and in the residual, and of both
    transfers; a W-cycle visits each level twice as often as the one above, and K-cycles count as these.
    """
    part = getattr(part, "inner", part)  # of scaled matrices
    if hasattr(part, "levels"):
        levels = part.levels if part.coarsest is None else part.levels[:-1]
        visits = [1 if part.cycle in "VF" else 2**i for i in range(len(part.levels))]
        coarsest = 2.0 * visits[-1] * held_bytes(part.coarsest) / part.stored.itemsize
        return coarsest + sum(count * _of_level(level, part.options) for count, level in zip(visits, levels))
    if part.bands is not None:
        return 2.0 * sum(band.size for band in (part.bands.lower, part.bands.diagonal, part.bands.upper))
    if part.kind in ("jacobi", "block_jacobi"):
        return 2.0 * part.inverse.size
    entry = part.stored.itemsize + np.dtype(np.int32).itemsize
    return 2.0 * part.nbytes / entry  # of sparse factors, with their indices


def _of_level(level: Any, options: Any) -> float:
    steps = len(getattr(level.smoother, "steps", (0,))) * (options.presmooth + options.postsmooth)
    transfers = sum(values.size for values in getattr(level.transfer, "values", ()))
    return 2.0 * (level.csr.data.size * max(steps, 1) + transfers)
