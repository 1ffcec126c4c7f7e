"""Rows of sparse approximate inverses on growing patterns; see the module of the CPU backend."""

import itertools
from typing import NamedTuple

import numpy as np

from ..runtime import INDICES, Program, Struct, cupy, launch, resident_blocks
from ..runtime.grid_sums import add_up

# Columns with a gradient at most, as on the CPU.
CAPACITY = 512
# Entries of the rows of a pattern whose columns need not be searched again, at most.
LISTED = 1536
# Products of a round: the square of STEP of row_systems.cuh.
PRODUCTS = 25
# Bytes of a PatternRow of row_systems.cuh.
PATTERN_ROW = 16
# Lanes per row, for the given mean number of entries at most; else a warp.
TEAMS, WARP = {8: 12, 16: 24}, 32
# Threads of a block, of which the ones are taken that fill the device best, and the shared memory of a block.
BLOCKS, SHARED_MEMORY = (128, 96, 64, 32), 48 * 1024
# From MANY_ROWS rows on, the sizes of the systems are estimated from a sample of about SAMPLE rows.
MANY_ROWS, SAMPLE = 2**16, 2048

FUNCTIONAL = Struct("Functional", "approximate_inverse/row_systems.cuh")
ARRAYS = (
    "rows", "gradient", "factor", "right", "solution", "start_values", "inverse", "table", "columns",
    "slot_places", "pattern", "lists", "bytes",
)  # fmt: skip
SIZES = Struct("Sizes", "approximate_inverse/row_systems.cuh")
ROWS = Struct("Rows", "approximate_inverse/row_systems.cu")
# Counts of `Report` of row_systems.cu.
REPORTED, ABANDONED, USED = slice(2), slice(2, 3), slice(3, 7)
REPORT = 7
PROGRAM = Program(
    "approximate_inverse/row_systems",
    VALUE=(np.float64, np.complex128),
    INDEX=INDICES,
    TEAM=(*TEAMS, WARP),
    BLOCK=1,
)


def grow(matrix, start, diagonal, triangular, entries, tolerance):
    n, index, value = diagonal.size, matrix[1].dtype, matrix[2].dtype
    counts, report = cupy.zeros(n + 1, index), cupy.zeros(REPORT, np.uint64)
    columns, values = cupy.empty(n * entries, index), cupy.empty(n * entries, value)
    results = columns, values, counts, cupy.empty(n, index)
    functional = matrix, start, diagonal, triangular

    def launch_rows(size, is_final, report, **rows):
        systems = _Systems(*functional, entries, size, is_final)
        systems.launch("grow_rows", ROWS(**rows), float(tolerance), *results, report)

    _grow_in_fitting_systems(launch_rows, n, _largest_size(*functional, entries), results[-1], report)
    indptr = add_up(counts)
    nnz = int(indptr[-1])  # stall: the size of the result
    indices, data = cupy.empty(nnz, index), cupy.empty(nnz, value)
    pack_rows = PROGRAM(VALUE=value, INDEX=index, TEAM=WARP).pack_rows
    launch(pack_rows, (n, entries, columns, values, indptr, indices, data), items=n * entries)
    return (indptr, indices, data), report[REPORTED]


