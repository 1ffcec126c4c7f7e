"""Out-of-core matching of locally dominant edges, for graphs larger than the GPU's memory.

The graph stays on the host and is streamed through the GPU in batches of consecutive rows. Copies and
computations overlap: two buffers alternate, each with its own stream.
"""

import dataclasses
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.host_numbers import batch_ends

from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import Program
from ..runtime.memory import free_bytes
from ..runtime.structs import Struct
from .best_edges import SEARCH_MACROS, Search, search_macros
from .locally_dominant import match_rest

# The fewest batches of a graph, and the largest share of the free memory that one batch takes.
FEWEST_BATCHES = 8
BATCH_SHARE = 1 / 16
# The largest share of the free memory for the remaining rows, which are then matched on the GPU alone.
REST_SHARE = 0.8

# The struct Batch in out_of_core_matching.cu, and the words of the struct Report before those of the batches.
BATCH = Struct(
    "Batch", "matching/out_of_core_matching.cu", indices="P", values="P", begin="q", first="q", last="q"
)
MATCHED, ENTRIES, REPORT_WORDS = range(3)
PROGRAM = Program("matching/out_of_core_matching", **SEARCH_MACROS)


def match(
    graph: Any, tie_key: np.uint32, batches: int | None = None, room: int | None = None
) -> tuple[Array, Array]:
    """The mate of each vertex on the host, -1 where it is single, and an array: rounds that matched, maximal.

    Every round streams the batches in which vertices must set their pointers anew, because their targets
    were matched. As soon as the rows of all vertices that may still be matched fit into `room` bytes
    (default: a share of the free memory), they are copied to the GPU once more and matched there.
    """
    if graph.indices.size == 0:
        return np.full(graph.n, -1, graph.indices.dtype), np.array([0, 1])
    stream = StreamedGraph(graph, tie_key, batches)
    rounds, pending = 0, range(stream.ends.size)
    while len(pending):
        stream.set_pointers(pending, rounds)
        matched, entries, pending = stream.match_mutual()
        rounds += matched
        if entries and entries * stream.entry_bytes <= (stream.spare_bytes() if room is None else room):
            rounds = stream.match_rest(rounds, entries)
            break
    return stream.mates.get(), np.array([rounds, 1])


