"""The vectors, scalars and products of Krylov solvers, on the device until the end."""

from typing import Any, NamedTuple

import numpy as np

from .launch import Struct, launch_blocks
from .lazy import cupy
from .loader import kernels
from .tiles import wide_type

# The constants of krylov.cu.
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
# Rows up to this length are multiplied by our own kernel, one thread a row.
LONGEST_ROW = 256
# Iterations of a batch, by the most entries of a vector; a report holds those of four batches.
BATCHES = ((2 * 10**5, 16), (2 * 10**6, 4))
LEAST_BATCH = 2
RECORDS_OF_BATCH = 2 * 16

# cuSPARSE's algorithm of that name, which gives the same bits every time.
CSR_ALG2 = 3

SPACE = Struct(
    scalars="P", numbers="P", report="P", partials="P", arrivals="P", fresh="P",
    rows="q", columns="q", capacity="q", most_iterations="q", epsilon="d", largest_growth="d", plain="q",
)  # fmt: skip


class Report(NamedTuple):
    """What was found out since the last report; records of iterations are new ones."""

    statuses: np.ndarray
    iterations: np.ndarray
    steps: np.ndarray
    seconds: np.ndarray
    norms: np.ndarray
    errors: Any


class Product:
    """How A is multiplied: by our own kernel, by cuSPARSE, or by its own operator."""

    def __init__(self, A, dtype):
        self.A, self.csr = A, None
        if not hasattr(A, "indptr"):
            return
        data = A.data.astype(dtype, copy=False)
        self.csr = A.indptr, A.indices, data
        n = A.indptr.size - 1
        self.own = A.longest_row <= LONGEST_ROW
        self.A = None if self.own else _CuSparse(*self.csr, n)

    @property
    def capturable(self):
        """CuPy refuses to capture cuSPARSE's calls."""
        return self.csr is not None and self.own

    def into(self, source, target):
        """target = A source, for arrays of one or several columns."""
        if self.csr is not None:
            self.A.multiply(source, target)
        else:
            _apply_into("A", self.A, source, target)


class Preconditioning:
    """How M is applied: in place where it is one of our own, by its own operator otherwise."""

    def __init__(self, M, dtype):
        from linforest_precond.precond.operators import Preconditioner

        self.M, self.is_identity = M, M is None
        self._own = (
            isinstance(M, Preconditioner)
            and np.promote_types(dtype, M.dtype) == dtype
            and dtype.itemsize >= M.stored_dtype.itemsize
        )
        self.capturable = self.is_identity or self._own

    def into(self, source, target):
        if self._own:
            self.M._solve(source, target, False)
        else:
            _apply_into("M", self.M, source, target)


def _apply_into(name, operator, source, target):
    """The product of an operator that is not ours, which is checked."""
    one = source.shape[1] == 1
    product = operator @ (source[:, 0] if one else source)
    if not isinstance(product, cupy.ndarray):
        raise TypeError(f"{name} must give arrays of CuPy, got a {type(product).__name__}")
    if product.shape != target.shape and not (one and product.shape == target.shape[:1]):
        raise ValueError(
            f"{name} @ vector must have the shape {(target.shape[0],) if one else target.shape}, "
            f"got {product.shape}"
        )
    if product.dtype.kind == "c" and target.dtype.kind != "c":
        raise TypeError(f"{name} must give real vectors for a real system, got {product.dtype}")
    target[...] = product.reshape(target.shape)


class _CuSparse:
    """A matrix with long rows, multiplied by cuSPARSE in a fixed order; its buffers are kept."""

    def __init__(self, indptr, indices, data, n):
        import cupyx.scipy.sparse as sparse
        from cupyx import cusparse

        self._matrix = sparse.csr_matrix((data, indices, indptr), shape=(n, n))
        self._matrix.indices, self._matrix.indptr = indices, indptr
        self._descriptor = cusparse.SpMatDescriptor.create(self._matrix)
        self._scalars = [np.array(value, data.dtype) for value in (1, 0)]
        self._kept: dict[tuple[int, int], Any] = {}

    def multiply(self, source, target):
        if source.shape[1] > 1:
            target[...] = self._matrix @ source
            return
        from cupy_backends.cuda.libs import cusparse as library
        from cupyx import cusparse

        key = source.data.ptr, target.data.ptr
        alpha, beta = (scalar.ctypes.data for scalar in self._scalars)
        handle = cupy.cuda.device.get_cusparse_handle()
        if key not in self._kept:
            vectors = [cusparse.DnVecDescriptor.create(array.reshape(-1)) for array in (source, target)]
            kind = cusparse._dtype.to_cuda_dtype(source.dtype)
            shared = (
                handle, library.CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, self._descriptor.desc,
                vectors[0].desc, beta, vectors[1].desc, kind, CSR_ALG2,
            )  # fmt: skip
            buffer = cupy.empty(library.spMV_bufferSize(*shared), np.int8)
            self._kept[key] = vectors, buffer, shared
        _, buffer, shared = self._kept[key]
        library.spMV(*shared, buffer.data.ptr)