def _grow_in_fitting_systems(launch_rows, n, largest, abandoned, report):
    """Grow many rows in systems as large as a sample needs, and the others of them in the largest ones."""
    size, every = largest, {"list": None, "length": None, "stride": 1}
    if n >= MANY_ROWS:
        sample = cupy.zeros(REPORT, np.uint64)
        launch_rows(largest, True, sample, **{**every, "stride": n // SAMPLE})
        size = largest.reduced_to(*sample[USED].tolist())  # stall: the size of most systems
    launch_rows(size, size == largest, report, **every)
    if size != largest:
        launch_rows(largest, True, report, list=abandoned, length=report[ABANDONED], stride=1)


def refill(matrix, start, diagonal, triangular, indptr, indices):
    data, report = cupy.zeros(indices.size, matrix[2].dtype), cupy.zeros(REPORT, np.uint64)
    entries = int(cupy.diff(indptr).max()) if indices.size else 1  # stall: the size of systems
    size = _Size(entries, entries, entries, 0)
    systems = _Systems(matrix, start, diagonal, triangular, entries, size, True)
    systems.launch("refill_rows", indptr, indices, data, report)
    return data, report[REPORTED]


def row_squares(indptr, data):
    n = indptr.size - 1
    squares = cupy.zeros(n)
    launch(PROGRAM(VALUE=data, INDEX=indptr, TEAM=WARP).row_squares, (n, indptr, data, squares), items=n)
    return squares


class _Size(NamedTuple):
    """The most places of a pattern, columns with gradients, those in a row of S, and slots in lists."""

    places: int
    columns: int
    starts: int
    listed: int

    def reduced_to(self, places, columns, starts, listed):
        """One for rows that use these numbers of places and starts, and a few more columns."""
        columns, starts = (most + most // 16 + 2 for most in (columns, starts))
        return _Size(*map(min, self, (max(1, places), columns, starts, listed)))


def _largest_size(matrix, start, diagonal, triangular, entries):
    """Bounds that no row exceeds, or the limits of columns."""
    places = max(1, entries - bool(triangular))
    longest = [cupy.diff(indptr).max() for indptr, _, _ in (start, matrix) if indptr.size > 1]
    first, others = cupy.stack(longest).tolist() if longest else (1, 1)  # stall: the size of systems
    columns, starts = (max(1, min(CAPACITY, most)) for most in (first + places * others, first))
    return _Size(places, columns, starts, min(LISTED, places * others))


class _Systems:
    """Launches of kernels that take a team for each row, with its system in shared memory."""

    def __init__(self, matrix, start, diagonal, triangular, entries, size, is_final):
        index, value, n = matrix[1].dtype, matrix[2].dtype, diagonal.size
        fields = dict(zip(FUNCTIONAL.fields, (*matrix, *start, diagonal)))
        self._held = (*matrix, *start, diagonal)
        self._functional = FUNCTIONAL(**fields, n=n, triangular=int(triangular))
        bits = max(2, (3 * size.columns // 2).bit_length())
        arrays = _arrays_of_system(size, bits, value.itemsize, index.itemsize)
        self._sizes = SIZES(
            entries=entries, places=size.places, capacity=size.columns, starts=size.starts,
            listed=size.listed, bits=bits, is_final=int(is_final), **arrays,
        )  # fmt: skip
        self._room = arrays["bytes"]
        self._team = _team(matrix[1].size / max(n, 1), self._room)
        self._items = n * self._team
        self._program = PROGRAM(VALUE=value, INDEX=index, TEAM=self._team)

    def launch(self, name, *arguments):
        kernel = getattr(self._program, name)
        block = self._block(kernel)
        launch(
            kernel, (self._functional, self._sizes, *arguments),
            shared_memory=self._shared_memory(block), block=block, items=self._items,
        )  # fmt: skip

    def _shared_memory(self, block):
        return block // self._team * self._room

    def _block(self, kernel):
        """The threads of a block with which most are resident at once."""
        fitting = [block for block in BLOCKS if self._shared_memory(block) <= SHARED_MEMORY]
        return max(
            fitting, default=WARP,
            key=lambda block: block * resident_blocks(kernel, self._shared_memory(block), block),
        )  # fmt: skip


def _arrays_of_system(size, bits, value, index):
    """Where the arrays of a `RowSystem` of row_systems.cuh begin, and its bytes: a multiple of 16."""
    places, columns, starts, listed = size
    lengths = (
        PATTERN_ROW * places, value * max(columns, PRODUCTS), value * (places * (places - 1) // 2),
        value * places, value * places, value * starts, 8 * places, 2 * 2**bits,
        index * columns, 2 * columns, 2 * places, 2 * listed,
    )  # fmt: skip
    ends = dict(zip(ARRAYS, itertools.accumulate(lengths, initial=0)))
    return {**ends, "bytes": -(-ends["bytes"] // 16) * 16}


def _team(mean, size):
    """The lanes of a row: fewer than a warp where rows are short and the systems of a warp fit."""
    fitting = (
        lanes for lanes, most in TEAMS.items() if mean <= most and WARP // lanes * size <= SHARED_MEMORY
    )
    return next(fitting, WARP)
