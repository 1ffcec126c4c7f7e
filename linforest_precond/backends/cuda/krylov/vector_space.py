"""The vector space of Krylov solvers on the device: vectors by name, and scalars that stay there."""

import numpy as np

from linforest_precond.backends.krylov_codes import (
    LARGEST_SUMS,
    UPDATES,
    CycleStep,
    MinresNumber,
    NumberSlot,
    ReportHead,
    RunningState,
    ScalarSlot,
    ScalarStep,
    StatusCode,
)
from linforest_precond.backends.returns import Report
from linforest_precond.backends.workspaces import Lease

from ..runtime import VALUES, Program, Struct, cupy, generate_header, launch_blocks, wide_type
from ..runtime.grid_sums import LARGEST_GRID, THREADS
from ..runtime.launches import launches_of
from ..runtime.streams import capturing

generate_header(
    "krylov/codes.cuh",
    constants=(("STATUS_", RunningState), ("STATUS_", StatusCode)),
    enums=(
        ("STEP_", ScalarStep),
        ("SCALAR_", ScalarSlot),
        ("NUMBER_", NumberSlot),
        ("MINRES_", MinresNumber),
        ("CYCLE_", CycleStep),
        ("REPORT_", ReportHead),
    ),
    LARGEST_SUMS=LARGEST_SUMS,
)

# A thread sums at least this many entries.
ENTRIES_OF_THREAD = 4
# Iterations of a batch, by the most entries of a vector; a report has room for the records of four batches.
BATCHES = ((2 * 10**5, 16), (2 * 10**6, 4))
LEAST_BATCH = 2
# An iteration with more launches is a batch by itself (two products with a tridiagonal preconditioner have
# fewer): the device is longer busy with it than the host with a batch, a capture takes time for every launch,
# and one batch runs after the one that converges.
LIGHT_LAUNCHES = 12
RECORDS_OF_BATCH = 2 * 16
# Iterations of a batch at most where a run is paused: shorter runs until a pause are not made by graphs.
PAUSED_BATCH = 4

SPACE = Struct("KrylovSpace", "krylov/scalar_steps.cuh")
PROGRAM = Program("krylov/updates", same_bits=False, VALUE=VALUES, WIDE=wide_type, BLOCK=1)


