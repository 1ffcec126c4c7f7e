"""Tridiagonal solves on the GPU, compared with copies of the same bytes and with cuSPARSE."""

from __future__ import annotations

from functools import partial

import cupy
from cupy.cuda.device import get_cusparse_handle
from cupy_backends.cuda.libs import cusparse

from benchmarks.measures import memory, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.backends.cuda.runtime import launches
from linforest_precond.backends.cuda.tridiagonal import tiles
from linforest_precond.graph.forest import pipeline
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.study import timing

DTYPES = ("float64", "float32")
COPY = "a copy of as many bytes"
# The largest accepted backward error, in units of machine epsilon.
LARGEST_ERROR = 1000
# The first letters of cuSPARSE's functions.
CUSPARSE_LETTERS = {"float32": "s", "float64": "d"}


def measurements(plan):
    """(title, function that yields rows) of all solves."""
    for dtype in DTYPES:
        yield f"solves along ANISO2's paths, {dtype}", partial(forest_rows, plan, dtype)
        yield f"solves of one path, {dtype}", partial(path_rows, plan, dtype)
        yield f"solves with pivoting, {dtype}", partial(pivoted_rows, plan, dtype)
        yield f"solves of 2 x 2 blocks, {dtype}", partial(block_rows, plan, dtype)


def forest_rows(plan, dtype):
    title, A = cases.aniso2(plan, dtype=dtype, device="cuda")
    _, bands = pipeline.tridiagonal_bands(A)
    solve = Solve(f"{title} along its paths", bands, plan)
    yield from solve.beside_copies(targets.FOREST_SOLVE)
    yield solve.beside_one_column()
    yield solve.beside_cusparse(pivoting=False)


def path_rows(plan, dtype):
    solve = Solve(*cases.one_path(plan.aniso**2, dtype, cupy), plan)
    yield from solve.beside_copies(targets.PATH_SOLVE)
    yield solve.beside_cusparse(pivoting=False)


def pivoted_rows(plan, dtype):
    solve = Solve(*cases.needs_pivoting(plan.aniso**2, dtype, cupy), plan)
    if not solve.solver.pivoted:
        raise RuntimeError("random bands were solved without pivoting")
    yield solve.row("solve with pivoting, counted at 5N words", solve.copies(solve.held_bytes))
    yield solve.beside_cusparse(pivoting=True)


def block_rows(plan, dtype):
    title, A = cases.aniso2(plan, dtype=dtype, device="cuda")
    _, bands = pipeline.block_tridiagonal_bands(A, block_size=2)
    solve = Solve(f"{title} in 2 x 2 blocks", bands, plan)
    yield from solve.beside_copies(targets.BLOCK_SOLVE)


