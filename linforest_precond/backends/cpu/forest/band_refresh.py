"""New values for bands along a forest, checked and summed, and the hash of the pattern."""

from typing import Any, NamedTuple

from linforest_precond.backends.returns import ValueScan

from ..matrix.entries import scan
from ..matrix.pattern_digest import digest
from .bands import extract


class _Values(NamedTuple):
    """What `extract` reads of a matrix whose slots are known."""

    n: int
    data: Any
    diagonal: Any


def copy_values(indptr, indices, data, forest):
    """The bands along a forest whose slots are those of this CSR matrix, and the report for `read_report`.

    The index arrays may be any: where the report has another digest than that of the forest's matrix, the
    bands are void. They are None where the arrays are not valid.
    """
    _, _, diagonal, report = checked_copy(indptr, indices, data)
    if not report.valid:
        return None, report
    values = _Values(indptr.size - 1, data, diagonal)
    return extract(values, forest.neighbors, forest.order, None, forest.slots), report


def checked_copy(indptr, indices, data):
    """Copies of the index arrays, which the user may change while they are followed; diagonal and report."""
    indptr, indices = indptr.copy(), indices.copy()
    found = scan(indptr, indices, data)
    wrong = found.first_bad_row, found.first_out_of_range, found.first_nonfinite
    words = [int(word) for word in digest([indptr, indices])]
    report = ValueScan(max(wrong) < 0, found.total, found.adjacent, found.biased_exponent, words)
    return indptr, indices, found.diagonal, report


def read_report(report, dtype):
    """The `ValueScan` of a report of `copy_values`."""
    return report