class KrylovSpace:
    """All methods only enqueue kernels; `poll` is where the host reads."""

    def __init__(
        self, n, columns, dtype, names, *, targets, largest_growth, most_iterations, inner=None, x_true=None
    ):
        if columns > THREADS:
            raise ValueError(f"b must have at most {THREADS} columns on cuda, got {columns}")
        self._vectors = {name: cupy.zeros((n, columns), dtype) for name in ("x", "r", *names)}
        self.columns, self.inner, self._x_true = columns, inner, x_true
        wide = np.dtype(wide_type(dtype))
        self._program = PROGRAM(VALUE=dtype)
        self._capacity = 4 * RECORDS_OF_BATCH
        self.blocks = min(LARGEST_GRID, max(1, -(-n * columns // (THREADS * ENTRIES_OF_THREAD))))
        self._scalars = cupy.zeros((len(ScalarSlot), columns), wide)
        numbers = np.zeros((len(NumberSlot) + len(MinresNumber), columns))
        numbers[NumberSlot.TARGET] = targets
        self.numbers = cupy.asarray(numbers)
        self._report = cupy.zeros(len(ReportHead) + 2 * columns + 2 * self._capacity * (1 + columns))
        self._partials = cupy.empty(LARGEST_GRID * LARGEST_SUMS * columns, wide)
        self._arrivals, self._starting = cupy.zeros(1, np.uint32), cupy.zeros(columns)
        self._limits = {
            "rows": n, "columns": columns, "capacity": self._capacity, "most_iterations": most_iterations,
            "epsilon": float(np.finfo(dtype).eps), "largest_growth": largest_growth,
        }  # fmt: skip
        self._stream, self._graph, self._batch, self._lease = _Stream(), None, 0, Lease()
        self._hosts = [cupy.cuda.alloc_pinned_memory(self._report.nbytes) for _ in range(2)]
        self._hosts = [np.frombuffer(memory, np.float64, self._report.size) for memory in self._hosts]
        self._pending, self._seen, self._turn = [], 0, 0
        self._pack()

    def _pack(self):
        """Fill in the struct that kernels take by value."""
        unpreconditioned = self._vectors.get("z") is self._vectors["r"] and self.inner is None
        self.struct = SPACE(
            scalars=self._scalars, numbers=self.numbers, report=self._report, partials=self._partials,
            arrivals=self._arrivals, starting=self._starting, unpreconditioned=int(unpreconditioned),
            **self._limits,
        )  # fmt: skip
        self._unpreconditioned = unpreconditioned

    def __getitem__(self, name):
        return self._vectors[name]

    def alias(self, name, other):
        self._vectors[name] = self._vectors[other]
        self._pack()

    def start(self, starting):
        self._starting[...] = cupy.asarray(starting.astype(float))
        self._sum(ScalarStep.START, ("r", "r"))
        self.record_error(half=False)
        self._send()

    def dot(self, step, *pairs):
        if step == ScalarStep.CG_RHO and self._unpreconditioned:
            return  # r* z is norm(r)^2: the step that found it has set rho already
        self._sum(step, *pairs)

    def _sum(self, step, *pairs):
        if self.inner is not None:
            self._sum_by_inner(step, pairs)
            return
        kernel = self._program.dot_one if len(pairs) == 1 else self._program.dot_two
        vectors = [self[name] for pair in pairs for name in pair]
        self.launch(kernel, np.int32(step), *vectors)

    def _sum_by_inner(self, step, pairs):
        """The same with the user's inner product."""
        sums = cupy.zeros((self.columns, LARGEST_SUMS), self._scalars.dtype)
        for i, (u, v) in enumerate(pairs):
            for c in range(self.columns):
                sums[c, i] = self.inner(self[u][:, c], self[v][:, c])
        launch_blocks(self._program.take_sums, 1, (self.struct, np.int32(step), sums), block=THREADS)

    def update(self, update):
        names, pairs, step = UPDATES[update]
        vectors = [self[name] for name in names]
        kernel = getattr(self._program, update.value)
        if step is None:
            self.launch(kernel, *vectors)
            return
        self.launch(kernel, np.int32(self.inner is None), *vectors)
        if self.inner is not None:
            self._sum_by_inner(step, pairs)

    def multiply(self, product, source, target, step=None, *pairs):
        if step is not None and product.own and self.columns == 1 and self.inner is None:
            product.into_with_sums(self, source, target, np.int32(step), pairs)
            return
        product.into(self, source, target)
        if step is not None:
            self.dot(step, *pairs)

    def precondition(self, preconditioning, source, target):
        if not preconditioning.is_identity:
            preconditioning.into(self, source, target)

    def statuses(self):
        """The present statuses, on the host."""
        return self._report[len(ReportHead) :][: self.columns].get()  # stall: for users' inner products

    def records_errors(self):
        return self._x_true is not None

    def record_error(self, half, name="x"):
        if self._x_true is None:
            return
        if self.inner is not None:
            self._record_error_by_inner(half, name)
            return
        phat = self["phat"] if half else 0
        self.launch(self._program.measure_error, self[name], phat, self._x_true)

    def _record_error_by_inner(self, half, name):
        """The same with the user's inner product."""
        if not self._report[ReportHead.UNMEASURED].get():  # stall: for users' inner products
            return
        error = self[name] - self._x_true
        if half:
            error += self._scalars[ScalarSlot.ALPHA].astype(error.dtype) * self["phat"]
        self._vectors["error"] = error
        self._sum_by_inner(ScalarStep.ERROR, (("error", "error"),))

    def launch(self, kernel, *arguments):
        """Launch a kernel over the entries of vectors."""
        launch_blocks(kernel, self.blocks, (self.struct, *arguments), block=THREADS)

    def launch_rows(self, kernel, most, *arguments):
        """Launch a kernel over the rows of a matrix on at most `most` blocks."""
        blocks = min(most, max(1, -(-self._limits["rows"] // THREADS)))
        launch_blocks(kernel, blocks, (self.struct, *arguments), block=THREADS)

    def batch(self, iterate, capturable, cycle=0, most=None):
        """Enqueue a few iterations, at most `most`, and their report; returns how many.

        They are a CUDA graph where all kernels are our own, and where as many may be made as a graph has: a
        divisor of `cycle`, so that batches end where cycles do.
        """
        if not capturable or self.columns > 1:
            iterate()
            self._send()
            return 1
        done = 0 if self._batch else self._measure(iterate, cycle, most)
        if most is None or self._batch <= most - done:
            self._launch_graph(iterate)
            return done + self._batch
        if not done:
            with self._lease:
                iterate()
        self._send()
        return 1

    def _measure(self, iterate, cycle, most):
        """Make the first iteration, which compiles kernels and allocates memory.

        The number of kernels that it launches decides how many iterations a batch has.
        """
        with self._lease:
            launches = launches_of(iterate)
        self._batch = iterations_of_batch(self["x"].size, launches, cycle, most is not None)
        return 1

    def _launch_graph(self, iterate):
        """Enqueue a batch by its graph, which is captured at first.

        Work space belongs to the current stream. The private stream uses it between two events of the current
        one, so that it can be given back to the current one in the end.
        """
        with self._lease, self._stream as stream:
            if self._graph is None:
                self._graph = stream.captured(iterate, self._batch)
        with self._stream as stream:
            self._graph.launch(stream.stream)
            self._send()

    def close(self):
        """Give work space back, after the last batch."""
        self._lease.release()

    def _send(self):
        """Enqueue an asynchronous copy of the report to the host."""
        host, self._turn = self._hosts[self._turn], 1 - self._turn
        self._report.get(out=host, blocking=False)
        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        self._pending.append((event, host))

    def poll(self, wait):
        """The report of the batch before the last enqueued one, or None; the last one's report if `wait`."""
        if not self._pending or (len(self._pending) < 2 and not wait):
            return None
        while True:
            event, host = self._pending.pop(0)
            if not (wait and self._pending):
                break
        event.synchronize()  # stall: two batches are in flight, so the device stays busy meanwhile
        return self._read(host.copy())

    def _read(self, report):
        """The parts of a report; the layout is described by `ReportHead`."""
        columns, capacity, head = self.columns, self._capacity, len(ReportHead)
        statuses, iterations = report[head:][:columns], report[head + columns :][:columns].astype(np.int64)
        rest = report[head + 2 * columns :]
        count = int(report[ReportHead.RECORDS])
        slots = np.arange(self._seen, count) % capacity
        self._seen = count
        steps, seconds = rest[:capacity][slots], rest[capacity:][:capacity][slots]
        norms, errors = rest[2 * capacity :][: 2 * capacity * columns].reshape(2, capacity, columns)[:, slots]
        return Report(statuses, iterations, steps, seconds, norms, None if self._x_true is None else errors)


def iterations_of_batch(entries, launches, cycle=0, is_paused=False):
    """The iterations of a batch, for vectors with `entries` entries and iterations with `launches` launches.

    A divisor of `cycle` where there is one.
    """
    if launches > LIGHT_LAUNCHES:
        return 1
    batch = next((batch for most, batch in BATCHES if entries <= most), LEAST_BATCH)
    batch = min(batch, PAUSED_BATCH) if is_paused else batch
    while cycle and cycle % batch:
        batch -= 1
    return batch


class _Stream:
    """A stream for graphs (the null stream cannot be captured), ordered after and before the current one."""

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
        """The graph of several iterations."""
        with capturing:
            self.stream.begin_capture()
            try:
                for _ in range(times):
                    iterate()
            finally:
                graph = self.stream.end_capture()
        return graph
