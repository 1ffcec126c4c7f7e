"""Products of two sparse matrices by rows with hash tables; see kernels/matrix/sparse_products.cu."""

import numpy as np

from ..runtime.launch import BLOCK, launch, launch_blocks, resident_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.prefix_sum import add_up
from ..runtime.structs import Struct
from .entries import lanes_for

# As in product_rows.cuh: the classes of rows, the first of which are short ones.
CLASSES, SHORT_CLASSES = 6, 3
# The slots of a row's hash table in the symbolic phase by class; the last class has bitmaps.
SLOTS = 32, 128, 512, 4096, 8192
# The entries of short rows in the numeric phase by class; the class after them has hash tables, too.
ENTRIES = 16, 64, 256
# The fewest lanes per short row in either phase, by class: tables of a block must fit into shared memory.
COUNTING_LANES = 4, 8, 16
ADDING_LANES = 4, 16, 32
# As in long_products.cuh: there is no owner.
NO_OWNER = 2**32 - 1
# The most shared memory of a block of short rows, in bytes: more would need an opt-in.
GROUPS_MEMORY = 47 * 1024
# A limit on the dense work space of the longest rows, in bytes.
MOST_WORK_SPACE = 2**29

FACTORS = Struct(
    "Factors", "matrix/product_rows.cuh",
    left_indptr="P", left_indices="P", left_data="P", right_indptr="P", right_indices="P", right_data="P",
)  # fmt: skip
ROW_LIST = Struct("RowList", "matrix/product_rows.cuh", rows="P", count="q")
PRODUCT = Struct("Product", "matrix/product_rows.cuh", indptr="P", indices="P", data="P")
TALLY = Struct("Tally", "matrix/product_rows.cuh", rows="Q" * CLASSES, listed="Q" * CLASSES, entries="Q")
DENSE_ROWS = Struct("DenseRows", "matrix/sparse_products.cu", sums="P", owners="P", bitmaps="P", width="q")


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Entries that sum to zero stay stored. Rows of
    the second matrix have no duplicates.
    """
    phases = _Phases(left, right, width)
    tallies = cupy.zeros((2, TALLY.size // 8), np.uint64)
    phases.measure(tallies[0])
    indptr = phases.count(tallies)
    return indptr, *phases.add(tallies[1], indptr)


class _Phases:
    """The phases of a product: rows are classed by their terms, their columns counted, their terms added."""

    def __init__(self, left, right, width):
        self.rows, self.width = left[0].size - 1, width
        self.index, self.dtype = left[1].dtype, left[2].dtype
        self.program = kernels("matrix/sparse_products", VALUE=self.dtype.type, INDEX=self.index.type)
        self.factors = FACTORS(**dict(zip(FACTORS.fields, (*left, *right))))
        self.left_lanes = lanes_for(left[1].size, self.rows)
        self.right_lanes = lanes_for(right[1].size, right[0].size - 1)
        self.classes = cupy.empty(self.rows, np.uint8)

    def measure(self, tally):
        """Class all rows by their numbers of terms."""
        arguments = self.factors, self.rows, self.left_lanes, self.classes, tally
        launch(self.program.measure_rows, arguments, items=self.rows * self.left_lanes)

    def count(self, tallies):
        """The symbolic phase: the row pointers of the product; classes all rows by their entries."""
        histogram = tallies[0].tolist()[:CLASSES]  # stall: which kernels to launch
        counts = cupy.zeros(self.rows + 1, self.index)
        for kind, rows, listed in self._lists(histogram, tallies[0]):
            self._count_rows(kind, rows, listed, (counts, self.classes, tallies[1]))
        return add_up(counts)

    def add(self, tally, indptr):
        """The numeric phase: the column indices and values of the product."""
        words = tally.tolist()  # stall: how many entries the product has, and which kernels to launch
        entries = words[-1]
        if entries > np.iinfo(self.index).max:
            raise OverflowError(
                f"the product has {entries} entries, too many for indices of type {self.index}"
            )
        indices, data = cupy.empty(entries, self.index), cupy.empty(entries, self.dtype)
        product = PRODUCT(indptr=indptr, indices=indices, data=data)
        for kind, rows, listed in self._lists(words[:CLASSES], tally):
            self._add_rows(kind, rows, listed, product)
        return indices, data

    def _lists(self, histogram, tally):
        """The class, the number and the list of rows of each launch."""
        launches, rows = launch_classes(histogram), None
        if len(launches) > 1:
            rows = cupy.empty(self.rows, self.index)
            launch(self.program.list_rows, (self.classes, self.rows, tally, rows), items=self.rows)
        for kind, first, count in launches:
            yield kind, count, ROW_LIST(rows=None if rows is None else rows[first:], count=count)

    def _count_rows(self, kind, rows, listed, out):
        program = self.program
        if kind == len(SLOTS):
            return self._launch_dense(program.count_longest_rows, rows, listed, out, with_sums=False)
        slots = SLOTS[kind]
        if kind >= SHORT_CLASSES:
            arguments = self.factors, listed, slots, *out
            return _launch_per_row(program.count_long_rows, arguments, rows, 4 * slots)
        lanes = max(self.left_lanes, COUNTING_LANES[kind])
        arguments = self.factors, listed, lanes, slots, *out
        _launch_groups(program.count_short_rows, arguments, rows, lanes, 4 * slots)

    def _add_rows(self, kind, rows, listed, product):
        program, itemsize = self.program, self.dtype.itemsize
        if kind > SHORT_CLASSES:
            return self._launch_dense(program.add_longest_rows, rows, listed, (product,), with_sums=True)
        if kind == SHORT_CLASSES:
            memory = long_row_slots(self.dtype) * (itemsize + 8)
            return _launch_per_row(program.add_long_rows, (self.factors, listed, product), rows, memory)
        lanes, entries = max(self.right_lanes, ADDING_LANES[kind]), ENTRIES[kind]
        arguments = self.factors, listed, lanes, entries, product
        _launch_groups(program.add_short_rows, arguments, rows, lanes, short_row_bytes(entries, self.dtype))

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


def launch_classes(histogram):
    """(class, first row of the list, number of rows) of each launch.

    Short rows of a class that has fewer than the next one are computed with that one, to save launches.
    """
    launches, first, count = [], 0, 0
    for kind, rows in enumerate(histogram):
        count += rows
        joins_next = kind + 1 < SHORT_CLASSES and count <= histogram[kind + 1]
        if count == 0 or joins_next:
            continue
        launches.append((kind, first, count))
        first, count = first + count, 0
    return launches


def short_row_bytes(entries, dtype):
    """The size of a short row's tables; as ShortRow::bytes in short_products.cuh."""
    return entries * (dtype.itemsize + 14) + 16


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
