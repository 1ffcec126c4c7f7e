"""Products and transposes of sparse matrices, against dense products, SciPy, and sums in the stated order."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import assert_close, vectors

from linforest_precond.backends import backend_of
from linforest_precond.backends.cuda.matrix.sparse_products import launch_classes

SHAPES = [(30, 20, 25), (5, 60, 3), (40, 7, 50), (1, 1, 1), (300, 300, 300), (4, 5, 0)]


def random_csr(backend, shape, dtype, index, rng):
    """CSR arrays with empty rows and stored zeros, and the dense matrix."""
    dense = vectors(dtype, *shape, seed=int(rng.integers(1000)))
    stored = rng.random(shape) < min(0.3, 8 / max(shape[1], 1))
    stored[:: shape[0] // 3 + 2] = False
    dense = np.where(stored & (rng.random(shape) < 0.9), dense, 0)
    indptr = np.r_[0, np.cumsum(stored.sum(axis=1))].astype(index)
    arrays = indptr, np.nonzero(stored)[1].astype(index), dense[stored]
    return tuple(map(backend.array, arrays)), dense


def csr_of_lengths(lengths, width, dtype, index, rng):
    """CSR arrays with rows of the given lengths at random columns; some zeros are stored."""
    rows = [np.sort(rng.choice(width, length, replace=False)) for length in lengths]
    indptr = np.r_[0, np.cumsum(lengths)].astype(index)
    values = vectors(dtype, indptr[-1], 1, seed=int(rng.integers(1000))).ravel()
    values[rng.random(values.size) < 0.1] = 0
    return indptr, np.concatenate([*rows, []]).astype(index), values


def rounded_product(a, b):
    """The product of two numbers, every operation rounded."""
    if a.dtype.kind != "c":
        return a * b
    parts = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    return np.array(parts).view(a.dtype)[0]


def product_in_order(left, right):
    """The CSR arrays of a product; terms are added in the order of the left matrix's entries."""
    rows = []
    for begin, end in zip(left[0], left[0][1:]):
        sums = {}
        for middle, weight in zip(left[1][begin:end], left[2][begin:end]):
            for slot in range(right[0][middle], right[0][middle + 1]):
                column, term = right[1][slot], rounded_product(weight, right[2][slot])
                sums[column] = sums[column] + term if column in sums else term
        rows.append(sorted(sums.items(), key=lambda item: item[0]))
    indptr = np.r_[0, np.cumsum([len(row) for row in rows])].astype(left[0].dtype)
    columns, values = (np.array([item[i] for row in rows for item in row]) for i in (0, 1))
    return indptr, columns.astype(left[1].dtype), values.astype(left[2].dtype)


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("shape", SHAPES)
def test_against_dense(backend, shape, dtype, index):
    rng = np.random.default_rng(0)
    left, A = random_csr(backend, shape[:2], dtype, index, rng)
    right, B = random_csr(backend, shape[1:], dtype, index, rng)
    product = backend_of(left[2]).matrix.sparse_products.multiply(left, right, shape[2])
    indptr, indices, data = map(backend.host, product)
    assert indptr.dtype == indices.dtype == index and data.dtype == dtype
    dense = np.zeros((shape[0], shape[2]), dtype)
    for row in range(shape[0]):
        columns = indices[indptr[row] : indptr[row + 1]]
        assert (np.diff(columns) > 0).all()
        dense[row, columns] = data[indptr[row] : indptr[row + 1]]
    assert_close(dense, A @ B, 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-13)


# The lengths of the left rows, the shortest and longest right row, the numbers of right rows and of columns.
IN_ORDER = {
    "no rows": ([], (1, 3), 10, 10),
    "empty rows only": ([0, 0, 0], (1, 3), 10, 10),
    "empty right rows": ([3, 0, 10], (0, 0), 10, 10),
    "a smoothed prolongator": ([5, 7, 6, 7, 4, 7] * 10, (1, 4), 60, 12),
    "its Galerkin product": ([20, 35, 28, 40] * 5, (6, 10), 60, 60),
    "every length": ([0, 3, 40, 400, 1, 0, 700, 60, 2], (0, 9), 800, 250),
    "more columns": ([0, 3, 40, 400, 1, 0, 700, 60, 2], (0, 9), 800, 900),
    "dense accumulators": ([100, 3, 1500, 1200, 0, 1500], (0, 14), 1500, 2500),
    "long right rows": ([20, 3, 40], (200, 600), 40, 1500),
    "one column": ([1500, 3, 800], (1, 1), 1500, 1),
}


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("case", IN_ORDER)
def test_terms_are_added_in_order(backend, case, dtype, index):
    rng = np.random.default_rng(1)
    lengths, (shortest, longest), middle, width = IN_ORDER[case]
    left = csr_of_lengths(lengths, middle, dtype, index, rng)
    right = csr_of_lengths(rng.integers(shortest, longest + 1, middle), width, dtype, index, rng)
    factors = [tuple(map(backend.array, arrays)) for arrays in (left, right)]
    products = backend_of(factors[0][2]).matrix.sparse_products
    found, plan = products.multiply_and_plan(*factors, width)
    for one, other in zip(product_in_order(left, right), map(backend.host, found)):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    left, right = ((*pattern, values[::-1].copy()) for *pattern, values in (left, right))
    factors = [tuple(map(backend.array, arrays)) for arrays in (left, right)]
    found = products.multiply_again(plan, *factors, width)
    for one, other in zip(product_in_order(left, right), map(backend.host, found)):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def test_too_many_entries(backend):
    rng = np.random.default_rng(3)
    left = csr_of_lengths([3, 0, 9, 5], 20, np.float64, np.int32, rng)
    right = csr_of_lengths(rng.integers(1, 9, 20), 30, np.float64, np.int32, rng)
    factors = [tuple(map(backend.array, arrays)) for arrays in (left, right)]
    products = backend_of(factors[0][2]).matrix.sparse_products
    entries = product_in_order(left, right)[1].size
    assert products.multiply_and_plan(*factors, 30, entries - 1) is None
    (_, indices, _), _ = products.multiply_and_plan(*factors, 30, entries)
    assert indices.size == entries


