"""Schemas of the records that preconditioners of several kinds hold: orderings and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.schema import Checks, Fields, Names, RecordSpec, Spec
from linforest_precond.records.forest import Ordering


def rank_inverts_order(fields: Fields, names: Names) -> Checks:
    """`order` is then a permutation: no number occurs twice in it."""
    order, rank = fields["order"], fields["rank"]
    inverse = np.array_equal(rank[order], np.arange(order.size))
    yield "rank", "be the inverse of the permutation in order", inverse


def rows_hold_entries(fields: Fields, names: Names) -> Checks:
    """Row pointers begin with 0, never fall, and end with the number of entries."""
    indptr, entries = fields["indptr"], fields["data"].size
    ends = indptr.size and indptr[0] == 0 and indptr[-1] == entries
    yield "indptr", f"never fall from 0 to the {entries} entries", ends and (np.diff(indptr) >= 0).all()


def columns_ascend(fields: Fields, names: Names) -> Checks:
    yield from rows_hold_entries(fields, names)
    yield "indices", "ascend in each row", _csr(fields, names).has_canonical_format


def diagonal_is_stored(fields: Fields, names: Names) -> Checks:
    """The diagonal and the longest row are those of the CSR arrays."""
    A = _csr(fields, names)
    yield "diagonal", "be the diagonal of the matrix", np.array_equal(A.diagonal(), fields["diagonal"])
    longest = int(np.diff(A.indptr).max(initial=0))
    yield "longest_row", f"be {longest}", fields["longest_row"] == longest


def _csr(fields: Fields, names: Names) -> Any:
    shape = names["n"], names.get("width", names["n"])
    return sp.csr_array((fields["data"], fields["indices"], fields["indptr"]), shape)


def csr_arrays(below: str) -> dict[str, Spec]:
    """The fields of a sparse matrix with n rows, by the name of its number of columns."""
    return {
        "data": schema.numbers("entries"),
        "indptr": schema.indices("n + 1"),
        "indices": schema.indices("entries", below=below),
    }


ORDERING = RecordSpec(
    Ordering,
    {"order": schema.indices("n", below="n"), "rank": schema.indices("n", below="n")},
    rank_inverts_order,
)

MATRIX = RecordSpec(
    CheckedMatrix,
    {**csr_arrays(below="n"), "diagonal": schema.numbers("n")},
    columns_ascend,
    diagonal_is_stored,
    name="CSR",  # in files
)
