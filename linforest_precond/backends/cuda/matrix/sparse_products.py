"""Products of two sparse matrices by rows with hash tables; see kernels/matrix/sparse_products.cu."""

import math

import numpy as np

from ..runtime import BLOCK, INDICES, VALUES, Program, Struct, cupy, launch, launch_blocks, resident_blocks
from ..runtime.grid_sums import add_up
from .entries import lanes_for

# As in product_rows.cuh: the classes of rows, the first of which are short ones in either phase.
CLASSES, COUNTED_SHORT, ADDED_SHORT = 6, 3, 4
# The rows of a class are computed with those of the next class, if they are at most this multiple of them.
COUNTING_JOINS, ADDING_JOINS = (1, 1, 0, 0, 0, 0), (8, 1, 1, 0, 0, 0)
# The slots of a row's hash table in the symbolic phase by class; the last class has bitmaps.
SLOTS = 32, 128, 512, 4096, 8192
# The lanes per short row in the symbolic phase, by class.
COUNTING_LANES = 4, 8, 16
# A thread lists the columns of a row, if left rows have at most LISTED_LEFT entries on average, and rows of
# the product LISTED_TERMS terms; fewer below FEW_ROWS rows, which do not fill the device with a thread each.
LISTED_LEFT, LISTED_TERMS = 28, 160
FEW_ROWS, LISTED_TERMS_OF_FEW = 20_000, 64
# The entries that a thread lists, by class.
LISTED_ENTRIES = 16, 24
# As in long_products.cuh: there is no owner.
NO_OWNER = 2**32 - 1
# The most shared memory of a block of short rows, in bytes: more would need an opt-in.
GROUPS_MEMORY = 47 * 1024
# A limit on the dense work space of the longest rows, in bytes.
MOST_WORK_SPACE = 2**29

FACTORS = Struct("Factors", "matrix/product_rows.cuh")
ROW_LIST = Struct("RowList", "matrix/product_rows.cuh")
PRODUCT = Struct("Product", "matrix/product_rows.cuh")
TALLY = Struct("Tally", "matrix/product_rows.cuh", rows="Q" * CLASSES, listed="Q" * CLASSES)
DENSE_ROWS = Struct("DenseRows", "matrix/sparse_products.cu")
PROGRAM = Program("matrix/sparse_products", VALUE=VALUES, INDEX=INDICES)


def multiply(left, right, width):
    """Rows of the second matrix have no duplicates."""
    return multiply_and_plan(left, right, width)[0]


def multiply_and_plan(left, right, width, most=math.inf):
    """The CSR arrays of a product, and what `multiply_again` needs for other values.

    That are its row pointers, the launches of the numeric phase, and its list of rows, if there is one. None
    where the product has more than `most` entries.
    """
    phases = _Phases(left, right, width)
    plan = _, entries, *_ = phases.plan()
    return None if entries > most else (phases.add(*plan), plan)


def multiply_again(plan, left, right, width):
    return _Phases(left, right, width).add(*plan)