def test_some_rows_at_a_time(monkeypatch):
    """Work space for a few entries: rows are multiplied in turns, the longest with more space."""
    rng = np.random.default_rng(4)
    left = csr_of_lengths([3, 0, 0, 40, 7, 2, 0, 5, 60, 1, 0], 60, np.float64, np.int32, rng)
    right = csr_of_lengths(rng.integers(0, 9, 60), 50, np.float64, np.int32, rng)
    module = backend_of(left[2]).matrix.sparse_products
    for entries in (1, 20, 45):
        monkeypatch.setattr(module, "ENTRIES_AT_ONCE", entries)
        for one, other in zip(product_in_order(left, right), module.multiply(left, right, 50)):
            assert one.tobytes() == other.tobytes()


@pytest.mark.gpu
def test_one_block_has_work_space_for_all_long_rows(cuda, monkeypatch):
    rng = np.random.default_rng(2)
    left = csr_of_lengths([1500, 1000, 0, 1500], 1500, np.float64, np.int32, rng)
    right = csr_of_lengths(rng.integers(5, 15, 1500), 3000, np.float64, np.int32, rng)
    factors = [tuple(map(cuda.array, arrays)) for arrays in (left, right)]
    module = backend_of(factors[0][2]).matrix.sparse_products
    monkeypatch.setattr(module, "MOST_WORK_SPACE", 1)
    for one, other in zip(product_in_order(left, right), module.multiply(*factors, 3000)):
        assert one.tobytes() == cuda.host(other).tobytes()


def test_launches_of_the_classes_of_rows():
    """Short rows join the next class if that has enough rows; every row is in one launch."""
    joins = 8, 1, 1, 0, 0, 0
    assert launch_classes([0] * 6, joins) == []
    assert launch_classes([7, 0, 0, 0, 0, 0], joins) == [(0, 0, 7)]
    assert launch_classes([9, 1, 0, 0, 0, 0], joins) == [(0, 0, 9), (1, 9, 1)]
    assert launch_classes([8, 1, 0, 0, 0, 0], joins) == [(1, 0, 9)]
    assert launch_classes([3, 7, 20, 30, 0, 0], joins) == [(3, 0, 60)]
    assert launch_classes([0, 3, 7, 2, 30, 1], joins) == [(2, 0, 10), (3, 10, 2), (4, 12, 30), (5, 42, 1)]


def test_rows_of_many_entries_next_to_short_ones(backend):
    """Load balancing: the first rows have far more entries than the mean."""
    lengths = np.r_[np.full(1000, 20), np.ones(15000, int)]
    indptr, indices = np.r_[0, np.cumsum(lengths)], np.tile(np.arange(20), 1750)
    left = tuple(map(backend.array, (indptr.astype(np.int32), indices.astype(np.int32), np.ones(35000))))
    right = tuple(
        map(backend.array, (np.arange(21, dtype=np.int32), np.arange(20, dtype=np.int32), np.ones(20)))
    )
    found = backend_of(left[2]).matrix.sparse_products.multiply(left, right, 20)
    for one, other in zip(found, left):
        np.testing.assert_array_equal(backend.host(one), backend.host(other))


# Rows, columns, and the lengths of the longest row: more rows, fewer rows, a column of more than 512 entries.
TRANSPOSED = [(50, 50, 6), (60, 11, 4), (5, 300, 200), (1500, 2, 2), (0, 4, 0), (3, 0, 0)]


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize(("rows", "columns", "longest"), TRANSPOSED)
def test_transposed(backend, rows, columns, longest, dtype, index):
    rng = np.random.default_rng(3)
    indptr, indices, data = csr_of_lengths(rng.integers(0, longest + 1, rows), columns, dtype, index, rng)
    expected = sp.csr_array((data, indices, indptr), shape=(rows, columns)).tocsc()
    arrays = [backend.array(array) for array in (indptr, indices, data)]
    found = backend_of(arrays[2]).matrix.entries.transposed(*arrays, columns)
    for one, other in zip((expected.indptr, expected.indices, expected.data), map(backend.host, found)):
        np.testing.assert_array_equal(one, other)
    values = backend_of(arrays[2]).matrix.entries.transposed_values(*arrays, columns, found[:2])
    np.testing.assert_array_equal(backend.host(values), expected.data)
    assert found[0].dtype == found[1].dtype == index and found[2].dtype == dtype
    if rows == columns:
        for one, other in zip(found, backend_of(arrays[2]).matrix.entries.transposed(*arrays)):
            np.testing.assert_array_equal(backend.host(one), backend.host(other))
