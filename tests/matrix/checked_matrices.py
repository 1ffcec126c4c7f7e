"""Matrices for tests of the gate: made in every format, copied to a backend, read back."""

import numpy as np
import oracles
import scipy.sparse as sp
from conftest import CPU

import linforest_precond as lf

ARRAYS = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
FORMATS = ("csr", "csc", "coo")  # those of both libraries that keep entries as the user stored them
KINDS = ("array", "matrix")
REALS = (np.float32, np.float64)
DENSE = np.array(
    [
        [4.0, -1.0, 0.0, 0.0, 2.5],
        [-1.0, 4.0, 3.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 7.0, 0.0],
        [0.0, 0.0, 0.0, 5.0, -6.0],
        [2.5, 0.0, 0.0, 1.0, 8.0],
    ]
)


def put(backend, A):
    """A sparse matrix or dense array on the backend: same format and kind, same arrays, nothing checked."""
    if backend is CPU:
        return A
    if isinstance(A, np.ndarray):
        return backend.array(A)
    import cupyx.scipy.sparse as cusparse

    kind = type(A).__name__
    make = getattr(cusparse, kind, None) or getattr(cusparse, kind.replace("array", "matrix"))
    if A.format == "dia":
        return make((backend.array(A.data), backend.array(A.offsets)), shape=A.shape)
    B = make(A.shape)
    for name in ARRAYS[A.format]:
        setattr(B, name, backend.array(getattr(A, name)))
    return B


def make(D, form, kind="array"):
    """A dense array as a SciPy matrix of any format, or as it is."""
    return D if form == "dense" else getattr(sp, f"{form}_{kind}")(D)


def with_arrays(A, **arrays):
    """A copy of A with some of its arrays replaced, unchecked."""
    A = A.copy()
    for name, array in arrays.items():
        setattr(A, name, array)
    return A


def with_index_type(A, index_dtype):
    """A copy of A with this index type, which constructors may narrow."""
    if A.format == "coo":
        A = A.copy()
        A.coords = tuple(array.astype(index_dtype) for array in A.coords)
        return A
    return with_arrays(A, indices=A.indices.astype(index_dtype), indptr=A.indptr.astype(index_dtype))


def host(backend, record):
    """indptr, indices and values of a CSR or Graph."""
    values = record.data if hasattr(record, "data") else record.values
    return tuple(backend.host(array) for array in (record.indptr, record.indices, values))


def rows_of(indptr):
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def dense(backend, record):
    """The record as a dense array; its columns must be sorted."""
    indptr, indices, values = host(backend, record)
    rows = rows_of(indptr)
    assert indptr[0] == 0 and indptr[-1] == indices.size == values.size
    assert np.all((np.diff(indices) > 0) | (np.diff(rows) > 0))
    D = np.zeros((record.n, record.n), values.dtype)
    D[rows, indices] = values
    return D


def edges(backend, graph):
    """{(lo, hi): weight} of a Graph, which must store every edge in both directions with the same weight."""
    indptr, indices, values = host(backend, graph)
    both = {
        (i, j): abs(value)
        for i, j, value in zip(rows_of(indptr).tolist(), indices.tolist(), values, strict=True)
        if i != j and value != 0
    }
    assert all(both.get((j, i)) == weight for (i, j), weight in both.items())
    return {(i, j): weight for (i, j), weight in both.items() if i < j}


def assert_same_bits(one, other):
    assert one.dtype == other.dtype and one.shape == other.shape
    np.testing.assert_array_equal(one, other)
    assert one.tobytes() == other.tobytes()


def assert_chain_works(backend, A):
    """From a valid matrix to its bands, without an exception."""
    forest, bands = lf.pipeline.tridiagonal_bands(put(backend, A))
    arrays = (backend.host(array) for array in (forest.neighbors, forest.path_id, forest.position))
    oracles.assert_is_linear_forest(sp.coo_array(A), *arrays)
    assert bands.lower.size == bands.diagonal.size == bands.upper.size == A.shape[0]
    return forest, bands


def with_duplicates(form, rows, columns, values, size):
    """A matrix whose entries are stored in the given order, as far as the format allows."""
    rows, columns = np.asarray(rows, dtype=np.int32), np.asarray(columns, dtype=np.int32)
    if form == "coo":
        A = sp.coo_array((np.ones(values.size), (rows, columns)), shape=(size, size))
        return with_arrays(A, data=values)
    major, minor = (rows, columns) if form == "csr" else (columns, rows)
    order = np.argsort(major, kind="stable")
    indptr = np.searchsorted(major[order], np.arange(size + 1)).astype(np.int32)
    A = getattr(sp, f"{form}_array")((size, size))
    return with_arrays(A, data=values[order], indices=minor[order], indptr=indptr)


def of_many_sizes(rng, count, dtype):
    """Numbers whose sum depends on the order."""
    numbers = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 9, count)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.permutation(numbers)
    return numbers.astype(dtype)


def larger_part(values):
    return np.maximum(abs(values.real), abs(values.imag)).astype(np.float64)


def is_hermitian_to_rounding(A, stored=None):
    """The rule for a dense matrix and the flags of its stored entries, by default those that are not 0."""
    eps, sizes = np.finfo(A.dtype).eps, larger_part(A)
    if ((A != 0) & ~(A != 0 if stored is None else stored).T).any():
        return False
    roots, largest = np.sqrt(np.diag(sizes)), sizes.max(axis=1, initial=0)
    scales = np.outer(roots, roots)
    limited = np.where(roots == 0, largest, np.inf)
    scales = np.where(scales > 0, scales, np.minimum.outer(limited, limited))
    wide = A.astype(np.complex128)
    distances = larger_part(wide - wide.conj().T)
    return bool((distances <= 8 * float(eps) * np.maximum(np.maximum(sizes, sizes.T), scales)).all())
