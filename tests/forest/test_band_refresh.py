"""Bands from one pass over the user's own arrays: those of a checked matrix, and void for every other one."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr
from linforest_precond.graph.forest.bands import copy_bands
from linforest_precond.graph.forest.block_bands import copy_block_bands
from linforest_precond.precond.pattern_digest import pattern_digest
from linforest_precond.precond.tridiagonal.refresh import copy_values

BANDS = "lower", "diagonal", "upper"


def without_diagonal():
    A = graphs.random_graph(700, "unique")
    A.setdiag(0)
    A.eliminate_zeros()
    return A


MATRICES = {
    "grid": lambda: lf.matrices.aniso(2, 60),
    "no diagonal": without_diagonal,
    "empty rows": lambda: sp.csr_array(sp.block_diag([lf.matrices.poisson((9, 9)), np.zeros((700, 700))])),
    "no entries": lambda: sp.csr_array((5, 5)),
    # Rows that span several chunks of entries.
    "star": lambda: graphs.from_edges(5000, np.zeros(4999, int), np.arange(1, 5000), np.arange(1.0, 5000)),
    "dense": lambda: sp.csr_array(np.random.default_rng(2).uniform(1, 2, (90, 90)).round(1) + 1),
}


def forest_of(A, size):
    """A forest of vertices, or of blocks."""
    return lf.linear_forest(A) if size == 1 else lf.pipeline.block_tridiagonal_bands(A, size)[0]


def refreshed(A, forest):
    bands, report = copy_values((A.indptr, A.indices, A.data), forest)
    read = backend_of(A.data).forest.band_refresh.read_report
    return bands, read(report, A.data.dtype)


@pytest.mark.parametrize("size", [1, 2, graphs.slow(4)])
@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("name", MATRICES)
def test_bands_and_findings_of_a_checked_matrix(backend, name, dtype, index, size):
    A = backend.csr(graphs.with_types(sp.csr_array(MATRICES[name]()), dtype, index))
    forest = forest_of(A, size)
    if size == 1 and forest.slots is None:
        pytest.skip("the pattern is not symmetric")
    B = A.copy()
    B.data = B.data * backend.array(np.random.default_rng(1).uniform(0.5, 2, B.nnz)).astype(B.dtype)
    csr = as_csr(B)
    bands, found = refreshed(B, forest)
    wanted = copy_bands(csr, forest) if size == 1 else copy_block_bands(csr, forest)
    for band in BANDS:
        assert backend.host(getattr(bands, band)).tobytes() == backend.host(getattr(wanted, band)).tobytes()
    assert found.valid and found.digest == pattern_digest(A).words
    assert (found.total, found.adjacent) == (csr.total_weight, csr.adjacent_weight)
    wanted = 0 if csr.exponent is None else csr.exponent - np.finfo(B.dtype).minexp
    assert found.biased_exponent == wanted


@pytest.mark.parametrize("size", [1, 2])
def test_numbers_that_are_not_finite(backend, size):
    A = lf.matrices.poisson((60, 60))
    forest = forest_of(backend.csr(A), size)
    for place in (0, 2048, A.nnz - 1):
        for number in (np.nan, -np.inf):
            B = A.copy()
            B.data[place] = number
            B = backend.csr(B)
            copied = copy_values((B.indptr, B.indices, B.data), forest)
            if copied is not None:
                read = backend_of(B.data).forest.band_refresh.read_report
                assert not read(copied[1], B.data.dtype).valid


@pytest.mark.parametrize("size", [1, 2])
def test_index_arrays_of_any_contents(backend, size):
    """Nothing is followed unchecked; the report tells that the bands are void."""
    A = lf.matrices.poisson((60, 60))
    G = backend.csr(A)
    forest, words = forest_of(G, size), pattern_digest(G).words
    rng = np.random.default_rng(3)
    for far in (2, A.shape[0], 2**31 - 1):
        indptr, indices = A.indptr.copy(), A.indices.copy()
        (indptr if far == 2 else indices)[rng.integers(0, A.shape[0], 50)] += rng.integers(1, far, 50)
        for arrays in (
            (indptr, indices),
            (A.indptr, rng.integers(-(2**31), 2**31, A.nnz).astype(np.int32)),
            (rng.integers(-(2**31), 2**31, A.indptr.size).astype(np.int32), A.indices),
        ):
            copied = copy_values((*map(backend.array, arrays), G.data), forest)
            if copied is not None:
                found = backend_of(G.data).forest.band_refresh.read_report(copied[1], G.data.dtype)
                assert not found.valid or found.digest != words
