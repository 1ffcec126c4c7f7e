"""The scan of a pattern: order, symmetry and degrees, for rows of all lengths."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from checked_matrices import with_arrays
from hypothesis import given

from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.doors import as_pattern


def with_rows_of(lengths, seed=0):
    """A symmetric pattern whose first rows have about these lengths, with some diagonal entries."""
    rng = np.random.default_rng(seed)
    n = 6000
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = rng.integers(0, n, rows.size)
    A = sp.coo_array((np.ones(rows.size), (rows, columns)), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.data[:] = 1
    A.sort_indices()
    return A


PATTERNS = {
    "short rows": graphs.with_types(graphs.grid_graph(70, 70)),
    "long rows among short ones": with_rows_of([*[2] * 300, 700, *[2] * 300, 3000, 1500, *[1] * 500]),
    "rows of some length": with_rows_of([40] * 200),
    "rows of all lengths": with_rows_of([1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 129, 2047, 2048, 2049] * 4),
    "empty rows between": with_rows_of([5, *[0] * 4000, 5000, *[0] * 500, 5]),
    "skewed": graphs.rmat_graph(12),
}
TYPES = graphs.quick([(np.float64, np.int32), (np.float32, np.int32), (np.float64, np.int64)])


def entries(A):
    return set(zip(*(part.tolist() for part in sp.coo_array(A).coords), strict=True))


def assert_pattern(backend, A, pattern, symmetric):
    """Reference: the properties of a pattern, from its entries one by one."""
    stored = entries(A)
    assert pattern.symmetric == symmetric == all((j, i) in stored for i, j in stored)
    lengths = np.diff(A.indptr)
    assert pattern.longest_row == lengths.max()
    degrees = lengths - [(i, i) in stored for i in range(A.shape[0])]
    np.testing.assert_array_equal(backend.host(pattern.degrees), degrees)
    assert pattern.degrees.dtype == np.int32
    np.testing.assert_array_equal(backend.host(pattern.indices), A.indices)


def without(A, slot):
    rows, columns = (np.delete(part, slot) for part in sp.coo_array(A).coords)
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=A.shape)


def slots_of_every_kind(A):
    """Off-diagonal entries: of the longest row, of the first and the last, and some others."""
    rows, columns = sp.coo_array(A).coords
    longest = np.diff(A.indptr).argmax()
    slots = np.flatnonzero(rows != columns)
    own = slots[rows[slots] == longest]
    return {int(slot) for slot in (slots[0], slots[-1], own[0], own[own.size // 2], own[-1], *slots[::9973])}


@pytest.mark.parametrize(("dtype", "index"), TYPES)
@pytest.mark.parametrize("name", PATTERNS)
class TestPatterns:
    def test_symmetric(self, backend, name, dtype, index):
        A = graphs.with_types(PATTERNS[name], dtype, index)
        B = backend.csr(A)
        assert_pattern(backend, A, as_pattern(B, directed=True), symmetric=True)
        assert checked(B).symmetric

    def test_one_entry_too_few(self, backend, name, dtype, index):
        for slot in slots_of_every_kind(PATTERNS[name]):
            A = graphs.with_types(without(PATTERNS[name], slot), dtype, index)
            B = backend.csr(A)
            assert_pattern(backend, A, as_pattern(B, directed=True), symmetric=False)
            assert not checked(B).symmetric
            whole = graphs.with_types(PATTERNS[name], dtype, index)
            assert_pattern(backend, whole, as_pattern(B), symmetric=True)

    def test_out_of_order(self, backend, name, dtype, index):
        A = graphs.with_types(PATTERNS[name], dtype, index)
        for slot in slots_of_every_kind(A):
            row = np.searchsorted(A.indptr, slot, side="right") - 1
            begin, end = A.indptr[row], A.indptr[row + 1]
            if end - begin < 2:
                continue
            other = slot - 1 if slot > begin else slot + 1
            indices = A.indices.copy()
            indices[[slot, other]] = indices[[other, slot]]
            B = with_arrays(backend.csr(A), indices=backend.array(indices))
            assert_pattern(backend, A, as_pattern(B, directed=True), symmetric=True)

    @pytest.mark.parametrize("column", [-1, 10**6])
    def test_outside(self, backend, name, dtype, index, column):
        A = graphs.with_types(PATTERNS[name], dtype, index)
        for slot in slots_of_every_kind(A):
            indices = A.indices.copy()
            indices[slot] = column
            row = np.searchsorted(A.indptr, slot, side="right") - 1
            B = with_arrays(backend.csr(A), indices=backend.array(indices))
            for check in (as_pattern, checked):
                with pytest.raises(ValueError, match=rf"A\.indices .*got {column} in row {row}"):
                    check(B)


@given(A=graphs.matrices())
def test_any_pattern(backend, A):
    stored = entries(A)
    symmetric = all((j, i) in stored for i, j in stored)
    pattern = as_pattern(backend.csr(A), directed=True)
    assert pattern.symmetric == symmetric
    degrees = np.diff(A.indptr) - [(i, i) in stored for i in range(A.shape[0])]
    np.testing.assert_array_equal(backend.host(pattern.degrees), degrees)


def test_no_two_entries_cancel_but_mirror_images(backend):
    """All pairs of places of a 5 x 5 matrix."""
    places = list(itertools.product(range(5), repeat=2))
    for (i, j), (k, m) in itertools.combinations(places, 2):
        A = sp.csr_array(([1.0, 1.0], ([i, k], [j, m])), shape=(5, 5))
        expected = (i == j and k == m) or (i, j) == (m, k)
        assert as_pattern(backend.csr(A), directed=True).symmetric == expected, ((i, j), (k, m))


@pytest.mark.parametrize("length", [3, 4, 7, 64, 1000])
def test_cycles_that_lead_one_way(backend, length):
    """Every vertex has one entry that leads in and one that leads out."""
    for seed in range(5):
        ring = np.random.default_rng(seed).permutation(length)
        A = sp.csr_array((np.ones(length), (ring, np.roll(ring, 1))), shape=(length, length))
        assert not as_pattern(backend.csr(A), directed=True).symmetric
        assert as_pattern(backend.csr(sp.csr_array(A + A.T)), directed=True).symmetric
