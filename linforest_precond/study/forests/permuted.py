"""Random symmetric permutations of a system and its preconditioner, which change the rounding alone."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.backends.array_libraries import device_name, xp_of
from linforest_precond.graph.reordering.permute import ordering_of, permute
from linforest_precond.precond.products import LIBRARIES

# Rows are shuffled within chunks of this size, whose vectors fit into a cache.
ROWS_TOGETHER = 2048


class Permutation:
    """A random permutation of a system's rows; the same for a seed on every device."""

    def __init__(self, A: SparseMatrix, seed: int):
        ordering = ordering_of(xp_of(A).asarray(shuffled(A.shape[0], seed)))
        self.order, self.rank = ordering.order, ordering.rank

    def vector(self, v: Array) -> Array:
        """The vector with its entries in the new order."""
        return v[self.order]

    def matrix(self, A: SparseMatrix) -> Any:
        """The matrix with rows and columns in the new order."""
        return permute(A, self.order)

    def operator(self, M: Any) -> Any:
        """M applied in the new order."""
        return _permuted_class(device_name(M))(self, M)


def shuffled(rows: int, seed: int) -> Array:
    """Rows shuffled within chunks: no row moves far, so that SpMV keeps its locality."""
    random = np.random.default_rng(seed)
    return np.argsort(np.arange(rows) // ROWS_TOGETHER + random.random(rows), kind="stable")


@functools.cache
def _permuted_class(backend: str) -> Any:
    library: Any = importlib.import_module(LIBRARIES[backend])

    class Permuted(library.LinearOperator):  # type: ignore[name-defined, misc, unused-ignore]
        def __init__(self, permutation: Permutation, M: Any):
            super().__init__(M.dtype, M.shape)
            self.permutation, self.M = permutation, M

        def _matvec(self, r: Array) -> Any:
            return (self.M @ r[self.permutation.rank])[self.permutation.order]

        _matmat = _matvec

    return Permuted
