"""Products of two sparse matrices."""

import numpy as np

from .entries import canonical, rows_of
from .lazy import cupy

# Terms that are sorted at a time.
TERMS_AT_ONCE = 2**25


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Zeros that result are kept.
    """
    lengths = right[0][1:] - right[0][:-1]
    begins = cupy.zeros(left[1].size + 1, np.int64)
    cupy.cumsum(lengths[left[1]], out=begins[1:])
    of_rows = begins[left[0]]
    shares = cupy.arange(0, int(of_rows[-1]), TERMS_AT_ONCE)  # stall: how many
    cuts = cupy.searchsorted(of_rows, shares, side="right").tolist()  # stall: where to cut
    cuts = sorted({0, *cuts, left[0].size - 1})
    parts = [_rows(left, right, width, begins, *cut) for cut in zip(cuts, cuts[1:])]
    if not parts:
        return left
    indptr, end = [parts[0][0][:1]], 0
    for own, columns, _ in parts:
        indptr.append(own[1:] + end)
        end += columns.size
    indices, data = (cupy.concatenate([part[i] for part in parts]) for i in (1, 2))
    return cupy.concatenate(indptr).astype(left[1].dtype), indices, data


def _rows(left, right, width, begins, first, end):
    """Some rows of the product; `begins` counts the terms before each entry of the first matrix."""
    begin, last = int(left[0][first]), int(left[0][end])  # stall: where the rows are
    terms = begins[begin : last + 1] - begins[begin]
    indices, values = left[1][begin:last], left[2][begin:last]
    count = int(terms[-1])  # stall: how many
    source = rows_of(terms, count)
    place = cupy.arange(count) - terms[source] + right[0][indices[source]]
    rows = rows_of(left[0][first : end + 1] - left[0][first], indices.size)[source]
    values = values[source] * right[2][place]
    height = end - first
    indptr, indices, data = canonical(rows, right[1][place], values, max(height, width), left[1].dtype)
    return indptr[: height + 1], indices, data
