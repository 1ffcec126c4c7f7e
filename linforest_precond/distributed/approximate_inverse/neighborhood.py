"""Halos of rows for approximate inverses: they grow until they cover the patterns of own rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import CSRArrays
from linforest_precond.distributed.multigrid.rectangles import RankRows, rows_in_order
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.rectangles import kept

grow_with_flags = host.approximate_inverse.row_systems.grow_with_flags
refill_with_flags = host.approximate_inverse.row_systems.refill_with_flags
rows_of = host.matrix.entries.rows_of


@dataclass(frozen=True, eq=False)
class RankFunctionals:
    """The functionals of own rows, as in `precond.approximate_inverse.functionals`."""

    comm: Communicator
    offsets: Array  # rank r owns the rows offsets[r]:offsets[r + 1]
    matrix: RankRows  # own rows of N, in double precision
    start: RankRows  # own rows of S, in double precision
    diagonal: Array  # the own part of the diagonal of N
    triangular: bool  # whether rows are those of a lower triangular factor

    @property
    def first(self) -> int:
        return int(self.offsets[self.comm.rank])

    def is_distant(self, ids: Array) -> Array:
        """Whether own rows may depend on rows of these ids, which other ranks own."""
        below = ids < self.first
        return below if self.triangular else below | (ids >= self.first + self.diagonal.size)

    def grow(self, entries: int, tolerance: float) -> tuple[CSRArrays, Array]:
        """Own rows on growing patterns, with global columns, and flags of each: collective.

        A row found without those rows of other ranks that it depends on is found anew with them: each round
        fetches the rows next to those that patterns have reached.
        """
        ids = self.start.ids[self.is_distant(self.start.ids)]
        left, flags = np.ones(self.diagonal.size, bool), np.zeros((self.diagonal.size, 2), bool)
        found: list[CSRArrays] = []
        while self.comm.total(np.count_nonzero(left)) or not found:
            near = Neighborhood.of(self, ids)
            own, rows, columns, values = near.grow(left, entries, tolerance)
            exact, missing = near.completeness(left, rows, columns)
            complete = exact[rows]
            found.append((rows[complete], near.ids[columns[complete]], values[complete]))
            flags[exact] = own[exact]
            left &= ~exact
            ids = np.union1d(ids, missing)
        rows, columns, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = np.argsort(rows, kind="stable")
        indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=self.diagonal.size)))
        return (indptr, columns[order], values[order]), flags

    def refill(self, indptr: Array, ids: Array, columns: Array) -> tuple[Array, Array]:
        """The values of own rows on a pattern whose columns have these ids, and flags of each: collective."""
        near = Neighborhood.of(self, ids[self.is_distant(ids)])
        return near.refill(indptr, np.searchsorted(near.ids, ids)[columns])


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """N and S on own ids and others, in ascending order; rows of those that are not known are empty."""

    functionals: RankFunctionals
    ids: Array  # the global ids
    own: slice  # the places of own ids
    known: Array  # whether the row of each id is known
    matrix: CSRArrays
    start: CSRArrays
    diagonal: Array

    @classmethod
    def of(cls, functionals: RankFunctionals, distant: Array) -> Neighborhood:
        """With the rows of these ids, which their owners send: collective."""
        count = functionals.diagonal.size
        halo = Halo(functionals.comm, functionals.offsets, distant)
        fetched = rows_in_order(halo, functionals.matrix)
        rows = halo.ascending_ids
        ids = np.union1d(np.union1d(rows, fetched.ids), functionals.start.ids)
        first = int(np.searchsorted(ids, functionals.first))
        own = slice(first, first + count)
        index = index_dtype(max(fetched.csr.indices.size, ids.size), fetched.csr.indices.dtype)
        known, diagonal = np.zeros(ids.size, bool), np.zeros(ids.size)
        places = np.searchsorted(ids, rows)
        known[places], diagonal[places] = True, halo.ascending(functionals.diagonal)
        matrix = _on_ids(fetched, places, ids, index)
        start = _on_ids(functionals.start, np.arange(own.start, own.stop), ids, index)
        return cls(functionals, ids, own, known, matrix, start, diagonal)

    def grow(self, chosen: Array, entries: int, tolerance: float) -> tuple[Array, Array, Array, Array]:
        """The flags of own rows; the rows, columns and values of the entries of the chosen ones."""
        wanted = np.zeros(self.ids.size, bool)
        wanted[self.own] = chosen
        start = kept(self.start, np.repeat(wanted, np.diff(self.start[0])))
        triangular = self.functionals.triangular
        (indptr, columns, values), flags = grow_with_flags(
            self.matrix, start, self.diagonal, triangular, entries, tolerance
        )
        rows = rows_of(indptr, columns.size)
        of_wanted = wanted[rows]
        return flags[self.own], rows[of_wanted] - self.own.start, columns[of_wanted], values[of_wanted]

    def completeness(self, chosen: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
        """Which of the chosen own rows depend on known rows only, and the ids of others that are needed.

        A row meets the columns of its row of S, and of the rows of N in its pattern.
        """
        lacking = ~self.known & self.functionals.is_distant(self.ids)
        of_matrix, of_start = (_rows_with(arrays, lacking) for arrays in (self.matrix, self.start))
        incomplete = of_start[self.own].copy()
        incomplete[rows[of_matrix[columns]]] = True
        incomplete &= chosen
        visited = np.zeros(self.ids.size, bool)
        visited[columns[incomplete[rows]]] = True
        of_rows = np.zeros(self.ids.size, bool)
        of_rows[self.own] = incomplete
        missing = _columns_of(self.matrix, visited, lacking) | _columns_of(self.start, of_rows, lacking)
        return chosen & ~incomplete, self.ids[missing]

    def refill(self, indptr: Array, columns: Array) -> tuple[Array, Array]:
        """The values of own rows on a pattern of places, and the flags of own rows."""
        triangular, index = self.functionals.triangular, self.matrix[1].dtype
        # Every row of a triangular factor has its diagonal entry; rows of other ranks have only that.
        others = np.arange(self.ids.size) if triangular else np.empty(0, np.int64)
        before, after = others[: self.own.start], others[self.own.stop :]
        lengths = np.full(self.ids.size, int(triangular))
        lengths[self.own] = np.diff(indptr)
        begins = np.append(0, np.cumsum(lengths)).astype(index)
        indices = np.concatenate([before, columns, after]).astype(index)
        data, flags = refill_with_flags(self.matrix, self.start, self.diagonal, triangular, begins, indices)
        return data[begins[self.own.start] : begins[self.own.stop]], flags[self.own]


def _on_ids(rows: RankRows, places: Array, ids: Array, index: np.dtype) -> CSRArrays:
    """The square CSR arrays with these rows at the places, and their columns among the ids."""
    lengths = np.zeros(ids.size, np.int64)
    lengths[places] = np.diff(rows.csr.indptr)
    columns = np.searchsorted(ids, rows.ids).astype(index)[rows.csr.indices]
    return np.append(0, np.cumsum(lengths)).astype(index), columns, rows.csr.data


def _rows_with(arrays: CSRArrays, marked: Array) -> Array:
    """Whether each row has an entry in a marked column."""
    indptr, indices, _ = arrays
    found = np.zeros(indptr.size - 1, bool)
    found[rows_of(indptr, indices.size)[marked[indices]]] = True
    return found


def _columns_of(arrays: CSRArrays, rows: Array, marked: Array) -> Array:
    """The marked columns of the entries of some rows."""
    indptr, indices, _ = arrays
    found = np.zeros(marked.size, bool)
    found[indices[rows[rows_of(indptr, indices.size)]]] = True
    return found & marked
