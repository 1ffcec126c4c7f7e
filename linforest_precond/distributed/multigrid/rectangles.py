"""Rectangular matrices over ranks, and their products and adjoints, summed in the order of one rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.entries import ascending_columns
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import joined, send_to_owners
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.prolongation import product

expanded_rows = host.matrix.entries.expanded_rows


@dataclass(frozen=True, eq=False)
class RankRows:
    """Own rows of a matrix."""

    csr: RectangularCSR  # columns are numbered on this rank, in the order of their global ids
    ids: Array  # the global id of each column


@dataclass(frozen=True, eq=False)
class RankRectangle(RankRows):
    """Own rows, with the halo of the columns, which fetches rows of a second factor."""

    halo: Halo

    @classmethod
    def of(cls, csr: RectangularCSR, halo: Halo) -> RankRectangle:
        return cls(csr, halo.ascending_ids, halo)

    def times(self, right: RankRows) -> RankRows:
        """The product; terms are added in the order of this matrix's entries: collective."""
        rows = rows_in_order(self.halo, right)
        return RankRows(product(self.csr, rows.csr), rows.ids)


def in_ascending_order(A: Matrix, csr: CheckedMatrix) -> RankRectangle:
    """A square matrix, whose own columns come before the ghosts."""
    rows = RectangularCSR(csr.indptr, ascending_columns(A), csr.data, A.halo.ids.size)
    return RankRectangle.of(rows, A.halo)


def rows_in_order(halo: Halo, matrix: RankRows) -> RankRows:
    """The rows of own ids and of the ghosts of a halo, in ascending order of the ids: collective."""
    csr, ids = matrix.csr, matrix.ids
    slots = {r: expanded_rows(csr.indptr, rows)[1] for r, rows in halo.sent.items()}
    slots = {r: places for r, places in slots.items() if places.size}
    lengths = np.diff(csr.indptr)
    of_ghosts = halo.fetch(lengths)
    expected = {r: int(counts.sum()) for r, counts in halo.by_owner(of_ghosts).items() if counts.sum()}

    def fetched(values: Array) -> Array:
        parts = {r: values[places] for r, places in slots.items()}
        return joined(halo.comm.exchange_known(parts, expected, values[:0]), values)

    columns, data = fetched(ids[csr.indices]), fetched(csr.data)
    if not of_ghosts.size:
        return matrix
    known, lower = np.union1d(ids, columns), halo.lower
    places = np.searchsorted(known, columns).astype(csr.indices.dtype)
    own = np.searchsorted(known, ids).astype(csr.indices.dtype)[csr.indices]
    cut = int(of_ghosts[:lower].sum())
    rows = np.concatenate([of_ghosts[:lower], lengths, of_ghosts[lower:]])
    indptr = np.concatenate([[0], np.cumsum(rows)]).astype(csr.indptr.dtype)
    indices = np.concatenate([places[:cut], own, places[cut:]])
    values = np.concatenate([data[:cut], csr.data, data[cut:]])
    return RankRows(RectangularCSR(indptr, indices, values, known.size), known)


def assembled(rows: Halo, parts: RectangularCSR, offsets: Array) -> RankRectangle:
    """The matrix whose rows are the sums of those that ranks have of own ids and ghosts: collective.

    The rows of `parts` are the ids of the halo in ascending order; its columns are own ones, of which rank r
    has ``offsets[r]:offsets[r + 1]``. No column has entries of two ranks.
    """
    comm, lower, count = rows.comm, rows.lower, rows.n_local
    begin, end = (int(parts.indptr[i]) for i in (lower, lower + count))
    ids = np.repeat(rows.ascending_ids, np.diff(parts.indptr))
    columns = parts.indices.astype(np.int64) + offsets[comm.rank]
    sent = np.delete(np.arange(parts.indices.size), np.s_[begin:end])
    found = send_to_owners(comm, rows.offsets, ids[sent], columns[sent], parts.data[sent])
    halo = Halo(comm, offsets, np.unique(found[1]))
    own = slice(begin, end)
    if not found[0].size:
        indptr = parts.indptr[lower : lower + count + 1] - parts.indptr[lower]
        csr = RectangularCSR(indptr, parts.indices[own], parts.data[own], parts.width)
        return RankRectangle.of(csr, halo)
    kept = ids[own], columns[own], parts.data[own]
    ids, columns, data = (np.concatenate(pair) for pair in zip(kept, found, strict=True))
    places, width = halo.ascending_places(columns), halo.ids.size
    canonical = parts.backend.matrix.entries.canonical
    indptr, indices, data = canonical(ids - rows.first, places, data, max(count, width), parts.indices.dtype)
    return RankRectangle.of(RectangularCSR(indptr[: count + 1].copy(), indices, data, width), halo)