class Space:
    """The vectors of k systems of n rows that are iterated together, and their scalars."""

    def __init__(
        self, n, columns, dtype, names, *, targets, largest_growth, most_iterations, inner=None, x_true=None
    ):
        if columns > THREADS:
            raise ValueError(f"b must have at most {THREADS} columns on cuda, got {columns}")
        self._vectors = {name: cupy.zeros((n, columns), dtype) for name in ("x", "r", *names)}
        self._columns, self._inner, self._x_true = columns, inner, x_true
        self._dtype, wide = dtype, np.dtype(wide_type(dtype))
        self._batch = next((batch for most, batch in BATCHES if n * columns <= most), LEAST_BATCH)
        self._capacity = 4 * RECORDS_OF_BATCH
        width = max(columns, 1)
        self._blocks = min(LARGEST_GRID, max(1, -(-n * columns // (THREADS * ENTRIES_OF_THREAD))))
        self._row_blocks = min(LARGEST_GRID, max(1, -(-n // THREADS)))
        self._scalars = cupy.zeros((SCALARS, width), wide)
        numbers = np.zeros((NUMBERS, width))
        numbers[TARGET, :columns] = targets
        self._numbers = cupy.asarray(numbers)
        self._report = cupy.zeros(HEAD + 2 * width + 2 * self._capacity * (1 + width))
        self._partials = cupy.empty(LARGEST_GRID * SUMS * width, wide)
        self._arrivals, self._fresh = cupy.zeros(1, np.uint32), cupy.zeros(width)
        self._limits = {
            "rows": n, "columns": columns, "capacity": self._capacity, "most_iterations": most_iterations,
            "epsilon": float(np.finfo(dtype).eps), "largest_growth": largest_growth,
        }  # fmt: skip
        self._stream, self._graph, self._entered = _Stream(), None, False
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

    def _program(self, index=np.int32):
        return kernels(
            "krylov", VALUE=self._dtype.type, WIDE=wide_type(self._dtype), BLOCK=1, INDEX=np.dtype(index).type
        )

    def __getitem__(self, name):
        return self._vectors[name]

    def alias(self, name, other):
        """Let both names mean one vector."""
        self._vectors[name] = self._vectors[other]
        self._pack()

    def start(self, fresh):
        """Let the fresh columns begin from r as it is."""
        self._fresh[: self._columns] = cupy.asarray(fresh.astype(float))
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
        kernel = self._program().dot_one if len(pairs) == 1 else self._program().dot_two
        vectors = [self[name] for pair in pairs for name in pair]
        self._launch(kernel, LOGIC[logic], *vectors)

    def _sum_by_inner(self, logic, pairs):
        sums = cupy.zeros((max(self._columns, 1), SUMS), self._scalars.dtype)
        for i, (u, v) in enumerate(pairs):
            for c in range(self._columns):
                sums[c, i] = self._inner(self[u][:, c], self[v][:, c])
        arguments = self._space, LOGIC[logic], sums
        launch_blocks(self._program().take_sums, 1, arguments, block=THREADS)

    def update(self, name):
        """Make the update of that name, and do what follows from its sums."""
        pairs, names = UPDATES[name]
        vectors = [self[each] for each in names]
        kernel = getattr(self._program(), name)
        if not pairs:
            self._launch(kernel, *vectors)
            return
        self._launch(kernel, np.int32(self._inner is None), *vectors)
        if self._inner is not None:
            self._sum_by_inner(name, pairs)

    def multiply(self, product, source, target, logic=None, *pairs):
        """target = A source, and what follows from the inner products of pairs."""
        x, y = self[source], self[target]
        if product.csr is None or not product.own:
            product.into(x, y)
        elif self._columns > 1:
            self._launch(self._program(product.csr[1].dtype).multiply_columns, *product.csr, x, y)
        else:
            self._multiply_one(product.csr, x, y, target, logic, pairs)
            if self._inner is None:
                return
        if logic is not None:
            self.dot(logic, *pairs)

    def _multiply_one(self, csr, x, y, target, logic, pairs):
        """One column, with the inner products in the same kernel."""
        program = self._program(csr[1].dtype)
        kernel, arguments = program.multiply_plain, ()
        if logic is not None and self._inner is None:
            kernel = program.multiply_one if len(pairs) == 1 else program.multiply_two
            (other,) = {name for name in pairs[0] if name != target}
            arguments = self[other], LOGIC[logic]
        launch_blocks(kernel, self._row_blocks, (self._space, *csr, x, y, *arguments), block=THREADS)

    def precondition(self, M, source, target):
        if not M.is_identity:
            M.into(self[source], self[target])

    def record_error(self, half):
        """Measure how far x is from the solution, for the last record."""
        if self._x_true is None:
            return
        extra = self["phat"] if half else None
        self._launch(self._program().measure_error, self["x"], 0 if extra is None else extra, self._x_true)

    def _launch(self, kernel, *arguments):
        launch_blocks(kernel, self._blocks, (self._space, *arguments), block=THREADS)

    def batch(self, iterate, capturable):
        """Iterate a few times; as a graph where nothing is called that is not ours."""
        if not capturable or self._columns > 1:
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
        columns, capacity = self._columns, self._capacity
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
