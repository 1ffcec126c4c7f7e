"""Gathering of rows on the host, for batches that are sent to the GPU."""

import numpy as np

from ..runtime.jit import kernel


# Copies the entries [first, last) of the kept rows; `kept` are row pointers to them, other rows are empty.
# Several threads may do so at once.
@kernel(nogil=True)
def gather_entries(indptr, kept, source, first, last, target):
    v = np.searchsorted(kept, first, side="right") - 1
    place = first
    while place < last:
        end = min(np.int64(kept[v + 1]), last)
        if end > place:
            slot = np.int64(indptr[v]) + place - np.int64(kept[v])
            target[place - first : end - first] = source[slot : slot + end - place]
            place = end
        v += 1
