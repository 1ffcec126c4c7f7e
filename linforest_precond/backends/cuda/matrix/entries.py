"""The stored entries of a matrix: scanned in one pass, sorted, transposed, symmetrized, their magnitudes."""

import numpy as np

from linforest_precond.backends.returns import EntryScan, IndexScan

from ..runtime import BLOCK, INDICES, VALUES, Program, cupy, launch
from ..runtime.grid_sums import add_up
from ..runtime.reports import HostCopy
from .sums import CHUNK, tree_sums_on_device

# Lanes per row.
WIDTHS = (4, 8, 16, 32)
# The most entries of a column that are sorted by rank when a matrix is transposed.
SHORT_COLUMN = 512
# The words of a report, in the order of `Report` in scan_report.cuh.
BAD_ROW, OUT_OF_RANGE, NONFINITE, UNSORTED, SYMMETRY, LONGEST_ROW, LARGEST, WORDS = range(8)
# The sums of weights after it.
SUMS = 2
TRANSPOSITION = Program("matrix/transposition", VALUE=VALUES, INDEX=INDICES)
ENTRIES = Program("matrix/entries", VALUE=VALUES, INDEX=INDICES)
SCAN = Program("matrix/entries", cooperative=True, VALUE=VALUES, INDEX=INDICES)


