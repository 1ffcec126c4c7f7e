"""Updates: new values for an unchanged pattern give the operator of a new setup in the old order."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU
from hypothesis import given
from hypothesis import strategies as st
from operator_cases import (
    COMPILED_LONG,
    IN_SINGLE_PRECISION,
    KINDS,
    SIZE,
    assert_operator,
    dominant,
    held,
    other_values,
    state,
    vectors,
    wanted_inverse,
)

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.matrix.pattern_digest import pattern_digest


def assert_same_arrays(backend, one, other):
    """Two records, or None twice."""
    assert type(one) is type(other)
    for name in vars(one) if one is not None else ():
        here, there = getattr(one, name), getattr(other, name)
        if hasattr(here, "dtype"):
            np.testing.assert_array_equal(backend.host(here), backend.host(there))


@pytest.mark.parametrize("kind", KINDS)
class TestUpdate:
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex64]))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_new_values_in_the_old_order(self, backend, kind, dtype, symmetric):
        A = dominant(dtype=dtype, symmetric=symmetric)
        B = other_values(A)
        M = KINDS[kind](backend.csr(A))
        forest = M.forest
        transposed = M.T
        assert M.update(backend.csr(B)) is M
        assert_same_arrays(backend, M.forest, forest)
        inverse = wanted_inverse(backend, B, M)
        assert_operator(backend, M, inverse)
        r = vectors(dtype, SIZE)
        found = backend.host(transposed @ backend.array(r))
        np.testing.assert_allclose(
            found, inverse.T @ r, rtol=0, atol=1e-4 if dtype == np.complex64 else 1e-12
        )
        weight = abs(B.toarray()) * ~np.eye(SIZE, dtype=bool)
        covered = (weight * held(backend, M)).sum() / weight.sum()
        assert M.coverage == pytest.approx(covered, rel=1e-5)

    def test_back_and_forth(self, backend, kind):
        A = dominant(symmetric=False)
        B = other_values(A)
        M = KINDS[kind](backend.csr(A))
        before = state(backend, M)
        M.update(backend.csr(B))
        assert state(backend, M)[0] != before[0]
        M.update(backend.csr(A))
        assert state(backend, M) == before

    @pytest.mark.parametrize("form", ["csc", "coo", "dense"])
    def test_other_formats(self, backend, kind, form):
        self.assert_updated(backend, kind, form)

    @pytest.mark.parametrize("form", ["dia", "bsr", "lil"])
    def test_formats_of_scipy_alone(self, kind, form):
        self.assert_updated(CPU, kind, form)

    @staticmethod
    def assert_updated(backend, kind, form):
        A = lf.matrices.poisson((7, 7))
        B = A.copy()
        B.data = B.data * np.random.default_rng(3).uniform(1, 1.01, B.nnz)

        def put(matrix):
            matrix = backend.csr(matrix)
            return matrix.toarray() if form == "dense" else matrix.asformat(form)

        M = KINDS[kind](put(A))
        M.update(put(B))
        r = vectors(float, 49)
        wanted = wanted_inverse(backend, B, M) @ r
        np.testing.assert_allclose(backend.host(M @ backend.array(r)), wanted, rtol=0, atol=1e-12)

    def test_unsorted_and_duplicate_entries(self, backend, kind):
        """Slots are those of the sorted matrix, which has the same pattern again."""
        rng = np.random.default_rng(5)
        rows, columns = rng.integers(0, 30, (2, 200))
        rows, columns = np.append(rows, np.arange(30)), np.append(columns, np.arange(30))
        by_row = np.argsort(rows, kind="stable")
        rows, columns = rows[by_row], columns[by_row].astype(np.int32)
        indptr = np.searchsorted(rows, np.arange(31)).astype(np.int32)
        A, B = (
            graphs.make_csr(np.where(rows == columns, 100, rng.standard_normal(230)), columns, indptr, 30)
            for _ in range(2)
        )
        M = KINDS[kind](backend.csr(A))
        M.update(backend.csr(B))
        r = vectors(float, 30)
        wanted = wanted_inverse(backend, B, M) @ r
        np.testing.assert_allclose(backend.host(M @ backend.array(r)), wanted, rtol=0, atol=1e-12)
        in_order = B.copy()
        in_order.sum_duplicates()
        assert_refused(backend, M, backend.csr(in_order), ValueError, "pattern")

    def test_what_is_refused(self, backend, kind):
        A = dominant()
        M = KINDS[kind](backend.csr(A))
        moved = A.copy()
        row = int(np.flatnonzero(np.diff(A.indptr) > 1)[0])
        missing = np.setdiff1d(np.arange(SIZE), A[[row]].indices)[0]
        slots = slice(A.indptr[row], A.indptr[row + 1])
        keep = moved.indices[slots].copy()
        keep[np.flatnonzero(keep != row)[0]] = missing
        moved.indices[slots] = np.sort(keep)
        longer = A.tolil()
        longer[row, missing] = 0.5
        with_nan = A.copy()
        with_nan.data[3] = np.inf
        for wrong, error, word in [
            (backend.csr(moved), ValueError, "pattern"),
            (backend.csr(graphs.with_types(longer.tocsr(), float, np.int32)), ValueError, "pattern"),
            (backend.csr(A).tocsc(), ValueError, "format"),
            (backend.csr(A).toarray(), ValueError, "format"),
            (backend.csr(graphs.with_types(A, np.float32)), ValueError, "dtype"),
            (backend.csr(dominant(SIZE + 1)), ValueError, "shape"),
            (backend.csr(with_nan), ValueError, "finite"),
            ("A", TypeError, "A"),
        ]:
            assert_refused(backend, M, wrong, error, word)

    def test_explicit_zeros_belong_to_the_pattern(self, backend, kind):
        A = dominant()
        zeros = A.copy()
        zeros.data[A.indices != np.repeat(np.arange(SIZE), np.diff(A.indptr))] = 0
        M = KINDS[kind](backend.csr(A))
        M.update(backend.csr(zeros))
        r = vectors(float, SIZE)
        found = backend.host(M @ backend.array(r))
        np.testing.assert_allclose(found, r / A.diagonal(), rtol=1e-13)
        without = zeros.copy()
        without.eliminate_zeros()
        assert_refused(backend, M, backend.csr(without), ValueError, "pattern")

    def test_memory_runs_out(self, backend, kind, monkeypatch):
        A = dominant()
        M = KINDS[kind](backend.csr(A))
        failing = M._part.__class__

        def fail(*_, **__):
            raise MemoryError

        before = state(backend, M)
        # An update factors with what it keeps, and makes no part anew.
        monkeypatch.setattr(failing, "refreshed" if kind == "direct" else "of", fail)
        with pytest.raises(MemoryError):
            M.update(backend.csr(other_values(A)))
        assert state(backend, M) == before

    @pytest.mark.gpu
    def test_the_other_device_is_refused(self, cuda, kind):
        A = dominant()
        assert_refused(cuda, KINDS[kind](cuda.csr(A)), A, TypeError, "cuda")
        assert_refused(CPU, KINDS[kind](A), cuda.csr(A), TypeError, "cpu")


@pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
def test_stored_in_single_precision(backend, kind):
    A = dominant()
    M = KINDS[kind](backend.csr(A), dtype=np.float32)
    M.update(backend.csr(other_values(A)))
    assert M.stored_dtype == np.float32
    assert_operator(backend, M, wanted_inverse(backend, other_values(A), M))


@pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
def test_numbers_that_the_stored_type_cannot_hold(backend, kind):
    """They are scaled, exactly: products are scaled back."""
    A, r = dominant(), backend.array(np.ones(SIZE))
    M = KINDS[kind](backend.csr(A), dtype=np.float32)
    before = backend.host(M @ r)
    M.update(backend.csr(A * 2.0**700))
    found = backend.host(M @ r)
    if backend.name == "cuda" and kind.startswith(("block jacobi", "direct")):  # by cuSOLVER and cuDSS
        np.testing.assert_allclose(found, before * 2.0**-700, rtol=1e-6)
    else:
        np.testing.assert_array_equal(found, before * 2.0**-700)
    M.update(backend.csr(A))
    np.testing.assert_array_equal(backend.host(M @ r), before)


def assert_refused(backend, M, A, error, word):
    """An exception that names the argument; the operator is unchanged."""
    before = state(backend, M)
    with pytest.raises(error, match=word):
        M.update(A)
    assert state(backend, M) == before


GATHERED = ["forest", "original", "forest given", "permutation", "blocks of 2", "blocks of 4"]


@pytest.mark.parametrize("kind", GATHERED)
class TestKnownSlots:
    """From the second update on, bands are gathered from A's own arrays, where A is as it was."""

    @staticmethod
    def matrices(backend, symmetric, dtype=np.float64):
        A = dominant(dtype=dtype, symmetric=symmetric)
        weak = A.copy()  # with pivots of both signs
        weak.data = weak.data * np.linspace(-1, 1, A.nnz).astype(A.dtype)
        return [backend.csr(each) for each in (A, other_values(A), weak)]

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("restored", [False, True])
    @pytest.mark.parametrize(
        ("dtype", "stored"),
        graphs.quick(
            [
                (np.float64, np.float64),
                (np.float64, np.float32),
                (np.float32, np.float64),
                (np.complex128, np.complex64),
                (np.complex64, np.complex64),
            ]
        ),
    )
    def test_the_same_bits_as_with_checks_before(
        self, backend, kind, dtype, stored, restored, symmetric, monkeypatch
    ):
        A, B, C = self.matrices(backend, symmetric, dtype)
        states = []
        for checked in (False, True):
            if checked:
                monkeypatch.setattr(lf.Preconditioner, "_refreshed_in_place", lambda *_: None)
            M = KINDS[kind](A, dtype=stored)
            M = pickle.loads(pickle.dumps(M)) if restored else M
            for values in (B, C, B, A):
                M.update(values)
                states.append((state(backend, M), M._part.weights, M.repairs))
        assert states[:4] == states[4:]

    @pytest.mark.parametrize("stored", graphs.quick([np.float64, np.float32]))
    @pytest.mark.parametrize("restored", [False, True])
    def test_the_checked_path_is_left(self, backend, kind, stored, restored, monkeypatch):
        A, B, _ = self.matrices(backend, True)
        M = KINDS[kind](A, dtype=stored)
        M = pickle.loads(pickle.dumps(M)) if restored else M
        M.update(B)
        monkeypatch.setattr(lf.Preconditioner, "_refreshed", None)
        M.update(A)

    def test_what_is_refused_afterwards(self, backend, kind):
        A, B, _ = self.matrices(backend, True)
        M = KINDS[kind](A)
        M.update(B)
        M.update(A)
        moved, infinite = A.copy(), A.copy()
        moved.indices[-1] -= 1
        infinite.data[-1] = np.inf
        assert_refused(backend, M, moved, ValueError, "pattern")
        assert_refused(backend, M, infinite, ValueError, "finite")
        assert_refused(backend, M, A.tocsc(), ValueError, "format")

    def test_entries_in_another_order(self, backend, kind):
        """They are sorted: slots of the sorted entries are of no use."""
        A = dominant()
        mirrored = A.copy()
        for row in range(SIZE):
            slots = slice(A.indptr[row], A.indptr[row + 1])
            mirrored.indices[slots] = A.indices[slots][::-1]
            mirrored.data[slots] = A.data[slots][::-1]
        mirrored.has_sorted_indices = False
        mirrored = backend.csr(mirrored)
        M = KINDS[kind](mirrored)
        M.update(mirrored)
        assert M._slots is None