class StreamedGraph:
    """A graph on the host; row pointers, mates and pointers of all vertices are on the device."""

    def __init__(self, graph, tie_key, batches):
        self.graph, self.tie_key = graph, tie_key
        self.program = PROGRAM(**search_macros(graph))
        self.entry_bytes = graph.indices.dtype.itemsize + graph.values.dtype.itemsize
        self.ends = batch_ends(graph.indptr, batches or self._batches_for_memory())
        self.indptr, self.device_ends = cupy.asarray(graph.indptr), cupy.asarray(self.ends)
        self.mates, self.pointers = cupy.empty((2, graph.n), graph.indices.dtype)
        self.mates.fill(-1)
        largest = int(np.diff(graph.indptr[self.ends], prepend=0).max())
        self.buffers = [Buffer(self, largest) for _ in range(2)]

    def _batches_for_memory(self):
        share = BATCH_SHARE * free_bytes()
        return max(FEWEST_BATCHES, int(np.ceil(self.graph.indices.size * self.entry_bytes / share)))

    def spare_bytes(self):
        """The memory for the entries of the remaining rows, after the arrays of all vertices."""
        return REST_SHARE * free_bytes() - 4 * self.mates.nbytes

    def set_pointers(self, batches, rounds):
        """Set the pointers of the vertices whose targets were matched; of all vertices in the first round."""
        vertices = self.mates, self.pointers, rounds
        self._stream_batches(
            batches, lambda buffer, batch: buffer.set_pointers(self.program, batch, *vertices)
        )

    def match_mutual(self):
        """Match mutual pointers; returns whether there were any, and what is left.

        Namely the entries of the rows of all vertices that may still be matched, and the batches in which
        vertices must set their pointers anew.
        """
        report = cupy.zeros(REPORT_WORDS + self.ends.size, np.uint64)
        arguments = self.indptr, self.pointers, self.mates, self.graph.n, self.device_ends, self.ends.size
        launch(self.program.match_mutual, (*arguments, report))
        report = report.get()  # stall: selects what is copied next
        return int(report[MATCHED]), int(report[ENTRIES]), np.flatnonzero(report[REPORT_WORDS:])

    def match_rest(self, rounds, entries):
        """Match the remaining vertices on the device, after copying their rows; returns the rounds in all."""
        indptr = self._rest_indptr()
        indices = cupy.empty(entries, self.graph.indices.dtype)
        values = cupy.empty(entries, self.graph.values.dtype)
        ends = indptr[self.device_ends].get()  # stall: which batches contain these rows
        rest = indptr, indices, values
        self._stream_batches(
            np.flatnonzero(np.diff(ends, prepend=0)),
            lambda _, batch: launch(self.program.copy_kept_rows, (self.indptr, batch, *rest)),
        )
        graph = dataclasses.replace(self.graph, indptr=indptr, indices=indices, values=values)
        progress = match_rest(graph, self.tie_key, self.mates, self.pointers, rounds)
        return int(progress[0])  # stall: the mates are copied to the host next

    def _rest_indptr(self):
        """Row pointers of the rows that may still be matched; few temporaries, for memory is short."""
        indptr = self.indptr.copy()
        lengths = indptr[1:]
        lengths -= self.indptr[:-1]
        lengths *= self.mates < 0
        lengths *= self.pointers >= 0
        cupy.cumsum(lengths, dtype=lengths.dtype, out=lengths)
        return indptr

    def _stream_batches(self, batches, work):
        """Copy batches into the alternating buffers and call `work(buffer, batch)` in their streams."""
        now = cupy.cuda.get_current_stream()
        ready = now.record()
        for buffer in self.buffers:
            buffer.stream.wait_event(ready)
        for turn, batch in enumerate(batches):
            first, last = int(self.ends[batch - 1]) if batch else 0, int(self.ends[batch])
            buffer = self.buffers[turn % 2]
            with buffer.stream:
                work(buffer, buffer.load(self.graph, first, last))
        for buffer in self.buffers:
            now.wait_event(buffer.stream.record())


class Buffer:
    """Device memory for the entries of one batch, with the stream that copies and processes it."""

    def __init__(self, streamed, entries):
        graph = streamed.graph
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.indices = cupy.empty(entries, graph.indices.dtype)
        self.values = cupy.empty(entries, graph.values.dtype)
        held = dataclasses.replace(graph, indptr=streamed.indptr, indices=self.indices, values=self.values)
        self.search = Search(held, streamed.tie_key, mean=graph.indices.size / graph.n)
        self.piece_count = cupy.empty(1, np.uint64)

    def load(self, graph, first, last):
        """Copy the rows of the vertices [first, last); asynchronous where the host's memory is pinned."""
        begin, end = int(graph.indptr[first]), int(graph.indptr[last])
        if end > begin:
            self.indices[: end - begin].set(graph.indices[begin:end])
            self.values[: end - begin].set(graph.values[begin:end])
        return BATCH(indices=self.indices, values=self.values, begin=begin, first=first, last=last)

    def set_pointers(self, program, batch, mates, pointers, rounds):
        arguments = self.search.struct(), batch, mates, pointers, rounds
        launch(program.set_batch_pointers, arguments, shared_memory=self.search.shared_memory)
        if self.search.arrays["pieces"] is not None:
            self.piece_count.fill(0)
            launch(program.list_batch_pieces, (*arguments[:2], self.piece_count))
            launch(program.set_batch_pointers_by_pieces, (*arguments, self.piece_count))
