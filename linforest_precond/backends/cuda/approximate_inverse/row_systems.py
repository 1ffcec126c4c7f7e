"""Rows of sparse approximate inverses on growing patterns; see the module of the CPU backend."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.prefix_sum import add_up
from ..runtime.structs import Struct

# Columns with a gradient at most, as on the CPU.
CAPACITY = 512
# Lanes per row, for the given mean number of entries at most; else a warp.
TEAMS, WARP = {8: 12, 16: 24}, 32
# Threads of a block at most, and the shared memory that such a block may need.
BLOCK, SHARED_MEMORY = 128, 48 * 1024

FUNCTIONAL = Struct(
    "Functional", "approximate_inverse/row_systems.cuh",
    indptr="P", indices="P", data="P", start_indptr="P", start_indices="P", start_data="P",
    diagonal="P", n="q", triangular="q",
)  # fmt: skip
SIZES = Struct("Sizes", "approximate_inverse/row_systems.cuh", entries="q", capacity="q", bits="q", bytes="q")


def grow(matrix, start, diagonal, triangular, entries, tolerance):
    """The CSR arrays of the rows, on patterns that grow to at most so many entries.

    `matrix` and `start` are the CSR arrays of N and S in double precision. Columns are added while their gain
    is above `tolerance` times the functional. Triangular rows end with the diagonal of FSAI; other rows
    without entries are those of the identity.

    The second result counts rows that left out dependent columns, and rows without entries.
    """
    n, index, value = diagonal.size, matrix[1].dtype, matrix[2].dtype
    counts, report = cupy.zeros(n + 1, index), cupy.zeros(2, np.uint64)
    columns, values = cupy.empty(n * entries, index), cupy.empty(n * entries, value)
    rows = _Rows(matrix, start, diagonal, triangular, entries, _most_columns(matrix, start, entries))
    rows.launch("grow_rows", float(tolerance), columns, values, counts, report)
    indptr = add_up(counts)
    nnz = int(indptr[-1])  # stall: the size of the result
    indices, data = cupy.empty(nnz, index), cupy.empty(nnz, value)
    launch(rows.program.pack_rows, (n, entries, columns, values, indptr, indices, data), items=n * entries)
    return (indptr, indices, data), report


def refill(matrix, start, diagonal, triangular, indptr, indices):
    """The values of rows on given patterns, and the counts as above; dependent columns get 0."""
    data, report = cupy.zeros(indices.size, matrix[2].dtype), cupy.zeros(2, np.uint64)
    entries = int(cupy.diff(indptr).max()) if indices.size else 1  # stall: the size of systems
    rows = _Rows(matrix, start, diagonal, triangular, entries, entries)
    rows.launch("refill_rows", indptr, indices, data, report)
    return data, report


def row_squares(indptr, data):
    """The squared norm of each row."""
    n = indptr.size - 1
    squares = cupy.zeros(n)
    launch(_program(data.dtype, indptr.dtype, WARP).row_squares, (n, indptr, data, squares), items=n)
    return squares


def _most_columns(matrix, start, entries):
    """A bound of the columns of a row that have gradients."""
    longest = [cupy.diff(indptr).max() for indptr, _, _ in (start, matrix) if indptr.size > 1]
    if not longest:
        return 1
    first, others = cupy.stack(longest).tolist()  # stall: the size of systems
    return max(1, min(CAPACITY, first + entries * others))


class _Rows:
    """Launches of kernels that take a team for each row, with its system in shared memory."""

    def __init__(self, matrix, start, diagonal, triangular, entries, capacity):
        index, value, n = matrix[1].dtype, matrix[2].dtype, diagonal.size
        fields = dict(zip(FUNCTIONAL.fields, (*matrix, *start, diagonal)))
        self._held = (*matrix, *start, diagonal)
        self._functional = FUNCTIONAL(**fields, n=n, triangular=int(triangular))
        bits = max(2, (2 * capacity - 1).bit_length())
        size = _bytes_of_system(entries, capacity, bits, value.itemsize, index.itemsize)
        self._sizes = SIZES(entries=entries, capacity=capacity, bits=bits, bytes=size)
        team = _team(matrix[1].size / max(n, 1), size)
        self._block = max(WARP, min(BLOCK, SHARED_MEMORY // size * team // WARP * WARP))
        self._shared_memory = self._block // team * size
        self._items = n * team
        self.program = _program(value, index, team)

    def launch(self, name, *arguments):
        launch(
            getattr(self.program, name), (self._functional, self._sizes, *arguments),
            shared_memory=self._shared_memory, block=self._block, items=self._items,
        )  # fmt: skip


def _bytes_of_system(entries, capacity, bits, value, index):
    """As `RowSystem` of row_systems.cuh has them, a multiple of 16."""
    values = capacity + entries * (entries - 1) // 2 + 2 * entries
    size = value * values + 8 * entries + 2 * 2**bits + (index + 2) * capacity + 2 * entries
    return -(-size // 16) * 16


def _team(mean, size):
    """The lanes of a row: fewer than a warp where rows are short and the systems of a warp fit."""
    fitting = (
        lanes for lanes, most in TEAMS.items() if mean <= most and WARP // lanes * size <= SHARED_MEMORY
    )
    return next(fitting, WARP)


def _program(value, index, team):
    return kernels("approximate_inverse/row_systems", VALUE=value.type, INDEX=index.type, TEAM=team, BLOCK=1)