@pytest.mark.parametrize("kind", [graphs.slow(kind) if kind in COMPILED_LONG else kind for kind in GATHERED])
def test_numbers_that_the_stored_type_cannot_hold_afterwards(backend, kind):
    """They are scaled, as in the first update, whatever was begun with them."""
    A, B, _ = TestKnownSlots.matrices(backend, True)
    M, r = KINDS[kind](A, dtype=np.float32), backend.array(np.ones(SIZE))
    M.update(B)
    M.update(A)
    before = backend.host(M @ r)
    M.update(A * 2.0**700)
    np.testing.assert_array_equal(backend.host(M @ r), before * 2.0**-700)


class TestDefiniteness:
    def test_it_is_tested_again(self, backend):
        A = sp.csr_array(np.eye(20) + 0.4 * (np.eye(20, k=1) + np.eye(20, k=-1)))
        B = A.copy()
        B.data[A.data == 0.4] = 0.9
        M = lf.tridiagonal(backend.csr(A))
        assert "clipped" not in str(M)
        M.update(backend.csr(B))
        assert "clipped" in str(M)
        dense = backend.host(M @ backend.array(np.eye(20)))
        assert np.linalg.eigvalsh(dense).min() > 0
        M.update(backend.csr(A))
        assert "clipped" not in str(M)

    @pytest.mark.parametrize("make", [lf.tridiagonal, lf.block_tridiagonal])
    def test_sweeps_are_prepared_once(self, backend, make, monkeypatch):
        """Also where couplings are clipped again: for the clipped bands alone."""
        A = backend.csr(sp.csr_array(np.eye(20) + 0.9 * (np.eye(20, k=1) + np.eye(20, k=-1))))
        room, made = backend_of(A).tridiagonal.sweeps, []

        class Counted(room.Sweeps):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                made.append(self)

        M = make(A)
        M.update(A)
        monkeypatch.setattr(room, "Sweeps", Counted)
        M.update(A)
        assert M.repairs["made_definite"] == len(made) == 1

    def test_warnings_come_again(self, backend):
        A = sp.csr_array(np.diag([1.0, 2.0]))
        zero = A.copy()
        zero.data[1] = 0
        for make in (lf.jacobi, lf.tridiagonal):
            M = make(backend.csr(A))
            with pytest.warns(RuntimeWarning, match="1 .*pivots? |pivots perturbed: 1"):
                M.update(backend.csr(zero))


