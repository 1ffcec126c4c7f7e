"""Out-of-core matching of locally dominant edges, for graphs larger than the GPU's memory.

The graph stays on the host and is streamed through the GPU in batches of consecutive rows. Copies and
computations overlap: lanes alternate, each with its own stream. After the first round, only the rows of
vertices that must set their pointers anew are sent.
"""

import collections
import dataclasses
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.host_numbers import batch_ends

from ..runtime import Program, Struct, cupy, launch
from ..runtime.calibration import free_bytes
from ..runtime.uploads import Uploads, pinned_empty
from .best_edges import SEARCH_MACROS, Search, search_macros
from .locally_dominant import match_rest

# The fewest batches of a graph, and the largest share of the free memory that one batch takes.
FEWEST_BATCHES = 8
BATCH_SHARE = 1 / 16
# The largest share of the free memory for the entries that stay: all of them, or those of the remaining rows.
STAYING_SHARE = 0.8
# The largest batch of a graph that stays. Half as many bytes are more launches; with twice as many the last
# batch, whose search no copy hides, is longer.
STRIPE_BYTES = 2**25
# Batches that are copied or searched at a time, each in memory of its own; and where the graph stays, whose
# small batches share its memory: with two, no part is queued for some threads while a search is launched.
LANES, STAYING_LANES = 2, 4

# The struct Batch in out_of_core_matching.cu, and the words of the struct Report before those of the batches.
BATCH = Struct("Batch", "matching/out_of_core_matching.cu")
MATCHED, ENTRIES, REPORT_WORDS = range(3)
PROGRAM = Program("matching/out_of_core_matching", **SEARCH_MACROS)


def match(
    graph: Any, tie_key: np.uint32, batches: int | None = None, room: int | None = None
) -> tuple[Array, Array]:
    """The mate of each vertex on the host, -1 where it is single, and an array: rounds that matched, maximal.

    Where the entries of the whole graph fit into `room` bytes (default: a share of the free memory), they
    stay on the GPU, and each is copied once; the first search of a batch overlaps with the copies of the next
    one. Otherwise every round sends the rows of the vertices that must set their pointers anew, because their
    targets were matched. As soon as the rows of all vertices that may still be matched fit into the room,
    they are sent once more and matched on the GPU.
    """
    return match_counted(graph, tie_key, batches, room)[:2]


def match_counted(
    graph: Any, tie_key: np.uint32, batches: int | None = None, room: int | None = None
) -> tuple[Array, Array, int]:
    """As `match`, and the bytes that were copied to the GPU."""
    if graph.indices.size == 0:
        return np.full(graph.n, -1, graph.indices.dtype), np.array([0, 1]), 0
    with Uploads(graph.indptr.nbytes + graph.indices.nbytes + graph.values.nbytes) as uploads:
        mates, rounds = StreamedGraph(graph, tie_key, batches, room, uploads).match()
        return mates, np.array([rounds, 1]), uploads.bytes


