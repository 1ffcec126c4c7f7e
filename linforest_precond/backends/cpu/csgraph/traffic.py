"""Traffic matrices: packets merged to links, addresses numbered, and one pass that sums up the links."""

import numpy as np

from linforest_precond.backends.returns import TrafficScan

from ..runtime.arrays import readonly
from ..runtime.jit import kernel

# The words that a pass writes. Slots are stored as their complement by a maximum: 0 means none, and the first
# slot wins.
OUTSIDE, INVALID, LARGEST, TOTAL_LOW, TOTAL_HIGH, UNSORTED, WORDS = range(7)
# Entries of an array that are processed at a time: copied, converted or sorted.
AT_ONCE = 2**26
LOW_32_BITS = 2**32 - 1
BITS_32 = np.uint64(32)


def scan_links(indptr, indices, values, width, pieces):
    """Sum up the links of a CSR matrix with `width` columns; `pieces` are bounds of its entries."""
    sources, destinations = np.zeros((indptr.size - 1, 2), np.int64), np.zeros((width, 2), np.int64)
    words = np.zeros(WORDS, np.uint64)
    for begin, end in pieces:
        row = np.searchsorted(indptr, begin, side="right") - 1
        before = int(indices[begin - 1]) if begin > indptr[row] else -1
        packets = whole_packets(np.asarray(values[begin:end]))
        # One type of columns: the kernel is compiled once.
        piece = (readonly(indices[begin:end].astype(np.int64)), readonly(packets))
        add_entries(readonly(indptr), row, begin, before, *piece, sources, destinations, words)
    return TrafficScan(
        *(int(~words[kind]) if words[kind] else -1 for kind in (OUTSIDE, INVALID)),
        not words[UNSORTED],
        int(words[TOTAL_LOW]) + (int(words[TOTAL_HIGH]) << 32),
        int(words[LARGEST]),
        tuple(summed(sources)),
        tuple(summed(destinations)),
        int(sources[:, 1].sum()),
    )


def whole_packets(values):
    """The numbers of packets as int64, -1 for those that are negative, fractions, or no int64."""
    if values.dtype == np.int64:
        return np.ascontiguousarray(values)
    valid = (values >= 0) & (values < 2.0**63) & (np.floor(values) == values)
    return np.where(valid, values, -1).astype(np.int64)


def summed(ends):
    """How many ends have packets, and the most packets and links of one."""
    # Column by column: NumPy's maxima along the first axis take many times as long.
    most = (int(ends[:, side].max(initial=0)) for side in (0, 1))
    return int(np.count_nonzero(ends[:, 1])), *most


@kernel
def add_entries(indptr, row, first, before, columns, packets, sources, destinations, words):
    """Add the links of one piece, which begins at entry `first` in `row`, to the sums of both ends."""
    largest, low, high, unsorted = np.int64(0), np.int64(0), np.int64(0), False
    begin = 0
    while begin < columns.size:
        while indptr[row + 1] <= first + begin:
            row += 1
            before = -1
        sent = fan_out = 0
        end = min(columns.size, indptr[row + 1] - first)
        for entry in range(begin, end):
            column, count = columns[entry], packets[entry]
            if column < 0 or column >= destinations.shape[0]:
                words[OUTSIDE] = max(words[OUTSIDE], ~np.uint64(first + entry))
                continue
            unsorted |= column <= before
            before = column
            if count < 0:
                words[INVALID] = max(words[INVALID], ~np.uint64(first + entry))
            elif count > 0:
                largest = max(largest, count)
                low += count & LOW_32_BITS
                high += count >> 32
                sent += count
                fan_out += 1
                destinations[column, 0] += count
                destinations[column, 1] += 1
        begin = end
        sources[row, 0] += sent
        sources[row, 1] += fan_out
    words[LARGEST] = max(words[LARGEST], np.uint64(largest))
    words[TOTAL_LOW] += np.uint64(low)
    words[TOTAL_HIGH] += np.uint64(high)
    words[UNSORTED] |= np.uint64(unsorted)


def as_matrix_values(packets):
    """The packets as values of a sparse matrix."""
    return packets.copy()


def pack_addresses(sources, destinations):
    """Links as 64-bit words: the source above, the destination below."""
    return (sources.astype(np.uint64) << BITS_32) | destinations


def merge_links(keys, packets):
    """The different links, sorted, and the packets of each; None as `packets` means one for each key."""
    if packets is None:
        keys = np.sort(keys)
        starts = run_starts(keys)
        return keys[starts[:-1]], np.diff(starts)
    order = np.argsort(keys, kind="stable")  # linear where two sorted runs are merged
    keys = keys[order]
    starts = run_starts(keys)
    sums = np.add.reduceat(packets[order], starts[:-1]) if keys.size else packets.copy()
    return keys[starts[:-1]], sums


def number_addresses(keys):
    """The sources, row pointers, destinations and columns of sorted links, at most 2**32."""
    starts = run_starts(keys >> BITS_32)
    sources = (keys[starts[:-1]] >> BITS_32).astype(np.uint32)
    # Words of destination and place: one sort of words, whose low halves are the places in the new order.
    places = np.sort((keys << BITS_32) | np.arange(keys.size, dtype=np.uint64))
    runs = run_starts(places >> BITS_32)
    destinations = (places[runs[:-1]] >> BITS_32).astype(np.uint32)
    index = np.int32 if destinations.size < 2**31 else np.int64
    indices = np.empty(keys.size, index)
    indices[places & np.uint64(LOW_32_BITS)] = np.repeat(
        np.arange(destinations.size, dtype=index), np.diff(runs)
    )
    return sources, starts, destinations, indices


def run_starts(keys):
    """Where runs of equal keys begin, and the number of keys at the end; int64."""
    heads = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    return np.concatenate([np.zeros(min(keys.size, 1), np.int64), heads, [keys.size]])
