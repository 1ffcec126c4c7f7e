"""The entries of a partitioned matrix, as solvers verify residuals with them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.matrix.value_range import nonzero_entries


class RankEntries:
    """Those of a rank's own rows: residuals in twice the working precision, and rows of zeros. Collective.

    A row is summed in the order of its global columns, so the bits do not depend on the partition.
    """

    def __init__(self, backend: Backend, rows: Any, halo: Halo, global_rows: int) -> None:
        self._backend, self._rows, self._halo, self._global_rows = backend, rows, halo, global_rows

    @cached_property
    def _entries(self) -> Any:
        rows = self._rows
        return self._backend.krylov.residuals.Entries(rows.indptr, rows.indices, rows.data)

    @cached_property
    def _empty_rows(self) -> Array:
        """The own rows without an entry but zeros, on the host."""
        sums = self._entries.magnitudes(self._backend.xp.ones((self._rows.shape[1], 1)))
        return np.flatnonzero(on_host(sums)[:, 0] == 0)  # stall: once a matrix

    def residual(self, b: Array, x: Array, target: Array) -> None:
        """Write this rank's part of b - A x into `target`."""
        self._entries.residual(b, self._halo.with_ghosts(x), target)

    def magnitudes(self, x: Array) -> Array:
        """This rank's part of |A| |x|, in double precision."""
        found: Array = self._entries.magnitudes(self._halo.with_ghosts(x))
        return found

    def zero_rows(self, b: Array) -> dict[int, int]:
        """`Problem.zero_rows`, the same on all ranks: where a row of A is zero, and a column of b is not."""
        rows, none = self._empty_rows, self._global_rows
        contradict = on_host(nonzero_entries(b[self._backend.xp.asarray(rows)]))  # stall: of few rows
        first = np.where(contradict, rows[:, None] + self._halo.first, none).min(axis=0, initial=none)
        found = self._halo.comm.allreduce(first, "min").tolist()
        return {c: row for c, row in enumerate(found) if row < none}
