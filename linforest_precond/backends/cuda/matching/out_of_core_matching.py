"""Locally dominant edges of a graph on the host, which passes through the GPU in batches of vertices."""

import dataclasses

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .best_edges import Search, search_macros
from .locally_dominant import match_rest

# Batches of a graph unless memory asks for more, and the share of the free memory that one may take.
FEWEST_BATCHES = 8
BATCH_SHARE = 1 / 16
# The share of the free memory that the rest of the graph may take, from then on without the host.
REST_SHARE = 0.8

# The struct in streamed.cu, and the words of a report before those of the batches.
BATCH = Struct(
    "Batch", "matching/out_of_core_matching.cu", indices="P", values="P", begin="q", first="q", last="q"
)
MATCHED, ENTRIES, REPORT_WORDS = range(3)


def match(graph, tie_key, batches=None, room=None):
    """The mate of each vertex, -1 of a single one, and an array: rounds that matched, maximal; on the host.

    In every round the batches with vertices whose targets are taken pass through two buffers: while the
    vertices in one point, the other is filled. As soon as the rows of all vertices that are left fit into
    `room` bytes, they come to the device once more, and stay.
    """
    if graph.indices.size == 0:
        return np.full(graph.n, -1, graph.indices.dtype), np.array([0, 1])
    stream = Streamed(graph, tie_key, batches)
    rounds, waiting = 0, range(stream.ends.size)
    while len(waiting):
        stream.point(waiting, rounds)
        matched, entries, waiting = stream.match_mutual()
        rounds += matched
        if entries and entries * stream.entry_bytes <= (stream.spare_bytes() if room is None else room):
            rounds = stream.match_rest(rounds, entries)
            break
    return stream.mates.get(), np.array([rounds, 1])


class Streamed:
    """What stays on the device: row pointers, mates and targets of all vertices; two buffers for entries."""

    def __init__(self, graph, tie_key, batches):
        self.graph, self.tie_key = graph, tie_key
        self.program = kernels("matching/out_of_core_matching", **search_macros(graph))
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
        """What the rest of the graph may take, beside what is kept for every vertex."""
        return REST_SHARE * free_bytes() - 4 * self.mates.nbytes

    def point(self, batches, rounds):
        """Let the vertices point anew whose targets are taken; all of them where no rounds were made."""
        vertices = self.mates, self.pointers, rounds
        self._pass_through(batches, lambda buffer, batch: buffer.point(self.program, batch, *vertices))

    def match_mutual(self):
        """Whether edges were matched, entries of the rows that are left, and batches that wait to point."""
        report = cupy.zeros(REPORT_WORDS + self.ends.size, np.uint64)
        arguments = self.indptr, self.pointers, self.mates, self.graph.n, self.device_ends, self.ends.size
        launch(self.program.match_mutual, (*arguments, report))
        report = report.get()  # stall: what is to be copied next?
        return int(report[MATCHED]), int(report[ENTRIES]), np.flatnonzero(report[REPORT_WORDS:])

    def match_rest(self, rounds, entries):
        """Bring the rows of all vertices that are left to the device and match there; the rounds made."""
        left = (self.mates < 0) & (self.pointers >= 0)
        indptr = cupy.zeros(self.graph.n + 1, self.indptr.dtype)
        indptr[1:] = cupy.cumsum(cupy.where(left, self.indptr[1:] - self.indptr[:-1], 0))
        indices = cupy.empty(entries, self.graph.indices.dtype)
        values = cupy.empty(entries, self.graph.values.dtype)
        ends = indptr[self.device_ends].get()  # stall: which batches hold the rest?
        rest = indptr, indices, values
        self._pass_through(
            np.flatnonzero(np.diff(ends, prepend=0)),
            lambda _, batch: launch(self.program.keep_rows, (self.indptr, batch, *rest)),
        )
        graph = dataclasses.replace(self.graph, indptr=indptr, indices=indices, values=values)
        progress = match_rest(graph, self.tie_key, self.mates, self.pointers, rounds)
        return int(progress[0])  # stall: the mates go to the host next

    def _pass_through(self, batches, work):
        """Copy batches into the buffers in turn and do `work(buffer, batch)` in the streams of these."""
        now = cupy.cuda.get_current_stream()
        ready = now.record()
        for buffer in self.buffers:
            buffer.stream.wait_event(ready)
        for turn, batch in enumerate(batches):
            first, last = int(self.ends[batch - 1]) if batch else 0, int(self.ends[batch])
            buffer = self.buffers[turn % 2]
            with buffer.stream:
                work(buffer, buffer.bring(self.graph, first, last))
        for buffer in self.buffers:
            now.wait_event(buffer.stream.record())


class Buffer:
    """A part of the device's memory that batches pass through, with the stream in which they do."""

    def __init__(self, streamed, entries):
        graph = streamed.graph
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.indices = cupy.empty(entries, graph.indices.dtype)
        self.values = cupy.empty(entries, graph.values.dtype)
        held = dataclasses.replace(graph, indptr=streamed.indptr, indices=self.indices, values=self.values)
        self.search = Search(held, streamed.tie_key, mean=graph.indices.size / graph.n)
        self.piece_count = cupy.empty(1, np.uint64)

    def bring(self, graph, first, last):
        """Copy the rows of vertices [first, last); the host goes on at once where their memory is pinned."""
        begin, end = int(graph.indptr[first]), int(graph.indptr[last])
        if end > begin:
            self.indices[: end - begin].set(graph.indices[begin:end])
            self.values[: end - begin].set(graph.values[begin:end])
        return BATCH(indices=self.indices, values=self.values, begin=begin, first=first, last=last)

    def point(self, program, batch, mates, pointers, rounds):
        arguments = self.search.struct(), batch, mates, pointers, rounds
        launch(program.point_batch, arguments, shared_memory=self.search.shared_memory)
        if self.search.arrays["pieces"] is not None:
            self.piece_count.fill(0)
            launch(program.list_batch_pieces, (*arguments[:2], self.piece_count))
            launch(program.point_batch_pieces, (*arguments, self.piece_count))


def batch_ends(indptr, batches):
    """The ends of at most so many ranges of vertices with about as many entries each."""
    shares = np.arange(1, batches + 1) * (int(indptr[-1]) / batches)
    ends = np.searchsorted(indptr[1:], shares) + 1
    ends[-1] = indptr.size - 1
    return np.unique(np.minimum(ends, indptr.size - 1))


def free_bytes():
    """What the device has free, and what CuPy's pool holds unused."""
    pool = cupy.get_default_memory_pool()
    return cupy.cuda.Device().mem_info[0] + pool.total_bytes() - pool.used_bytes()
