"""Traffic matrices: packets merged to links, addresses numbered, and one pass that sums up the links."""

import numpy as np

from linforest_precond.backends.host_numbers import LARGEST_EXACT_FLOAT
from linforest_precond.backends.returns import TrafficScan

from ..runtime import INDICES, WEIGHTS, Program, cupy, launch, launch_blocks
from ..runtime.grid_sums import add_up

# As in traffic.cu: the words that a pass writes.
OUTSIDE, INVALID, LARGEST, LINKS, TOTAL_LOW, TOTAL_HIGH, DESCENTS, ROW_DESCENTS, WORDS = range(9)
# The words of the sums of all ends on one side: how many have packets, the most packets, the most links.
SIDE = 3
THREADS = 256
# Arrays on the device are not cut into pieces.
AT_ONCE = None
# The entries of a tile in traffic.cu, and the keys of a tile in traffic_links.cu.
ENTRY_TILE = KEY_TILE = 8 * THREADS
TRAFFIC = Program("csgraph/traffic", VALUE=(np.int64, *WEIGHTS), INDEX=INDICES)
LINK_PROGRAM = Program("csgraph/traffic_links", INDEX=INDICES)


def scan_links(indptr, indices, values, width, pieces):
    """Indices and values may be arrays on the host; `pieces` are copied one at a time."""
    rows, indptr = indptr.size - 1, cupy.asarray(indptr)
    sources, destinations = cupy.zeros((rows, 2), np.uint64), cupy.zeros((width, 2), np.uint64)
    words = cupy.zeros(WORDS + 2 * SIDE, np.uint64)
    program = TRAFFIC(INDEX=indices, VALUE=values)
    for begin, end in pieces:
        lead = min(begin, 1)  # the last column of the previous piece, to check the order
        columns = _on_device(indices[begin - lead : end])[lead:]
        arguments = (indptr, rows, columns, _on_device(values[begin:end]), begin, end - begin, width, lead)
        arguments, tiles = (*arguments, sources, destinations, words), -(-(end - begin) // ENTRY_TILE)
        launch(program.add_entries, arguments, items=tiles * THREADS, block=THREADS)
    launch(program.sum_up_ends, (sources, rows, words[WORDS:]), items=rows)
    launch(program.sum_up_ends, (destinations, width, words[WORDS + SIDE :]), items=width)
    return _read(words.get())  # stall: the result


def _on_device(array):
    """The array, or its copy on the device; parts of files become arrays in memory before."""
    return array if isinstance(array, cupy.ndarray) else cupy.asarray(np.ascontiguousarray(array))


def _read(words):
    return TrafficScan(
        *(int(~words[kind]) if words[kind] else -1 for kind in (OUTSIDE, INVALID)),
        bool(words[DESCENTS] == words[ROW_DESCENTS]),
        int(words[TOTAL_LOW]) + (int(words[TOTAL_HIGH]) << 32),
        int(words[LARGEST]),
        tuple(int(word) for word in words[WORDS : WORDS + SIDE]),
        tuple(int(word) for word in words[WORDS + SIDE :]),
        int(words[LINKS]),
    )


def as_matrix_values(packets):
    """CuPy has no sparse matrices of integers: float64, or a ValueError where it does not hold them."""
    most = int(packets.max()) if packets.size else 0  # stall: on demand
    if most > LARGEST_EXACT_FLOAT:
        raise ValueError(
            f"a link has more than 2**53 packets, {most}, which float64 does not hold exactly; use the "
            "arrays packets, indices and indptr"
        )
    return packets.astype(np.float64)


def pack_addresses(sources, destinations):
    keys = cupy.empty(sources.size, np.uint64)
    arguments = (cupy.ascontiguousarray(sources), cupy.ascontiguousarray(destinations), keys.size, keys)
    launch(_links_program().pack_addresses, arguments, items=keys.size)
    return keys


def merge_links(keys, packets):
    if packets is None:
        keys = cupy.sort(keys)
        sums = None
    else:
        order = cupy.argsort(keys)
        keys, sums = keys[order], cupy.cumsum(packets[order])
    starts, _ = _runs(keys, 0)
    count = starts.size - 1
    links, counts = cupy.empty(count, np.uint64), cupy.empty(count, np.int64)
    # A null pointer: packets are counted by the places of the runs.
    arguments = (keys, starts, count, 0 if sums is None else sums, links, counts)
    launch(_links_program().take_runs, arguments, items=count)
    return links, counts


def number_addresses(keys):
    starts, _ = _runs(keys, 32)
    sources = (keys[starts[:-1]] >> np.uint64(32)).astype(np.uint32)
    # Words of destination and place: one sort of words, whose low halves are the places in the new order.
    places = (keys << np.uint64(32)) | cupy.arange(keys.size, dtype=np.uint64)
    places.sort()
    runs, ends = _runs(places, 32)
    destinations = (places[runs[:-1]] >> np.uint64(32)).astype(np.uint32)
    index = np.int32 if destinations.size < 2**31 else np.int64
    indices = cupy.empty(keys.size, index)
    launch_tiles(_links_program(index).number_runs, (places, places.size, 32, ends, indices), places.size)
    return sources, starts, destinations, indices


def _runs(keys, shift):
    """Where runs of keys begin that are equal above `shift` bits, and the number of keys at the end.

    Also the number of runs that begin in each tile or before.
    """
    program, ends = _links_program(), cupy.zeros(max(1, -(-keys.size // KEY_TILE)), np.int64)
    launch_tiles(program.count_runs, (keys, keys.size, shift, ends), keys.size)
    starts = cupy.empty(int(add_up(ends)[-1]) + 1, np.int64)  # stall: the size of the result
    launch_tiles(program.place_runs, (keys, keys.size, shift, ends, starts), max(keys.size, 1))
    return starts, ends


def launch_tiles(kernel, arguments, count):
    """One block for each tile of keys."""
    if count:
        launch_blocks(kernel, -(-count // KEY_TILE), arguments, block=THREADS)


def _links_program(index=np.int32):
    return LINK_PROGRAM(INDEX=index)