class Solve:
    """A factored system and the milliseconds of its solves, calls queued.

    The right-hand side is copied before each solve, outside the time: cuSPARSE overwrites it, and with the
    same copy before our solves both start with the same caches.
    """

    def __init__(self, case, bands, plan):
        self.case, self.bands, self.plan = case, bands, plan
        self.solver = solver_of(bands)
        self.dtype = bands.diagonal.dtype
        self.block = self.solver.block_size
        self.b = cupy.asarray(cases.right_sides(self.solver.n, 1, self.dtype))
        self.x = cupy.empty_like(self.b)
        self.samples = self.samples_of(lambda: self.solver.solve_into(self.b, self.x))
        self.note = f"backward error {self.checked_error(self.x):.1e}"

    def samples_of(self, call, place=None):
        place = cupy.empty_like(self.b) if place is None else place
        reset = partial(cupy.copyto, place, self.b)
        return timing.device_samples(call, self.plan.short_repeats, queued=True, before=reset)

    def row(self, name, peer_samples, peer=COPY, note="", **goals):
        return Row(
            "solves",
            name,
            self.case,
            self.samples,
            str(self.dtype),
            peer=peer,
            peer_samples=peer_samples,
            judged="speedup",
            note=", ".join(filter(None, (self.note, note))),
            **goals,
        )

    def beside_copies(self, goals):
        """Beside a copy of the system's words, and beside a copy of the words that the kernels move."""
        if self.solver.pivoted:
            raise RuntimeError(f"{self.case}: solved with pivoting; this row is for solves without")
        held, moved = self.held_bytes, self.moved_bytes()
        counted = f"solve, counted at {3 * self.block + 2}N words"
        yield self.row(counted, self.copies(held), note=f"{held / 1e6:.1f} MB", **goals)
        yield self.row("solve, at the bytes it moves", self.copies(moved), note=f"{moved / 1e6:.1f} MB")

    @property
    def held_bytes(self):
        return memory.held_words(self.solver.n // self.block, self.block) * self.dtype.itemsize

    def moved_bytes(self):
        with launches.recording() as log:
            self.solver.solve_into(self.b, self.x)
        passes = 1 + sum(name == "reduce" for name, *_ in log)
        tile = tiles.threads(self.dtype, self.block) * tiles.rows_of_thread(self.dtype, self.block)[0]
        halo = tiles.halo(self.dtype, self.block) if passes == 1 else 0
        rows = self.solver.n // self.block
        moved = memory.moved_words(rows, self.block, self.solver.symmetric, tile, halo, passes)
        return moved * self.dtype.itemsize

    def copies(self, size):
        """Milliseconds of a copy that reads and writes `size` bytes in total."""
        speeds = timing.copy_bandwidths(self.plan.copied_bytes, self.plan.short_repeats)
        return [size / (speed * 1e6) for speed in speeds]

    def beside_cusparse(self, pivoting):
        peer, x = Gtsv2(self.bands, pivoting), cupy.empty_like(self.b)
        peer_samples = self.samples_of(lambda: peer.solve_in_place(x), place=x)
        note = f"{peer.name}'s {self.error(x):.1e}"
        goals = targets.BESIDE_CUSPARSE[pivoting]
        return self.row(f"solve beside {peer.name}", peer_samples, peer.name, note=note, **goals)

    def beside_one_column(self):
        b = cupy.asarray(cases.right_sides(self.solver.n, cases.COLUMNS, self.dtype))
        x = cupy.empty_like(b)
        samples = self.samples_of(lambda: self.solver.solve_into(b, x))
        self.checked_error(x[:, -1:], b[:, -1:])
        return Row(
            "columns",
            f"{cases.COLUMNS} right-hand sides, side by side in memory",
            self.case,
            samples,
            str(self.dtype),
            peer="one right-hand side",
            peer_samples=self.samples,
            **targets.MANY_COLUMNS,
        )

    def checked_error(self, x, b=None):
        error, bound = self.error(x, b), LARGEST_ERROR * float(cupy.finfo(self.dtype).eps)
        if not error <= bound:
            raise RuntimeError(f"{self.case}: backward error {error:.1e}, at most {bound:.1e} was expected")
        return error

    def error(self, x, b=None):
        return cases.backward_error(self.bands, self.b if b is None else b, x, cupy)


class Gtsv2:
    """cuSPARSE's gtsv2 on the given bands, with or without pivoting; every solve factors again."""

    def __init__(self, bands, pivoting):
        self.name = "cuSPARSE gtsv2" + ("" if pivoting else "_nopivot")
        self._bands = bands.lower, bands.diagonal, bands.upper
        self._rows = bands.diagonal.size
        function = CUSPARSE_LETTERS[str(bands.diagonal.dtype)] + self.name.removeprefix("cuSPARSE ")
        self._solve = getattr(cusparse, function)
        buffer_size = getattr(cusparse, f"{function}_bufferSizeExt")
        any_vector = bands.diagonal
        self._buffer = cupy.empty(buffer_size(*self._arguments(any_vector)), "uint8")

    def solve_in_place(self, x):
        """Overwrite the right-hand side with the solution."""
        self._solve(*self._arguments(x), self._buffer.data.ptr)

    def _arguments(self, x):
        addresses = (array.data.ptr for array in (*self._bands, x))
        return get_cusparse_handle(), self._rows, 1, *addresses, self._rows
