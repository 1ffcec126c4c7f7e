"""The schema of packed ILU preconditioners."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.precond.ilu.row_orders import ORDERS
from linforest_precond.precond.storage.record_schemas import ORDERING
from linforest_precond.precond.storage.schema import (
    Choice,
    Complaint,
    Fields,
    Flag,
    Integer,
    Items,
    Names,
    Optional,
    Real,
    Record,
    Size,
    Table,
)
from linforest_precond.precond.storage.schema_arrays import Indices, Numbers, Pointers

MOST_SWEEPS = 1000


def levels_cover_rows(fields: Fields, names: Names) -> Complaint:
    starts, n = fields["starts"], names["n"]
    if not starts.size or starts[0] != 0 or starts[-1] != n or (np.diff(starts) <= 0).any():
        return "starts", f"ascend from 0 to the number of rows, {n}"
    return None


def entries_are_in_other_levels(fields: Fields, names: Names) -> Complaint:
    """Entries of L are in levels before that of their row, those of U in levels after it.

    Threads that solve would wait for each other for ever otherwise.
    """
    starts = fields["starts"]
    sizes = np.diff(starts)
    begins, ends = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes)
    lower, upper = fields["lower"], fields["upper"]
    if lower is not None and (lower["indices"] >= _of_entries(begins, lower["indptr"])).any():
        return "lower", "have its entries in levels before those of their rows"
    if (upper["indices"] < _of_entries(ends, upper["indptr"])).any():
        return "upper", "have its entries in levels after those of their rows"
    return None


def _of_entries(of_rows: Array, indptr: Array) -> Array:
    return np.repeat(of_rows, np.diff(indptr))


def lower_is_stored_or_derived(fields: Fields, names: Names) -> Complaint:
    if (fields["lower"] is None) != fields["cholesky"]:
        return "lower", "be null where the factors are those of Cholesky, and only there"
    return None


def triangle(entries: str) -> Table:
    return Table(
        {"data": Numbers(entries), "indptr": Pointers("n", entries), "indices": Indices(entries, below="n")}
    )


SCHEMA = Table(
    {
        "kind": Choice("ilu"),
        "n": Size("n"),
        "order": Choice(*ORDERS),
        "ordering": Record("Ordering", ORDERING, n="n", index="index"),
        "starts": Indices("levels + 1"),
        "upper": triangle("upper entries"),
        "lower": Optional(triangle("lower entries")),
        "inverse": Numbers("n"),
        "cholesky": Flag(),
        "sweeps": Optional(Integer(0, MOST_SWEEPS)),
        "findings": Items(Integer(), Real(0.0), Integer(), Real(0.0)),
    },
    levels_cover_rows,
    lower_is_stored_or_derived,
    entries_are_in_other_levels,
)
