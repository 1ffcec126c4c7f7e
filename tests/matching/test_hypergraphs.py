"""Coarsening of hypergraphs, against plain Python."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from coarsening_oracles import assert_are_aggregates, assert_is_coarse_matrix
from hypergraph_oracles import coarse_hypergraph, nets_of, shared_net_weights
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.graph.matching import hypergraphs
from linforest_precond.matrix.rectangles import checked_rectangle


def make_csr(data, indices, indptr, shape):
    H = sp.csr_array((data, indices, indptr), shape=shape)
    H.indices, H.indptr = indices, np.asarray(indptr, indices.dtype)  # the constructor may narrow them
    return H


def incidence(nets, vertices, pins, seed=0, dtype=np.float64, index=np.int32):
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, max(nets * vertices, 1), pins if nets * vertices else 0))
    H = sp.csr_array((np.ones(places.size), np.divmod(places, max(vertices, 1))), shape=(nets, vertices))
    H.data = rng.integers(-3, 4, H.nnz).astype(dtype)  # explicit zeros, too
    return make_csr(H.data, H.indices.astype(index), H.indptr.astype(index), H.shape)


def dense(H):
    """Its rectangle has 64-bit indices, so the kernels are compiled again."""
    return H.toarray()


def assert_coarsened(backend, H, weights=None, max_net_size=256, seed=0, mate=None, **options):
    B = backend.csr(H)
    given = {} if weights is None else {"weights": backend.array(weights)}
    coarse = lf.graph.coarsen(B, mate, seed=seed, max_net_size=max_net_size, **given, **options)
    weights = np.ones(H.shape[0]) if weights is None else weights
    wanted, left, numbers = coarse_hypergraph(nets_of(H), H.shape[1], weights, max_net_size, seed, mate)
    aggregates = backend.host(coarse.aggregates)
    assert aggregates.tolist() == wanted and backend.host(coarse.nets).tolist() == numbers
    assert_are_aggregates(aggregates, coarse.n)
    assert type(coarse.A) is type(coarse.P) is type(B) and coarse.A.shape == (len(numbers), coarse.n)
    arrays = [backend.host(array) for array in (coarse.A.indptr, coarse.A.indices, coarse.A.data)]
    assert_is_coarse_matrix(*arrays, left, len(numbers))
    assert (coarse.fine_nets, coarse.fine_nnz) == (H.shape[0], H.nnz)
    return coarse


class TestHypergraphs:
    @given(data=st.data(), seed=st.integers(0, 99))
    def test_small_ones(self, backend, data, seed):
        shape = data.draw(st.tuples(st.integers(0, 12), st.integers(0, 12)))
        H = incidence(*shape, data.draw(st.integers(0, shape[0] * shape[1])), seed)
        weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 7.0], shape[0])
        limit = data.draw(st.sampled_from([2, 3, 256]))
        assert_coarsened(backend, H, weights, limit, seed, hypergraph=True)

    @pytest.mark.parametrize(
        ("nets", "vertices", "pins"),
        [(1500, 2000, 9000), (3000, 700, 9000), (40, 1200, 3600), graphs.slow(40, 3000, 9000)],
    )
    def test_more_than_a_block(self, backend, nets, vertices, pins):
        coarse = assert_coarsened(backend, incidence(nets, vertices, pins), seed=3)
        assert coarse.n < 0.55 * vertices

    @pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, dtype, index):
        coarse = assert_coarsened(backend, incidence(200, 300, 900, 1, dtype, index))
        assert coarse.A.dtype == dtype and coarse.aggregates.dtype == index

    def test_large_nets_do_not_weigh(self, backend):
        H = sp.csr_array(sp.vstack([incidence(300, 500, 1200), np.ones((2, 500))]))
        coarse = assert_coarsened(backend, H)
        assert backend.host(coarse.nets)[-2:].tolist() == [300, 301]
        assert_coarsened(backend, H, max_net_size=500)

    def test_given_pairs(self, backend):
        H = incidence(30, 9, 100)
        assert_coarsened(backend, H, mate=[1, 0, 3, 2, -1, 8, -1, -1, 5])

    def test_again(self, backend):
        """A coarse hypergraph is one; its matrix may be square."""
        H = incidence(400, 900, 2500, 5)
        for _ in range(3):
            coarse = assert_coarsened(backend, H, hypergraph=True)
            A = coarse.A.get() if hasattr(coarse.A, "get") else coarse.A
            H = make_csr(A.data, A.indices, A.indptr, A.shape)
        assert coarse.n < 200

    def test_weights_are_symmetric(self):
        H = incidence(100, 60, 900)
        weights = np.random.default_rng(0).random(100)
        graph = hypergraphs.shared_nets(checked_rectangle(H), weights, 256)
        W = sp.csr_array((graph.values, graph.indices, graph.indptr), shape=(60, 60)).tolil()
        edges = shared_net_weights(nets_of(H), weights, 256)
        assert {edge: W[edge] for edge in edges} == edges == {edge: W[edge[::-1]] for edge in edges}

    @pytest.mark.parametrize("convert", graphs.quick([sp.csc_array, sp.coo_array, sp.lil_matrix, dense], 3))
    def test_formats(self, convert):
        H = incidence(50, 80, 300)
        H.eliminate_zeros()
        coarse, wanted = lf.graph.coarsen(convert(H)), lf.graph.coarsen(H)
        np.testing.assert_array_equal(coarse.aggregates, wanted.aggregates)
        np.testing.assert_array_equal(coarse.A.toarray(), wanted.A.toarray())
        assert type(coarse.A) is (type(convert(H)) if sp.issparse(convert(H)) else sp.csr_array)

    def test_a_dense_rectangle_has_the_same_entries(self):
        H = incidence(50, 80, 300)
        H.eliminate_zeros()
        arrays = H.indptr, H.indices, H.data
        for wanted, found in zip(arrays, checked_rectangle(dense(H)).arrays, strict=True):
            np.testing.assert_array_equal(found, wanted)

    def test_unsorted_rows_and_duplicates(self, backend):
        H = make_csr(np.array([1.0, 2, 4, 8]), np.array([2, 0, 2, 1], np.int32), [0, 3, 4], (2, 3))
        coarse = lf.graph.coarsen(backend.csr(H), [-1, -1, -1])
        assert backend.host(coarse.A.toarray()).tolist() == [[2.0, 0.0, 5.0]]

    def test_print(self, backend):
        H = backend.csr(sp.csr_array(np.array([[1.0, 1, 0], [0, 1, 1]])))
        assert str(lf.graph.coarsen(H, [1, 0, -1])).splitlines() == [
            "hypergraph coarsening",
            "  vertices    3 to 1",
            "  nets        2 to 0",
            "  pins        4 to 0",
            "  aggregates  3.00 vertices on average, 3 at most",
        ]


class TestBadHypergraphs:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"weights": np.ones(3)}, ValueError, "weights must have one number for each of A's 2 rows"),
            ({"weights": np.array([1.0, -1.0])}, ValueError, "weights must be finite and not negative"),
            ({"max_net_size": 1}, ValueError, "max_net_size must be at least 2"),
            ({"matching": [1, 0]}, ValueError, "each of A's 3 columns"),
            ({"matching": [1, 2, 0]}, ValueError, "matching must name as mates"),
            ({"hypergraph": "yes"}, TypeError, "hypergraph must be True or False"),
            ({"hypergraph": False, "matching": [1, 0, -1]}, ValueError, "A must be square"),
        ],
    )
    def test_options(self, backend, options, error, message):
        H = backend.csr(sp.csr_array(np.ones((2, 3))))
        given = {
            name: backend.array(value) if isinstance(value, np.ndarray) else value
            for name, value in options.items()
        }
        with pytest.raises(error, match=message):
            lf.graph.coarsen(H, **given)

    def test_options_of_hypergraphs(self, backend):
        A = backend.csr(graphs.path_graph(3))
        with pytest.raises(TypeError, match="matching must be given"):
            lf.graph.coarsen(A)
        with pytest.raises(ValueError, match="pass hypergraph=True"):
            lf.graph.coarsen(A, [1, 0, -1], max_net_size=5)

    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
    def test_broken_arrays(self, kind):
        for place in (7, -1, 2):
            H = kind(np.array([[1.0, 2, 3], [0, 0, 1]]))
            for name in ("row", "col") if kind is sp.coo_array else ("indices",):
                broken = H.copy()
                index = np.array(getattr(broken, name))
                index[0] = place
                if kind is sp.coo_array:
                    broken.coords = (index, broken.col) if name == "row" else (broken.row, index)
                else:
                    broken.indices = index
                if place != 2 or (name == "row" or kind is sp.csc_array):
                    with pytest.raises(ValueError, match="must lie in"):
                        lf.graph.coarsen(broken)

    def test_wrong_pointers_and_numbers(self):
        H = sp.csr_array(np.ones((2, 3)))
        H.indptr = np.array([0, 4, 2], np.int32)
        with pytest.raises(ValueError, match="indptr must rise"):
            lf.graph.coarsen(H)
        with pytest.raises(ValueError, match="A must be finite"):
            lf.graph.coarsen(np.array([[1.0, np.nan, 2.0]]))
        with pytest.raises(ValueError, match="the coarse matrix must be finite"):
            lf.graph.coarsen(np.full((1, 3), 1e308), [1, 0, -1], weights=[0.0])
