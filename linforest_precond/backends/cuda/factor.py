"""The parallel [0,n]-factor: propose the heaviest edges, keep what both ends proposed, repeat."""

import numpy as np

from .launch import address, launch, struct
from .lazy import cupy
from .loader import kernels

# Rows of this mean length at most are staged in shared memory, a thread to a row.
STAGED_MEAN = 16
STAGED_ROWS = 256
STAGED_BYTES = 48 * 1024
# Below this share of active vertices the list of them is worked off instead of all rows.
DENSE_SHARE = 0.2
# Rows beyond this, and beyond LONG_FACTOR times the mean, are cut into pieces.
LONG_ROW = 256
LONG_FACTOR = 8
PIECE = 2048
# Iterations launched before the host looks how far they came; the last number goes on.
WINDOWS = (5, 5, 5, 5, 16, 32, 64)

# The fields of the structs and records in factor.cu.
POINTER = np.uint64
PROBLEM = dict.fromkeys(
    ("indptr", "indices", "values", "neighbors", "edge_values", "slots", "state"), POINTER
)
PROBLEM["rows"] = np.int64
ITERATION = dict.fromkeys(("tie_key", "next_charge_key", "threshold", "confirmed_before"), np.uint64)
ITERATION |= dict.fromkeys(("charged", "previous_charged", "automatic", "number", "history"), np.int32)
LONG_ROWS = dict.fromkeys(("rows", "first_piece", "piece_row", "counts", "partials"), POINTER)
ACTIVE, CONFIRMED, PROPOSED, SKIPPED, RECORD = range(5)

GOLDEN = 0x9E3779B97F4A7C15
FEWEST_AUTOMATIC = 5


def propose_factor(graph, n, limit, automatic, m, k_m, threshold, seed):
    """The factor's neighbours, weights and slots, the number of propositions, and whether it is maximal."""
    run = _Run(graph, n, automatic, m, k_m, threshold, seed)
    iterations, finished = 0, graph.n == 0
    maximal = finished
    for window in _windows():
        if finished or iterations == limit:
            break
        last = iterations + window if limit is None else min(limit, iterations + window)
        iterations, finished, maximal = run.window(iterations, last)
    run.finish()
    return run.neighbors, run.edge_values, run.slots, max(iterations, 1), maximal


def _windows():
    yield from WINDOWS
    while True:
        yield WINDOWS[-1]