class _Phases:
    """The phases of a product: rows are classed by their terms, their columns counted, their terms added."""

    def __init__(self, left, right, width):
        self.rows, self.width = left[0].size - 1, width
        self.index, self.dtype = left[1].dtype, left[2].dtype
        self.program = PROGRAM(VALUE=self.dtype, INDEX=self.index)
        self.factors = FACTORS(**dict(zip(FACTORS.fields, (*left, *right))))
        self.left_lanes = lanes_for(left[1].size, self.rows)
        self.right_lanes = lanes_for(right[1].size, right[0].size - 1)
        self.listed = has_listed_rows(left, right)
        self.block = 64 if self.dtype.itemsize > 8 else 128  # as LISTING_THREADS in listed_products.cuh

    def plan(self):
        """The symbolic phase: row pointers, launches and list of rows of the numeric phase."""
        tallies, counts = cupy.zeros((2, TALLY.size // 8), np.uint64), cupy.zeros(self.rows + 1, self.index)
        term_classes, classes = cupy.empty((2, self.rows), np.uint8)
        if self.listed:
            arguments = self.factors, self.rows, counts, term_classes, classes, tallies
            launch(self.program.count_listed_rows, arguments, block=self.block, items=self.rows)
        else:
            arguments = self.factors, self.rows, self.left_lanes, term_classes, tallies
            launch(self.program.measure_rows, arguments, items=self.rows * self.left_lanes)
        by_terms, by_entries = tallies.tolist()  # stall: which kernels to launch
        launches = launch_classes(by_terms[:CLASSES], COUNTING_JOINS)
        rows = self._list(term_classes, launches, tallies[0])
        for kind, first, count in launches:
            self._count_rows(kind, count, _listed(rows, first, count), (counts, classes, tallies[1]))
        indptr = add_up(counts)
        if launches:
            by_entries = tallies[1].tolist()  # stall: how many entries there are, and which kernels to launch
        self._check(by_entries[-1])
        launches = launch_classes(by_entries[:CLASSES], ADDING_JOINS)
        return indptr, by_entries[-1], tuple(launches), self._list(classes, launches, tallies[1])

    def add(self, indptr, entries, launches, rows):
        """The numeric phase: the CSR arrays of the product."""
        indices, data = cupy.empty(entries, self.index), cupy.empty(entries, self.dtype)
        product = PRODUCT(indptr=indptr, indices=indices, data=data)
        for kind, first, count in launches:
            self._add_rows(kind, count, _listed(rows, first, count), product)
        return indptr, indices, data

    def _check(self, entries):
        if entries > np.iinfo(self.index).max:
            raise OverflowError(
                f"the product has {entries} entries, too many for indices of type {self.index}"
            )

    def _list(self, classes, launches, tally):
        """The rows by class, for several launches, or one of some rows."""
        if not launches or launches[0][2] == self.rows:
            return None
        rows = cupy.empty(self.rows, self.index)
        launch(self.program.list_rows, (classes, self.rows, tally, rows), items=self.rows)
        return rows

    def _count_rows(self, kind, rows, listed, out):
        program = self.program
        if kind == len(SLOTS):
            return self._launch_dense(program.count_longest_rows, rows, listed, out, with_sums=False)
        slots = SLOTS[kind]
        if kind >= COUNTED_SHORT:
            arguments = self.factors, listed, slots, *out
            return _launch_per_row(program.count_long_rows, arguments, rows, 4 * slots)
        kernel = getattr(program, f"count_short_rows_{slots}")
        _launch_groups(kernel, (self.factors, listed, *out), rows, COUNTING_LANES[kind], 4 * slots)

    def _add_rows(self, kind, rows, listed, product):
        program, arguments = self.program, (self.factors, listed, product)
        if kind > ADDED_SHORT:
            return self._launch_dense(program.add_longest_rows, rows, listed, (product,), with_sums=True)
        if kind == ADDED_SHORT:
            memory = long_row_slots(self.dtype) * (self.dtype.itemsize + 8)
            return _launch_per_row(program.add_long_rows, arguments, rows, memory)
        if self.listed and kind < len(LISTED_ENTRIES):
            kernel = getattr(program, f"add_listed_rows_{LISTED_ENTRIES[kind]}")
            return launch(kernel, arguments, block=self.block, items=rows)
        lanes, entries = adding_team(kind, self.right_lanes)
        kernel = getattr(program, f"add_short_rows_{lanes}_{entries}")
        _launch_groups(kernel, arguments, rows, lanes, short_row_bytes(entries, self.dtype))

    def _launch_dense(self, kernel, rows, listed, out, with_sums):
        """Launch a kernel for the longest rows: each block has work space for all columns."""
        column_bytes = self.dtype.itemsize + 4 if with_sums else 1
        most_blocks = MOST_WORK_SPACE // (column_bytes * self.width)
        blocks = max(1, min(rows, resident_blocks(kernel), most_blocks))
        bitmaps, sums, owners = cupy.zeros((blocks, -(-self.width // 32)), np.uint32), None, None
        if with_sums:
            sums = cupy.empty((blocks, self.width), self.dtype)
            owners = cupy.full((blocks, self.width), NO_OWNER, np.uint32)
        dense = DENSE_ROWS(sums=sums, owners=owners, bitmaps=bitmaps, width=self.width)
        launch_blocks(kernel, blocks, (self.factors, listed, dense, *out))


def has_listed_rows(left, right):
    """Whether a thread per row is likely to list its columns."""
    rows, right_rows = max(left[0].size - 1, 1), max(right[0].size - 1, 1)
    length = left[1].size / rows
    most_terms = LISTED_TERMS_OF_FEW if rows < FEW_ROWS else LISTED_TERMS
    return length <= LISTED_LEFT and length * right[1].size <= most_terms * right_rows


def launch_classes(histogram, joins):
    """(class, first row of the list, number of rows) of each launch.

    To save launches, short rows of a class that has few are computed with the next one; see the `joins`.
    """
    launches, first, count = [], 0, 0
    for kind, rows in enumerate(histogram):
        count += rows
        joins_next = joins[kind] and 0 < count <= joins[kind] * histogram[kind + 1]
        if count == 0 or joins_next:
            continue
        launches.append((kind, first, count))
        first, count = first + count, 0
    return launches


def adding_team(kind, right_lanes):
    """Lanes per short row, and entries of its table, in the numeric phase."""
    if kind < 2:
        return 8, 32
    if kind == 2:
        return min(max(right_lanes, 8), 16), 64
    return 32, 256


def _listed(rows, first, count):
    return ROW_LIST(rows=None if rows is None else rows[first:], count=count)


def short_row_bytes(entries, dtype):
    """The size of a short row's tables; as ShortRow::bytes in short_products.cuh."""
    return 2 * entries * (dtype.itemsize + 4)


def long_row_slots(dtype):
    """Twice MOST_ENTRIES in product_rows.cuh."""
    return 1024 if dtype.itemsize > 8 else 2048


def _launch_groups(kernel, arguments, rows, lanes, row_bytes):
    """Launch a kernel with a group of `lanes` threads and some shared memory per row."""
    block = BLOCK
    while block // lanes * row_bytes > GROUPS_MEMORY:
        block //= 2
    memory = block // lanes * row_bytes
    launch(kernel, arguments, shared_memory=memory, block=block, items=rows * lanes)


def _launch_per_row(kernel, arguments, rows, memory):
    """Launch a kernel with a block per row."""
    blocks = min(rows, resident_blocks(kernel, memory))
    launch_blocks(kernel, blocks, arguments, shared_memory=memory)
