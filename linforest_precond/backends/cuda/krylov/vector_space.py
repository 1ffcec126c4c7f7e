"""Krylov solvers on the device: their vectors by name, and their scalars, which stay there until the end."""

import numpy as np

from linforest_precond.backends.returns import Report

from ..runtime.launch import launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type
from ..runtime.structs import Struct

# The constants of krylov.cuh.
THREADS = 256
SUMS = 2
SCALARS, NUMBERS = 4, 5
TARGET = 3  # among the numbers
ACTIVE, RECORDS, STEPS, UNMEASURED, START_TIME, HEAD = range(6)
_NAMES = "start cg_rho fcg_rho cg_curvature cg_step bi_alpha bi_half bi_omega bi_step"
LOGIC = {name: np.int32(number) for number, name in enumerate(_NAMES.split())}
# Sums of an update, and the vectors it takes.
UPDATES = {
    "cg_direction": ((), ("z", "p")),
    "cg_step": ((("r", "r"),), ("x", "r", "p", "q")),
    "bi_direction": ((), ("r", "p", "v")),
    "bi_half": ((("r", "r"),), ("r", "v")),
    "bi_step": ((("r", "r"), ("shadow", "r")), ("x", "r", "t", "phat", "shat", "shadow")),
}
# Entries that a thread adds up at least, and blocks at most: more would only wait for each other.
ENTRIES_OF_THREAD = 4
LARGEST_GRID = 1056
# Iterations of a batch, by the most entries of a vector; a report holds those of four batches.
BATCHES = ((2 * 10**5, 16), (2 * 10**6, 4))
LEAST_BATCH = 2
RECORDS_OF_BATCH = 2 * 16

SPACE = Struct(
    "Space", "krylov/scalar_steps.cuh",
    scalars="P", numbers="P", report="P", partials="P", arrivals="P", fresh="P",
    rows="q", columns="q", capacity="q", most_iterations="q", epsilon="d", largest_growth="d", plain="q",
)  # fmt: skip


