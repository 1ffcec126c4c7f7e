"""Coverages with sums in single precision, which explain some of the published values."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.study.results import JsonObject

# Numbers of partial sums.
PARTS = (1, 2, 4, 8, 64)


def single_precision(csr: CheckedMatrix) -> list[JsonObject]:
    """c_id by running sums in single precision, for several numbers of partial sums.

    A running sum beyond 2^22 loses weights of 0.2, and one beyond 2^24 those of 1. ``scale`` is the exact sum
    of all off-diagonal weights over the rounded one.
    """
    backend = csr.backend
    distance = backend.matrix.entries.rows_of(csr.indptr, csr.nnz) - csr.indices
    weights = abs(csr.data)
    near = _host(backend.xp, weights[abs(distance) == 1])
    others = _host(backend.xp, weights[distance != 0])
    exact = float(others.sum(dtype=np.float64))
    return [_rounded(near, others, exact, parts) for parts in PARTS]


def _host(xp: Any, weights: Array) -> Any:
    weights = weights.astype(np.float32)
    return weights if xp is np else xp.asnumpy(weights)


def _rounded(near: Any, others: Any, exact: float, parts: int) -> JsonObject:
    total = running_sum(others, parts)
    return {
        "parts": parts,
        "identity": running_sum(near, parts) / total if total else 0.0,
        "scale": exact / total if total else 1.0,
    }


def running_sum(weights: Any, parts: int) -> float:
    """The sum of float32 numbers by `parts` accumulators, one for each contiguous part."""
    padded = np.zeros(-(-max(weights.size, 1) // parts) * parts, np.float32)
    padded[: weights.size] = weights
    sums = np.add.accumulate(padded.reshape(parts, -1), axis=1, dtype=np.float32)[:, -1]
    return float(sums.sum(dtype=np.float64))