def _mix64(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


class _Run:
    """One factor under construction: its arrays on the device, and what the host knows of its progress."""

    def __init__(self, graph, n, automatic, m, k_m, threshold, seed):
        rows, index = graph.n, graph.indices.dtype
        self.rows, self.automatic, self.m, self.k_m, self.threshold, self.seed = (
            rows,
            automatic,
            m,
            k_m,
            threshold,
            seed,
        )
        self.program = kernels("factor", WEIGHT=graph.values.dtype.type, INDEX=index.type, DEGREE=n)
        self.neighbors = cupy.empty((rows, n), index)
        self.edge_values = cupy.empty((rows, n), graph.values.dtype)
        self.slots = cupy.empty((rows, n), index)
        self.state = cupy.empty(rows, np.uint8)
        self.lists = cupy.empty(rows, index), cupy.empty(rows, index)
        self.problem = struct(
            PROBLEM, indptr=graph.indptr, indices=graph.indices, values=graph.values, neighbors=self.neighbors,
            edge_values=self.edge_values, slots=self.slots, state=self.state, rows=rows,
        )  # fmt: skip
        mean = graph.indices.size / max(rows, 1)
        self.dense = mean <= STAGED_MEAN
        entry_bytes = index.itemsize + graph.values.dtype.itemsize + 1  # column, value, state
        self.capacity = min(
            STAGED_BYTES // entry_bytes, 32 * int(np.ceil(STAGED_ROWS * mean * 1.1 / 32)) + 32
        )
        self.shared_memory = self.capacity * entry_bytes
        self.width = next(w for w in (4, 8, 16, 32) if w == 32 or 2.5 * w >= mean)
        self.long_row = max(LONG_ROW, int(LONG_FACTOR * mean))
        self.long_rows = self._list_long_rows(graph) if graph.longest_row > self.long_row else None
        self.active, self.confirmed = rows, 0
        self.carry = cupy.zeros((2, RECORD), np.uint64)

    def _list_long_rows(self, graph):
        index = graph.indices.dtype
        most_rows = graph.indices.size // self.long_row + 1
        most_pieces = graph.indices.size // PIECE + most_rows
        candidate = np.dtype(
            [("value", graph.values.dtype), ("hash", np.uint32), ("places", index, 2)], align=True
        )
        partial = np.dtype([("best", candidate, self.neighbors.shape[1]), ("alive", np.int32)], align=True)
        # The struct holds bare addresses: the arrays must be kept.
        self.long_arrays = {
            "rows": cupy.empty(most_rows, index),
            "first_piece": cupy.empty(most_rows, np.int64),
            "piece_row": cupy.empty(most_pieces, index),
            "counts": cupy.zeros(2, np.uint64),
            "partials": cupy.empty(most_pieces * partial.itemsize, np.uint8),
        }
        found = struct(LONG_ROWS, **self.long_arrays)
        launch(self.program.list_long_rows, (graph.indptr, self.rows, self.long_row, found))
        return found

    def is_charged(self, k):
        return k % self.m != self.k_m

    def charge_key(self, k):
        return _mix64((self.seed + GOLDEN * (2 * k + 1)) % 2**64)

    def window(self, first, last):
        """Make the iterations first, ..., last - 1 blindly, then look: (iterations made, finished, maximal)."""
        records = cupy.zeros((last - first + 2, RECORD), np.uint64)
        records[:2] = self.carry
        for k in range(first, last):
            self._iterate(k, k - first, records)
        self.carry = records[-2:]
        return self._progress(first, records.get())  # stall: once a window, to know whether to go on

    def _iterate(self, k, history, records):
        it = struct(
            ITERATION, tie_key=_mix64((self.seed + GOLDEN * (2 * k + 2)) % 2**64),
            next_charge_key=self.charge_key(k + 1), threshold=self.threshold, confirmed_before=self.confirmed,
            charged=self.is_charged(k), previous_charged=self.is_charged(k - 1), automatic=self.automatic, number=k,
            history=history,
        )  # fmt: skip
        record = address(records) + (history + 1) * RECORD * 8
        active, next_active = (address(array) for array in (self.lists[k % 2], self.lists[(k + 1) % 2]))
        half = int(DENSE_SHARE * self.rows)
        if k == 0 and self.is_charged(0):
            key = np.uint64(self.charge_key(0))
            launch(self.program.first_charges, (self.state, self.rows, key, np.uint64(self.threshold)))
        dense = self.dense and self.active >= half
        if dense:
            arguments = self.problem, it, record, self.long_row, self.capacity, half
            launch(self.program.propose_dense, arguments, shared_memory=self.shared_memory)
        if k > 0 or not dense:
            arguments = (
                self.problem,
                it,
                record,
                active,
                self.long_row,
                self.width,
                half if dense else self.rows + 1,
            )
            launch(self.program.propose_sparse, arguments)
        if self.long_rows is not None:
            launch(self.program.propose_long, (self.problem, it, record, self.long_rows))
            launch(self.program.merge_long, (self.problem, it, record, self.long_rows))
        launch(self.program.confirm, (self.problem, it, record, active, next_active))

    def _progress(self, first, records):
        for k, record in enumerate(records[1:-1], start=first):
            self.confirmed += int(record[CONFIRMED])
            self.active = int(records[k - first + 2][ACTIVE])
            if not self.is_charged(k) and not record[PROPOSED]:
                return k + 1, True, True
            few = 100 * int(record[CONFIRMED]) <= self.confirmed
            if self.automatic and k + 1 >= FEWEST_AUTOMATIC and few:
                return k + 1, True, False
        return first + len(records) - 2, False, False

    def finish(self):
        if self.rows:
            launch(self.program.finish_rows, (self.problem,))
