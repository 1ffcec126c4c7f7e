"""Products of two sparse matrices by rows."""

import numpy as np

from ..runtime.lazy_cupy import cupy
from .row_merging import merge_rows

# Terms that are merged at a time: a limit on work space.
TERMS_AT_ONCE = 2**26


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Entries that sum to zero stay stored.
    """
    merged = merge_rows(right, left[0], left[1], weights=left[2], most_terms=TERMS_AT_ONCE)
    return _in_parts(left, right) if merged is None else merged


def _in_parts(left, right):
    """The same for consecutive rows with about equal numbers of terms, one part at a time."""
    terms = cupy.zeros(left[1].size + 1, np.int64)
    cupy.cumsum((right[0][1:] - right[0][:-1])[left[1]], out=terms[1:])
    of_rows = terms[left[0]]
    shares = cupy.arange(TERMS_AT_ONCE, int(of_rows[-1]), TERMS_AT_ONCE)  # stall: how many
    cuts = cupy.searchsorted(of_rows, shares, side="right") - 1
    places = cupy.stack([cuts, left[0][cuts]]).T.tolist()  # stall: where to cut
    places = sorted({(0, 0), *map(tuple, places), (left[0].size - 1, left[1].size)})
    parts = [_product_of_rows(left, right, *cut) for cut in zip(places, places[1:])]
    indptr, end = [parts[0][0][:1]], 0
    for own, columns, _ in parts:
        indptr.append(own[1:] + end)
        end += columns.size
    indices, data = (cupy.concatenate([part[i] for part in parts]) for i in (1, 2))
    return cupy.concatenate(indptr).astype(left[1].dtype), indices, data


def _product_of_rows(left, right, begin, end):
    """Some rows of the product; a cut is a row and where its entries begin."""
    indptr, indices, data = left
    (first, slot), (last, last_slot) = begin, end
    begins = indptr[first : last + 1] - indptr.dtype.type(slot)
    return merge_rows(right, begins, indices[slot:last_slot], weights=data[slot:last_slot])