def scan(indptr, indices, data, scale=1.0, meanwhile=None):
    chunks = -(-indices.size // CHUNK)
    report, diagonal = (_described if chunks <= CHUNK else _scanned)(indptr, indices, data, float(scale))
    copy = HostCopy(report)
    try:
        begun = None if meanwhile is None else meanwhile(report)
    finally:
        words = copy.get()  # stall: indices must be valid before they are used
    total, adjacent = words[WORDS : WORDS + SUMS].view(np.float64).tolist()
    return EntryScan(
        *index_scan(words),
        first_nonfinite=first_place(words[NONFINITE]),
        symmetric=not words[SYMMETRY],
        total=total,
        adjacent=adjacent,
        # The bits of a float, or the upper half of those of a double, above its mantissa.
        biased_exponent=int(words[LARGEST]) >> np.finfo(data.dtype).nmant % 32,
        diagonal=diagonal,
        begun=begun,
    )


def scan_indices(indptr, indices):
    rows, nnz = indptr.size - 1, indices.size
    report, chunk_row = cupy.zeros(WORDS, np.uint64), cupy.empty(-(-nnz // CHUNK), indices.dtype)
    program = ENTRIES(VALUE=np.float64, INDEX=indices)
    launch(program.chunk_rows, (indptr, indices, rows, nnz, chunk_row, report))
    return index_scan(report.get())  # stall: indices must be valid before entries are sorted by them


def index_scan(words):
    """The check of pointers and columns in a report."""
    places = first_place(words[BAD_ROW]), first_place(words[OUT_OF_RANGE])
    return IndexScan(*places, not words[UNSORTED], int(words[LONGEST_ROW]))


def _described(indptr, indices, data, scale):
    """The report and the diagonal of a matrix of few chunks, in one launch."""
    rows, nnz, index = indptr.size - 1, indices.size, indices.dtype
    chunks = -(-nnz // CHUNK)
    # The last word is the barrier.
    report, diagonal = cupy.zeros(WORDS + SUMS + 1, np.uint64), cupy.empty(rows, data.dtype)
    chunk_row, chunk_sums = cupy.empty(chunks, index), cupy.empty(2 * chunks)
    arguments = indptr, indices, data, rows, nnz, scale, chunk_row, chunk_sums, diagonal, report
    launch(SCAN(VALUE=data, INDEX=index).describe_entries, arguments, items=max(rows, chunks * BLOCK))
    return report, diagonal


def _scanned(indptr, indices, data, scale):
    """The same of a matrix of any size."""
    rows, nnz = indptr.size - 1, indices.size
    program = ENTRIES(VALUE=data, INDEX=indices)
    chunks = -(-nnz // CHUNK)
    report, diagonal = cupy.zeros(WORDS + SUMS, np.uint64), cupy.zeros(rows, data.dtype)
    chunk_row, chunk_sums = cupy.empty(chunks, indices.dtype), cupy.empty((2, chunks))
    launch(program.chunk_rows, (indptr, indices, rows, nnz, chunk_row, report))
    arguments = indptr, indices, data, rows, nnz, scale, chunk_row, chunk_sums, diagonal, report
    launch(program.scan_entries, arguments)
    tree_sums_on_device(chunk_sums, report[WORDS:])
    return report, diagonal


def first_place(word):
    """Decodes a slot that was reported as its complement; -1 for none."""
    return int(~word) if word else -1


def sort_entries(rows, cols, n):
    keys = rows.astype(np.int64) * n + cols
    order = cupy.argsort(keys, kind="stable")
    return order, cupy.searchsorted(keys[order], cupy.arange(n + 1) * n)


def canonical(rows, cols, data, n, index_dtype):
    keys = rows.astype(np.int64) * n + cols
    order = cupy.argsort(keys, kind="stable")
    keys = keys[order]
    heads = cupy.ones(keys.size, bool)
    heads[1:] = keys[1:] != keys[:-1]
    heads = cupy.flatnonzero(heads)  # stall: CuPy counts them to allocate
    keys = keys[heads]
    sums = cupy.empty(heads.size, data.dtype)
    program = ENTRIES(VALUE=data, INDEX=np.dtype(index_dtype).type)
    launch(program.sum_duplicates, (cupy.ascontiguousarray(data), order, heads, heads.size, data.size, sums))
    indptr = cupy.searchsorted(keys, cupy.arange(n + 1) * n).astype(index_dtype)
    return indptr, (keys % max(n, 1)).astype(index_dtype), sums


def lanes_for(nnz, n):
    """Lanes per row: about the mean row length."""
    return next(width for width in WIDTHS if width * n >= 0.8 * nnz or width == WIDTHS[-1])


def row_of(indptr, slot):
    return int(cupy.searchsorted(indptr, cupy.asarray([slot], indptr.dtype), side="right")[0]) - 1


def rows_of(indptr, count):
    rows = cupy.empty(count, indptr.dtype)
    program = ENTRIES(VALUE=np.float64, INDEX=indptr)
    launch(program.fill_rows, (indptr, indptr.size - 1, lanes_for(count, indptr.size - 1), rows))
    return rows


def transposed(indptr, indices, data, width=None):
    """The CSR arrays of the transpose; `data` may be None, `width` is that of a matrix that is not square."""
    rows, nnz, index = indptr.size - 1, indices.size, indices.dtype
    width = rows if width is None else width
    value = np.float64 if data is None else data.dtype.type
    program = TRANSPOSITION(VALUE=value, INDEX=index)
    counts, places, longest = cupy.zeros(width + 1, index), cupy.empty(nnz, index), cupy.zeros(1, np.uint64)
    launch(program.count_column_entries, (indices, nnz, counts, places, longest), items=nnz)
    begins = add_up(counts)
    if longest.item() > SHORT_COLUMN:  # stall: how columns are sorted
        order = cupy.argsort(indices, kind="stable")
        return begins, rows_of(indptr, nnz)[order], None if data is None else data[order]
    slots, slot_rows, out_rows = (cupy.empty(nnz, index) for _ in range(3))
    out_data = None if data is None else cupy.empty(nnz, data.dtype)
    lanes = lanes_for(nnz, rows)
    arguments = indptr, indices, rows, lanes, begins, places, slots, slot_rows
    launch(program.scatter_entries, arguments, items=rows * lanes)
    lanes = lanes_for(nnz, width)
    arguments = begins, width, lanes, slots, slot_rows, data, out_rows, out_data
    launch(program.sort_columns, arguments, items=width * lanes)
    return begins, out_rows, out_data


def transposed_values(indptr, indices, data, width, pattern):
    begins, rows = pattern
    values, lanes = cupy.empty(data.size, data.dtype), lanes_for(data.size, width)
    arguments = indptr, indices, data, begins, rows, width, lanes, values
    launch(TRANSPOSITION(VALUE=data, INDEX=indices).gather_transpose, arguments, items=width * lanes)
    return values


def magnitudes(data):
    weights = cupy.empty(data.shape, data.real.dtype)
    launch(ENTRIES(VALUE=data, INDEX=np.int32).magnitudes, (data, data.size, weights))
    return weights


def symmetrized(indptr, indices, weights):
    """The user may change the indices meanwhile: the first kernel checks them, the others follow a copy."""
    vertices, program = indptr.size - 1, ENTRIES(VALUE=weights, INDEX=indices)
    lanes = lanes_for(indices.size, vertices)
    sums = cupy.empty(indices.size, weights.dtype)
    unpaired, any_unpaired = cupy.empty(indices.size, bool), cupy.zeros(1, np.uint32)
    arguments = indptr, indices, vertices, lanes, weights, sums, unpaired, any_unpaired
    launch(program.add_mirrors, arguments, items=vertices * lanes)
    if not any_unpaired.item():  # stall: decides how much memory the graph needs
        return indptr, indices, sums, True
    indices, rows = cupy.clip(indices, 0, max(vertices - 1, 0)), rows_of(indptr, indices.size)
    unpaired = cupy.flatnonzero(unpaired)  # stall: CuPy counts them to allocate
    # The mirror images in CSR order: sorted by column; within a column rows ascend already.
    unpaired = unpaired[cupy.argsort(indices[unpaired], kind="stable")]
    added = indices[unpaired], rows[unpaired], sums[unpaired]
    return *_merged(program, (indptr, rows, indices, sums), added), False


def _merged(program, stored, added):
    """The sum of two CSR matrices that share no entry."""
    indptr, *stored = stored
    vertices = cupy.arange(indptr.size, dtype=indptr.dtype)
    added_ptr = cupy.searchsorted(added[0], vertices).astype(indptr.dtype)
    count = stored[0].size + added[0].size
    indices, weights = cupy.empty(count, indptr.dtype), cupy.empty(count, stored[2].dtype)
    for (rows, columns, values), other_ptr, other_columns in (
        (stored, added_ptr, added[1]),
        (added, indptr, stored[1]),
    ):
        arguments = rows, columns, values, rows.size, other_ptr, other_columns, indices, weights
        launch(program.merge_entries, arguments)
    return indptr + added_ptr, indices, weights