class Space:
    """The vectors of k systems of n rows that are iterated together, and their scalars."""

    def __init__(
        self, n, columns, dtype, names, *, targets, largest_growth, most_iterations, inner=None, x_true=None
    ):
        if columns > THREADS:
            raise ValueError(f"b must have at most {THREADS} columns on cuda, got {columns}")
        self._vectors = {name: cupy.zeros((n, columns), dtype) for name in ("x", "r", *names)}
        self.columns, self._inner, self._x_true = columns, inner, x_true
        wide = np.dtype(wide_type(dtype))
        self._program = kernels("krylov/updates", VALUE=dtype.type, WIDE=wide.type, BLOCK=1)
        self._batch = next((batch for most, batch in BATCHES if n * columns <= most), LEAST_BATCH)
        self._capacity = 4 * RECORDS_OF_BATCH
        self._blocks = min(LARGEST_GRID, max(1, -(-n * columns // (THREADS * ENTRIES_OF_THREAD))))
        self._row_blocks = min(LARGEST_GRID, max(1, -(-n // THREADS)))
        self._scalars = cupy.zeros((SCALARS, columns), wide)
        numbers = np.zeros((NUMBERS, columns))
        numbers[TARGET] = targets
        self._numbers = cupy.asarray(numbers)
        self._report = cupy.zeros(HEAD + 2 * columns + 2 * self._capacity * (1 + columns))
        self._partials = cupy.empty(LARGEST_GRID * SUMS * columns, wide)
        self._arrivals, self._fresh = cupy.zeros(1, np.uint32), cupy.zeros(columns)
        self._limits = {
            "rows": n, "columns": columns, "capacity": self._capacity, "most_iterations": most_iterations,
            "epsilon": float(np.finfo(dtype).eps), "largest_growth": largest_growth,
        }  # fmt: skip
        self._stream, self._graph = _Stream(), None
        self._hosts = [cupy.cuda.alloc_pinned_memory(self._report.nbytes) for _ in range(2)]
        self._hosts = [np.frombuffer(memory, np.float64, self._report.size) for memory in self._hosts]
        self._waiting, self._seen, self._turn = [], 0, 0
        self._pack()

    def _pack(self):
        plain = self._vectors.get("z") is self._vectors["r"] and self._inner is None
        self._space = SPACE(
            scalars=self._scalars, numbers=self._numbers, report=self._report, partials=self._partials,
            arrivals=self._arrivals, fresh=self._fresh, plain=int(plain), **self._limits,
        )  # fmt: skip
        self._plain = plain

    def __getitem__(self, name):
        return self._vectors[name]

    def alias(self, name, other):
        """Let both names mean one vector."""
        self._vectors[name] = self._vectors[other]
        self._pack()

    def start(self, fresh):
        """Let the fresh columns begin from r as it is."""
        self._fresh[...] = cupy.asarray(fresh.astype(float))
        self._sum("start", ("r", "r"))
        self.record_error(half=False)
        self._send()

    def dot(self, logic, *pairs):
        """Do what follows from the inner products of pairs of vectors."""
        if logic == "cg_rho" and self._plain:
            return  # it is the residual's square: already done
        self._sum(logic, *pairs)

    def _sum(self, logic, *pairs):
        if self._inner is not None:
            self._sum_by_inner(logic, pairs)
            return
        kernel = self._program.dot_one if len(pairs) == 1 else self._program.dot_two
        vectors = [self[name] for pair in pairs for name in pair]
        self.launch(kernel, LOGIC[logic], *vectors)

    def _sum_by_inner(self, logic, pairs):
        sums = cupy.zeros((self.columns, SUMS), self._scalars.dtype)
        for i, (u, v) in enumerate(pairs):
            for c in range(self.columns):
                sums[c, i] = self._inner(self[u][:, c], self[v][:, c])
        arguments = self._space, LOGIC[logic], sums
        launch_blocks(self._program.take_sums, 1, arguments, block=THREADS)

    def update(self, name):
        """Make the update of that name, and do what follows from its sums."""
        pairs, names = UPDATES[name]
        vectors = [self[each] for each in names]
        kernel = getattr(self._program, name)
        if not pairs:
            self.launch(kernel, *vectors)
            return
        self.launch(kernel, np.int32(self._inner is None), *vectors)
        if self._inner is not None:
            self._sum_by_inner(name, pairs)

    def multiply(self, product, source, target, logic=None, *pairs):
        """Multiply one vector into another, then do as `dot` where a logic is given."""
        if logic is not None and product.own and self.columns == 1 and self._inner is None:
            product.into_with_sums(self, source, target, LOGIC[logic], pairs)
            return
        product.into(self, source, target)
        if logic is not None:
            self.dot(logic, *pairs)

    def precondition(self, preconditioning, source, target):
        """Multiply with M; without one nothing is done, and both names should mean one vector."""
        if not preconditioning.is_identity:
            preconditioning.into(self, source, target)

    def record_error(self, half):
        """Measure how far x is from the solution, for the last record."""
        if self._x_true is None:
            return
        extra = self["phat"] if half else None
        self.launch(self._program.measure_error, self["x"], 0 if extra is None else extra, self._x_true)

    def launch(self, kernel, *arguments):
        """Launch a kernel over the entries of vectors."""
        launch_blocks(kernel, self._blocks, (self._space, *arguments), block=THREADS)

    def launch_rows(self, kernel, *arguments):
        """Launch a kernel over the rows of a matrix."""
        launch_blocks(kernel, self._row_blocks, (self._space, *arguments), block=THREADS)

    def batch(self, iterate, capturable):
        """Iterate a few times; as a graph where nothing is called that is not ours."""
        if not capturable or self.columns > 1:
            iterate()
            self._send()
            return
        with self._stream as stream:
            if self._graph is None:
                self._graph = stream.captured(iterate, self._batch)
            self._graph.launch(stream.stream)
            self._send()

    def _send(self):
        """Let the report be brought to the host when the queue comes to it."""
        host, self._turn = self._hosts[self._turn], 1 - self._turn
        self._report.get(out=host, blocking=False)
        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        self._waiting.append((event, host))

    def poll(self, wait):
        """The report of a batch that is done, or None; the last one's, where `wait`."""
        if not self._waiting or (len(self._waiting) < 2 and not wait):
            return None
        while True:
            event, host = self._waiting.pop(0)
            if not (wait and self._waiting):
                break
        event.synchronize()
        return self._read(host.copy())

    def _read(self, report):
        columns, capacity = self.columns, self._capacity
        statuses, iterations = report[HEAD:][:columns], report[HEAD + columns :][:columns].astype(np.int64)
        rest = report[HEAD + 2 * columns :]
        count = int(report[RECORDS])
        slots = np.arange(self._seen, count) % capacity
        self._seen = count
        steps, seconds = rest[:capacity][slots], rest[capacity:][:capacity][slots]
        norms, errors = rest[2 * capacity :][: 2 * capacity * columns].reshape(2, capacity, columns)[:, slots]
        return Report(statuses, iterations, steps, seconds, norms, None if self._x_true is None else errors)


class _Stream:
    """A stream of its own for graphs, which follows the current one and is followed by it."""

    def __init__(self):
        self.stream = None

    def __enter__(self):
        outer = cupy.cuda.get_current_stream()
        if self.stream is None:
            self.stream = cupy.cuda.Stream(non_blocking=True)
        self._outer = outer
        self.stream.wait_event(outer.record())
        self.stream.__enter__()
        return self

    def __exit__(self, *error):
        self.stream.__exit__(*error)
        self._outer.wait_event(self.stream.record())

    def captured(self, iterate, times):
        """The graph of so many iterations; one is made before, so that all is compiled and allocated."""
        iterate()
        self.stream.begin_capture()
        try:
            for _ in range(times):
                iterate()
        finally:
            graph = self.stream.end_capture()
        return graph
