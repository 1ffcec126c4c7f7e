"""New values for bands whose entries have known slots, checked and summed, and the hash of the pattern."""

import numpy as np

from linforest_precond.backends.returns import BandSlots, ValueScan, ghost_code

from ..matrix.entries import scan
from ..matrix.patterns import digest
from .bands import NO_SLOT, slots_of_edges


def find_slots(csr, neighbors, order):
    """The slots of the bands' entries in a matrix."""
    before = np.append(np.array([-1], order.dtype), order[:-1])
    own = np.stack([np.arange(csr.n), np.full(csr.n, -1)], axis=1).astype(neighbors.dtype)
    edges, ends = slots_of_edges(csr, neighbors)[order], neighbors[order]
    is_before, is_edge = ends == before[:, None], ends >= 0
    places = np.full((3, csr.n), NO_SLOT, csr.indices.dtype)
    places[1] = slots_of_edges(csr, own)[order, 0]
    for band, wanted in ((0, is_edge & is_before), (2, is_edge & ~is_before)):
        places[band] = np.where(wanted, edges, NO_SLOT).max(axis=1, initial=NO_SLOT)
    return with_places(csr, places)


def with_places(csr, places):
    """Known slots of a matrix."""
    return BandSlots(places, None, csr.nnz)


def refresh(indptr, indices, data, slots):
    """The report for `read_report` of CSR arrays that should have the pattern of the slots, and the bands.

    The bands have the entries at the slots, 0 where there is none. The index arrays may be any of the right
    lengths; copies of them are followed, as far as they are valid.
    """
    indptr, indices, data = np.array(indptr), np.array(indices), np.asarray(data)
    found = scan(indptr, indices, data)
    words = [int(word) for word in digest([indptr, indices])]
    finite = found.first_nonfinite < 0
    report = ValueScan(finite, found.total, found.adjacent, found.biased_exponent, words)
    return report, _gathered(data, slots)


def _gathered(data, slots):
    """The bands."""
    diagonal = slots.places[1]
    bands, ghosts = entries_at(data, slots.places), diagonal < NO_SLOT
    own = entries_at(data, ghost_code(diagonal[ghosts]))
    bands[1, ghosts] = np.where(own != 0, own, data.dtype.type(1))
    return tuple(bands)


def read_report(report, dtype):
    """The `ValueScan` of a report."""
    return report


def entries_at(data, slots):
    """The entries at the slots, 0 where these are negative."""
    entries = data.take(slots, mode="clip")
    entries[slots < 0] = 0
    return entries