class TestPattern:
    """The 128-bit hash of the index arrays."""

    @staticmethod
    def words(backend, *arrays):
        arrays = [backend.array(array) for array in arrays]
        return backend.host(backend_of(arrays[0]).matrix.patterns.digest(arrays)).tolist()

    @given(
        numbers=st.lists(st.integers(0, 2**31 - 1), max_size=40),
        more=st.lists(st.integers(0, 2**31 - 1), max_size=10),
    )
    def test_it_is_the_plain_sum(self, backend, numbers, more):
        arrays = [np.array(part, np.int32) for part in (numbers, more)]
        assert self.words(backend, *arrays) == plain_digest(numbers, more)
        assert self.words(backend, *(array.astype(np.int64) for array in arrays)) == plain_digest(
            numbers, more
        )

    @given(numbers=st.lists(st.integers(0, 2**62), max_size=20))
    def test_wide_numbers(self, backend, numbers):
        assert self.words(backend, np.array(numbers, np.int64)) == plain_digest(numbers)

    @pytest.mark.parametrize("size", [16383, 16384, 16385, 100_003])
    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    def test_more_than_a_chunk(self, backend, size, index_dtype):
        numbers = np.random.default_rng(size).integers(0, 2**31, size).astype(index_dtype)
        assert self.words(backend, numbers) == plain_digest(numbers.tolist())
        # A view that is not aligned for vectorized loads.
        shifted = backend.array(np.append(numbers[:1], numbers))[1:]
        assert self.words(backend, shifted) == plain_digest(numbers.tolist())

    def test_every_change_is_seen(self, backend):
        numbers = np.random.default_rng(0).integers(0, 100, 30).astype(np.int32)
        seen = {tuple(self.words(backend, numbers))}
        for i in range(30):
            for step in (1, -1, 7):
                changed = numbers.copy()
                changed[i] += step
                seen.add(tuple(self.words(backend, changed)))
        for i in range(29):
            swapped = numbers.copy()
            swapped[[i, i + 1]] = [1000 + i, 5000 + i]
            seen.add(tuple(self.words(backend, swapped)))
            swapped[[i, i + 1]] = [5000 + i, 1000 + i]
            seen.add(tuple(self.words(backend, swapped)))
        assert len(seen) == 1 + 90 + 58
        assert self.words(backend, numbers, numbers[:0]) != self.words(backend, numbers[:0], numbers)

    def test_words_look_random(self, backend):
        """Similar patterns have different digests, and half of the second word's bits are set on average."""
        words = [self.words(backend, np.array([0, 5, 10, 15, 20 + i], np.int32)) for i in range(400)]
        assert all(len(set(word)) == 400 for word in zip(*words))
        bits = np.array([[second >> bit & 1 for bit in range(64)] for _, second in words]).sum(axis=0)
        assert bits.min() > 140 and bits.max() < 260

    def test_what_a_pattern_is(self, backend):
        A = backend.csr(lf.matrices.poisson((5, 5)))
        pattern = pattern_digest(A)
        assert (pattern.form, pattern.dtype, pattern.shape, pattern.entries) == (
            "csr",
            "float64",
            (25, 25),
            A.nnz,
        )
        pattern.require_same(pattern_digest(3 * A))

    @pytest.mark.gpu
    def test_backends_agree(self, cuda):
        A = lf.matrices.aniso(2, 100)
        assert pattern_digest(A).words == pattern_digest(cuda.csr(A)).words


def mix64(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def halves_swapped(word):
    return (word << 32 | word >> 32) % 2**64


def plain_digest(*arrays):
    """The hash in Python's integers."""
    first_sum = second_sum = 0
    for number, array in enumerate(arrays, start=1):
        padded = list(array) + [0] * (-len(array) % 4)
        for group in range(len(padded) // 4):
            key = mix64((number * 0xC2B2AE3D27D4EB4F + group * 0x9E3779B97F4A7C15) % 2**64)
            pairs = padded[4 * group : 4 * group + 2], padded[4 * group + 2 : 4 * group + 4]
            a, b = ((x + (y << 32) + (y >> 32) * 0xAF251AF3B0F025B5) % 2**64 for x, y in pairs)
            high, low = divmod((a ^ key) * (b ^ halves_swapped(key)), 2**64)
            first_sum += low ^ high
            second_sum += mix64((low + halves_swapped(high)) % 2**64)
    return [first_sum % 2**64, second_sum % 2**64]