class StreamedGraph:
    """A graph on the host; row pointers, mates and pointers of all vertices are on the device."""

    def __init__(self, graph, tie_key, batches, room, uploads):
        self.graph, self.tie_key, self.room, self.uploads = graph, tie_key, room, uploads
        self.program = PROGRAM(**search_macros(graph))
        self.sources = [np.asarray(array) for array in (graph.indices, graph.values)]
        self.entry_bytes = sum(source.itemsize for source in self.sources)
        self.mates, self.pointers = cupy.empty((2, graph.n), graph.indices.dtype)
        self.mates.fill(-1)
        self.indptr, self.kept = cupy.empty(graph.n + 1, graph.indptr.dtype), None
        entries = graph.indices.size
        self.stays = entries * self.entry_bytes <= self.spare_bytes()
        self.ends = batch_ends(graph.indptr, self._batches(batches))
        self.device_ends = cupy.asarray(self.ends)
        largest = int(np.diff(graph.indptr[self.ends], prepend=0).max())
        shared = self.empty_entries(entries) if self.stays else None
        lanes = min(STAYING_LANES if self.stays else LANES, self.ends.size)
        self.lanes = [Lane(self, shared, largest) for _ in range(lanes)]
        self._upload_now(lambda stream: uploads.copy(self.indptr, np.asarray(graph.indptr), stream))

    def _batches(self, asked):
        size = self.graph.indices.size * self.entry_bytes
        if self.stays:
            return max(asked or 1, -(-size // STRIPE_BYTES))
        return asked or max(FEWEST_BATCHES, int(np.ceil(size / (BATCH_SHARE * free_bytes()))))

    def spare_bytes(self):
        """The memory for the entries that stay, after the arrays of all vertices."""
        return STAYING_SHARE * free_bytes() - 5 * self.mates.nbytes if self.room is None else self.room

    def empty_entries(self, size):
        """Arrays for indices and values on the device."""
        return [cupy.empty(size, source.dtype) for source in self.sources]

    def match(self):
        """The mates on the host, and the number of rounds that matched edges."""
        rounds, pending = 0, range(self.ends.size)
        while len(pending):
            self._set_pointers(pending, rounds)
            matched, entries, pending = self._match_mutual()
            if not matched:  # every round matches an edge, unless another thread changes the weights
                break
            rounds += 1
            if entries and (self.stays or entries * self.entry_bytes <= self.spare_bytes()):
                rounds = self._match_rest(rounds, entries)
                break
        return self.mates.get(), rounds  # stall: the result

    def _set_pointers(self, batches, rounds):
        """Set the pointers of the vertices whose targets were matched; of all vertices in the first round."""
        if rounds:
            self._keep_rows(taken_only=True)
        now, loading = cupy.cuda.get_current_stream(), collections.deque()
        ready = now.record()
        for lane in self.lanes:
            lane.stream.wait_event(ready)
            lane.search.arrays["indptr"] = self.kept if rounds else self.indptr
        for turn, batch in enumerate(batches):
            lane = self.lanes[turn % len(self.lanes)]
            loading.append((lane, *lane.load(self, int(batch), rounds)))
            if len(loading) == len(self.lanes):
                self._search(*loading.popleft(), rounds)
        for loaded in loading:
            self._search(*loaded, rounds)
        for lane in self.lanes:
            now.wait_event(lane.stream.record())

    def _search(self, lane, batch, uploads, rounds):
        wait_for(uploads)
        lane.set_pointers(self.program, batch, self.mates, self.pointers, rounds)

    def _keep_rows(self, taken_only):
        """Make row pointers to the rows that are sent, `kept` and `host_kept`; other rows are empty.

        They are those of the vertices that must set their pointers anew, or of all that may still be matched.
        """
        if self.kept is None:
            self.kept = cupy.empty_like(self.indptr)
            self.host_kept = pinned_empty(self.kept.size, self.kept.dtype)
        arguments = self.indptr, self.pointers, self.mates, self.graph.n, int(taken_only), self.kept
        launch(self.program.keep_rows, arguments)
        lengths = self.kept[1:]
        cupy.cumsum(lengths, dtype=lengths.dtype, out=lengths)
        self.kept.get(out=self.host_kept)  # stall: the host gathers these rows

    def upload(self, targets, begin, end, kept, stream):
        """Start copies of the entries [begin, end), of those of the kept rows if `kept`; returns futures."""
        started = []
        for target, source in zip(targets, self.sources):
            if kept:
                rows = np.asarray(self.graph.indptr), self.host_kept
                started += self.uploads.fill(target, gathering(*rows, source, begin), stream)
            else:
                started += self.uploads.copy(target, source[begin:end], stream)
        return started

    def _match_mutual(self):
        """Match mutual pointers; returns whether there were any, and what is left.

        Namely the entries of the rows of all vertices that may still be matched, and the batches in which
        vertices must set their pointers anew.
        """
        report = cupy.zeros(REPORT_WORDS + self.ends.size, np.uint64)
        arguments = self.indptr, self.pointers, self.mates, self.graph.n, self.device_ends, self.ends.size
        launch(self.program.match_mutual, (*arguments, report))
        report = report.get()  # stall: selects what is copied next
        return bool(report[MATCHED]), int(report[ENTRIES]), np.flatnonzero(report[REPORT_WORDS:])

    def _match_rest(self, rounds, entries):
        """Match the remaining vertices on the device, after copying their rows; returns the rounds in all."""
        indptr, arrays = self.indptr, self.lanes[0].arrays
        if not self.stays:
            self._keep_rows(taken_only=False)
            indptr, arrays = self.kept, self.empty_entries(entries)
            self._upload_now(lambda stream: self.upload(arrays, 0, entries, True, stream))
        graph = dataclasses.replace(self.graph, indptr=indptr, indices=arrays[0], values=arrays[1])
        progress = match_rest(graph, self.tie_key, self.mates, self.pointers, rounds)
        return int(progress[0])  # stall: the mates are copied to the host next

    def _upload_now(self, start):
        """Wait for the uploads that `start(stream)` starts; the current stream continues after the copies."""
        now, stream = cupy.cuda.get_current_stream(), self.lanes[0].stream
        stream.wait_event(now.record())
        wait_for(start(stream))
        now.wait_event(stream.record())


class Lane:
    """A stream with the work space of one batch at a time."""

    def __init__(self, streamed, shared, largest):
        """`shared`: the arrays of all entries, where these stay."""
        graph = streamed.graph
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.arrays = shared or streamed.empty_entries(largest)
        indices, values = (array[:largest] for array in self.arrays)
        held = dataclasses.replace(graph, indptr=streamed.indptr, indices=indices, values=values)
        self.search = Search(held, streamed.tie_key, mean=graph.indices.size / graph.n)
        self.piece_count = cupy.empty(1, np.uint64)

    def load(self, streamed, batch, rounds):
        """Start the upload of a batch: of all its rows, after the first round of the kept ones.

        Returns the batch, and futures.
        """
        first, last = int(streamed.ends[batch - 1]) if batch else 0, int(streamed.ends[batch])
        rows = streamed.host_kept if rounds else streamed.graph.indptr
        begin, end = int(rows[first]), int(rows[last])
        place = begin if streamed.stays else 0
        arrays = [array[place : place + end - begin] for array in self.arrays]
        uploads = streamed.upload(arrays, begin, end, rounds > 0, self.stream)
        return BATCH(indices=arrays[0], values=arrays[1], begin=begin, first=first, last=last), uploads

    def set_pointers(self, program, batch, mates, pointers, rounds):
        arguments = self.search.struct(), batch, mates, pointers, rounds
        with self.stream:
            launch(program.set_batch_pointers, arguments, shared_memory=self.search.shared_memory)
            if self.search.arrays["pieces"] is not None:
                self.piece_count.fill(0)
                launch(program.list_batch_pieces, (*arguments[:2], self.piece_count))
                launch(program.set_batch_pointers_by_pieces, (*arguments, self.piece_count))


def gathering(indptr, kept, source, begin):
    """Writes parts of the kept rows' entries, from number `begin` on."""
    # Imported here, because work on the GPU alone needs no Numba.
    from linforest_precond.backends.cpu.matching.out_of_core_matching import gather_entries
    from linforest_precond.backends.cpu.runtime.arrays import readonly

    arrays = [readonly(array) for array in (indptr, kept, source)]
    return lambda first, last, out: gather_entries(*arrays, begin + first, begin + last, out)


def wait_for(uploads):
    for upload in uploads:
        upload.result()
