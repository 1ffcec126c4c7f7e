"""Bands from known slots, and what one pass finds in a matrix, whatever its arrays hold."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.backends.returns import ghost_code
from linforest_precond.graph.forest.bands import block_slots, copy_bands, copy_block_bands
from linforest_precond.graph.forest.pipeline import block_tridiagonal_bands
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.pattern_digest import pattern_digest

BANDS = "lower", "diagonal", "upper"


def without_diagonal():
    A = sp.csr_array(graphs.random_graph(700, "unique"))
    A.setdiag(0)
    A.eliminate_zeros()
    return A


MATRICES = {
    "grid": lambda: lf.matrices.aniso(2, 60),
    "no diagonal": without_diagonal,
    "empty rows": lambda: sp.csr_array(
        sp.block_diag([lf.matrices.poisson((9, 9)), sp.csr_array((700, 700))])
    ),
    "zeros": lambda: sp.csr_array(sp.block_diag([lf.matrices.poisson((9, 9)), np.zeros((700, 700))])),
    "one entry": lambda: sp.csr_array(([2.0], ([1], [1])), shape=(3, 3)),
    # A row that spans several chunks of entries, and whole chunks exactly.
    "star": lambda: graphs.from_edges(5000, np.zeros(4999, int), np.arange(1, 5000), np.arange(1.0, 5000)),
    "dense": lambda: sp.csr_array(np.random.default_rng(2).uniform(1, 2, (64, 64)).round(1)),
    "nonsymmetric": lambda: sp.csr_array(lf.matrices.poisson((40, 40)) + sp.eye_array(1600, k=3)),
}


def refreshed(A, slots):
    room = backend_of(A.data).forest.band_refresh
    report, bands = room.refresh(A.indptr, A.indices, A.data, slots)
    return bands, room.read_report(report, A.data.dtype)


def slots_of(csr, forest):
    room, index = backend_of(csr.data).forest.band_refresh, csr.indices.dtype
    return room.find_slots(csr, forest.neighbors.astype(index), forest.order.astype(index))


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("name", MATRICES)
def test_bands_and_findings_of_a_checked_matrix(backend, name, dtype, index):
    A = backend.csr(graphs.with_types(sp.csr_array(MATRICES[name]()), dtype, index))
    forest = lf.linear_forest(A)
    assert_refreshed(backend, A, slots_of(checked(A), forest), lambda csr: copy_bands(csr, forest))


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("block_size", [1, 2, 4])
@pytest.mark.parametrize("name", MATRICES)
def test_blocks_of_a_checked_matrix(backend, name, block_size, dtype, index):
    A = backend.csr(graphs.with_types(sp.csr_array(MATRICES[name]()), dtype, index))
    forest = block_tridiagonal_bands(A, block_size)[0]
    assert_refreshed(backend, A, block_slots(checked(A), forest), lambda csr: copy_block_bands(csr, forest))


def assert_refreshed(backend, A, slots, copied):
    """The same as from a checked matrix of A's pattern with other values, of which some are zeros."""
    B, rng = A.copy(), np.random.default_rng(1)
    factors = rng.uniform(0.5, 2, B.nnz) * rng.choice([0, -0.0, 1], B.nnz, p=[0.2, 0.1, 0.7])
    B.data = B.data * backend.array(factors).astype(B.dtype)
    csr = checked(B)
    bands, found = refreshed(B, slots)
    wanted = copied(csr)
    for own, band in zip(bands, BANDS):
        band = getattr(wanted, band)
        assert (own.dtype, own.shape) == (band.dtype, band.shape)
        assert backend.host(own).tobytes() == backend.host(band).tobytes()
    assert found.finite and found.digest == pattern_digest(A).words
    assert (found.total, found.adjacent) == (csr.total_weight, csr.adjacent_weight)
    wanted = 0 if csr.exponent is None else csr.exponent - np.finfo(B.dtype).minexp
    assert found.biased_exponent == wanted


def test_slots_of_ghosts(backend):
    """A ghost has the diagonal entry of its block's first vertex, 1 where that is 0 or not stored."""
    A = sp.csr_array(([4.0, -3, -2, 5, 7], [0, 1, 0, 1, 2], [0, 2, 4, 5, 5]), shape=(4, 4))
    A = graphs.with_types(A, index_dtype=np.int32)
    forest = block_tridiagonal_bands(backend.csr(A), 2)[0]
    assert backend.host(forest.members).tolist() == [0, 1, 2, -1, 3, -1]
    slots = block_slots(checked(backend.csr(A)), forest)
    lower, diagonal, upper = backend.host(slots.places)
    assert (lower == -1).all() and (upper == -1).all()
    stored, nothing = ghost_code(4), ghost_code(-1)
    assert diagonal.tolist() == [[[0, 1], [2, 3]], [[4, -1], [-1, stored]], [[-1, -1], [-1, nothing]]]
    assert nothing < -1 and ghost_code(stored) == 4 and ghost_code(nothing) == -1
    for own, ghost in ((7.0, 7.0), (-0.0, 1.0)):
        A.data[4] = own
        blocks = backend.host(refreshed(backend.csr(A), slots)[0][1])
        assert blocks.tolist() == [[[4, -3], [-2, 5]], [[own, 0], [0, ghost]], [[0, 0], [0, 1]]]


def test_arrays_that_are_not_aligned(backend):
    """Vectorized loads need aligned columns."""
    A = backend.csr(lf.matrices.aniso(2, 60))
    slots = slots_of(checked(A), lf.linear_forest(A))
    wanted = refreshed(A, slots)[1]
    room = backend_of(A.data).forest.band_refresh
    arrays = [backend.xp.concatenate([array[:1], array])[1:] for array in (A.indptr, A.indices, A.data)]
    assert room.read_report(room.refresh(*arrays, slots)[0], A.data.dtype) == wanted


def test_numbers_that_are_not_finite(backend):
    A = lf.matrices.poisson((60, 60))
    slots = slots_of(checked(backend.csr(A)), lf.linear_forest(backend.csr(A)))
    for place in (0, 2048, A.nnz - 1):
        for number in (np.nan, -np.inf):
            B = A.copy()
            B.data[place] = number
            assert not refreshed(backend.csr(B), slots)[1].finite


def test_index_arrays_of_any_contents(backend):
    """None is followed; the digest tells that the pattern is another one."""
    A = lf.matrices.poisson((60, 60))
    G = backend.csr(A)
    slots, words = slots_of(checked(G), lf.linear_forest(G)), pattern_digest(G).words
    room, rng = backend_of(G.data).forest.band_refresh, np.random.default_rng(3)
    for indptr, indices in (
        (A.indptr, rng.integers(-(2**31), 2**31, A.nnz).astype(np.int32)),
        (rng.integers(-(2**31), 2**31, A.indptr.size).astype(np.int32), A.indices),
    ):
        report, _ = room.refresh(backend.array(indptr), backend.array(indices), G.data, slots)
        assert room.read_report(report, G.data.dtype).digest != words
