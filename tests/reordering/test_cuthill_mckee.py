"""Cuthill-McKee orders against the reference; the same for all methods, backends and runs."""

import functools

import numpy as np
import ordering_oracles as oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real, manifest, real_matrices, skip_or_fail
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf
from linforest_precond.backends import backend_of, cpu
from linforest_precond.matrix.doors import as_pattern

DTYPES = (np.float64, np.float32, np.complex128)


def methods(backend):
    """All; but in a quick run not the CPU's batches, which compile for long and have tests of their own."""
    found = backend_of(backend.xp.empty(0)).reordering.cuthill_mckee.METHODS
    is_quick = backend.name == "cpu" and not graphs.draw_all_types
    return ("auto", *(method for method in found if not (is_quick and method == "batch")))


def orders(backend, A, **options):
    """The order by every method of the backend, on the host."""
    A = backend.csr(A)
    for method in methods(backend):
        order = lf.graph.cuthill_mckee(A, method=method, **options)
        assert isinstance(order, backend.xp.ndarray) and order.dtype == np.int32
        yield method, backend.host(order)


def assert_all_equal(backend, A, expected, **options):
    for method, order in orders(backend, A, **options):
        np.testing.assert_array_equal(order, expected, err_msg=method)


def serial(A, start=None):
    """The order by the CPU's serial method, which is tested against the reference here."""
    return lf.graph.cuthill_mckee(A, i_start=start, method="serial")


class TestAgainstTheTextbook:
    @given(A=graphs.matrices(dtypes=DTYPES), data=st.data())
    def test_small_graphs(self, backend, A, data):
        around = oracles.neighbors(A)
        start = data.draw(st.sampled_from([None, *range(A.shape[0])]))
        assert_all_equal(backend, A, oracles.cuthill_mckee(around, start), i_start=start)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_random_graphs(self, backend, seed, symmetric):
        A = graphs.random_graph(700, seed=seed, mean_degree=seed + 1, symmetric=symmetric)
        around = oracles.neighbors(A)
        for start in (None, 123 * seed):
            assert_all_equal(backend, A, oracles.cuthill_mckee(around, start), i_start=start)

    def test_components(self, backend):
        A = graphs.packed_small_graphs(300)
        assert_all_equal(backend, A, oracles.cuthill_mckee(oracles.neighbors(A)))

    def test_hubs(self, backend):
        """Children of many degrees, more than are insertion-sorted or fit into a block."""
        A = graphs.rmat_graph(11, edge_factor=6)
        assert_all_equal(backend, A, oracles.cuthill_mckee(oracles.neighbors(A)))

    def test_real_matrices(self, backend, small_real_name):
        A = load_real(small_real_name)
        assert_all_equal(backend, A, oracles.cuthill_mckee(oracles.neighbors(A)))

    def test_by_hand(self, backend):
        """Degrees decide among children, then indices; the search leaves the middle of the path 2-0-1-3."""
        A = graphs.from_edges(4, [0, 0, 1], [1, 2, 3], 1.0)
        assert_all_equal(backend, A, [3, 1, 0, 2])
        assert_all_equal(backend, A, [0, 2, 1, 3], i_start=0)


SHAPES = {
    "path": lambda: graphs.path_graph(3000),
    "shuffled path": lambda: graphs.shuffled(graphs.path_graph(3000)),
    "star": lambda: graphs.star_graph(3000),
    "cliques": lambda: graphs.two_cliques_joined(90),
    "grid": lambda: graphs.grid_graph(60, 70),
    "shuffled cube": lambda: graphs.shuffled(graphs.grid_graph(20, 20, 20)),
    "triangulation": lambda: lf.matrices.delaunay(5000),
    "rmat": lambda: graphs.rmat_graph(12),
    "tiny components": lambda: graphs.packed_small_graphs(3000),
    "isolated vertices": lambda: sp.csr_array((2000, 2000)),
    "stars of stars": lambda: graphs.from_edges(4161, np.arange(1, 4161) // 64, np.arange(1, 4161), 1.0),
}
LARGE = {
    "path": lambda: graphs.path_graph(10**6),
    "star": lambda: graphs.star_graph(10**6),
    "complete": lambda: graphs.two_cliques_joined(1500),
    "tiny components": lambda: graphs.packed_small_graphs(10**5),
    "grid": lambda: graphs.grid_graph(1000, 1000),
    "shuffled cube": lambda: graphs.shuffled(graphs.grid_graph(100, 100, 100)),
    "triangulation": lambda: lf.matrices.delaunay(2**20),
    "rmat": lambda: graphs.rmat_graph(18),
}


@functools.cache
def shape(name):
    return SHAPES[name]()


@functools.cache
def large(name):
    return LARGE[name]()


class TestOneOrder:
    @pytest.mark.parametrize("name", SHAPES)
    def test_of_all_methods(self, backend, name):
        A = shape(name)
        for start in (None, A.shape[0] // 3):
            assert_all_equal(backend, A, serial(A, start), i_start=start)

    @pytest.mark.parametrize("name", ["shuffled cube", "rmat", "tiny components"])
    def test_of_many_runs(self, backend, name):
        A = backend.csr(shape(name))
        for method in methods(backend)[1:]:
            first = lf.graph.cuthill_mckee(A, method=method)
            for _ in range(20):
                assert bool((lf.graph.cuthill_mckee(A, method=method) == first).all())

    @pytest.mark.slow
    @pytest.mark.parametrize("name", LARGE)
    def test_of_large_graphs(self, backend, name):
        A = large(name)
        for start in (None, A.shape[0] // 3):
            assert_all_equal(backend, A, serial(A, start), i_start=start)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["shuffled cube", "rmat"])
    def test_of_a_hundred_runs(self, backend, name):
        A = backend.csr(large(name) if backend.name == "cuda" else shape(name))
        for method in methods(backend)[1:]:
            first = lf.graph.cuthill_mckee(A, method=method)
            for _ in range(100):
                assert bool((lf.graph.cuthill_mckee(A, method=method) == first).all())

    def test_of_real_matrices(self, backend, real_name):
        A = load_real(real_name)
        assert_all_equal(backend, A, serial(A))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["grid", "triangulation"])
    def test_of_the_textbook_on_large_graphs(self, name):
        A = shape(name)
        np.testing.assert_array_equal(serial(A), oracles.cuthill_mckee(oracles.neighbors(A)))


class TestPatterns:
    def test_index_types(self, backend):
        """64-bit pointers run as such; vertices are 32-bit."""
        A = graphs.with_types(shape("grid"), index_dtype=np.int64)
        pattern = as_pattern(backend.csr(A))
        assert pattern.indptr.dtype == np.int64 and pattern.indices.dtype == np.int32
        assert_all_equal(backend, A, serial(shape("grid")))

    def test_values_do_not_matter(self, backend):
        A = graphs.random_graph(300)
        expected = serial(A)
        A.data[::7] = np.nan
        A.data[1::7] = 0.0
        assert_all_equal(backend, A, expected)
        assert_all_equal(backend, graphs.with_types(A, np.complex64), expected)

    def test_the_diagonal_does_not_count(self, backend):
        A = graphs.random_graph(300)
        B = sp.csr_array(A - sp.diags_array(A.diagonal() * (np.arange(300) % 3 > 0)))
        B.eliminate_zeros()
        assert B.nnz < A.nnz
        assert_all_equal(backend, B, serial(A))

    def test_unsorted_indices_and_duplicates(self, backend):
        A = graphs.random_graph(200)
        rng = np.random.default_rng(0)
        rows = np.repeat(np.arange(200), np.diff(A.indptr))
        again = rng.integers(0, A.nnz, 300)
        rows, cols = np.append(rows, rows[again]), np.append(A.indices, A.indices[again])
        mixed = rng.permutation(rows.size)
        rows, cols = rows[mixed], cols[mixed]
        by_row = np.argsort(rows, kind="stable")
        indptr = np.searchsorted(rows[by_row], np.arange(201))
        B = graphs.make_csr(np.ones(rows.size), cols[by_row], indptr.astype(cols.dtype), 200)
        before = B.indices.copy()
        assert_all_equal(backend, B, serial(A))
        np.testing.assert_array_equal(B.indices, before)

    @pytest.mark.parametrize("kind", ["csc", "coo", "dense"])
    def test_formats(self, backend, kind):
        A = graphs.random_graph(150, symmetric=False)
        B = backend.csr(A)
        B = B.toarray() if kind == "dense" else B.asformat(kind)
        np.testing.assert_array_equal(backend.host(lf.graph.cuthill_mckee(B)), serial(A))

    def test_nonsymmetric_patterns(self, backend):
        A = graphs.random_graph(200, symmetric=False)
        assert_all_equal(backend, A, serial(sp.csr_array(A + A.T)))
        with pytest.raises(ValueError, match="symmetric_mode=False"):
            lf.graph.reverse_cuthill_mckee(backend.csr(A), symmetric_mode=True)

    def test_symmetric_mode(self, backend):
        """Values need not be symmetric."""
        A = graphs.random_graph(200)
        A.data *= np.random.default_rng(0).uniform(1, 2, A.nnz)
        order = lf.graph.reverse_cuthill_mckee(backend.csr(A), True)
        np.testing.assert_array_equal(backend.host(order)[::-1], serial(A))

    @pytest.mark.parametrize("size", [0, 1, 2])
    def test_without_entries(self, backend, size):
        assert_all_equal(backend, sp.csr_array((size, size)), np.arange(size))


class TestArguments:
    def test_methods(self, backend):
        A = backend.csr(graphs.path_graph(5))
        with pytest.raises(ValueError, match='method on .* must be "auto"'):
            lf.graph.reverse_cuthill_mckee(A, method="fast")

    @pytest.mark.gpu
    def test_serial_is_for_the_cpu(self, cuda):
        with pytest.raises(ValueError, match="on cuda"):
            lf.graph.reverse_cuthill_mckee(cuda.csr(graphs.path_graph(5)), method="serial")

    @pytest.mark.parametrize("wrong", [-1, 5, 2**40])
    def test_start_outside(self, backend, wrong):
        with pytest.raises(ValueError, match=r"i_start must be a vertex of A, in \[0, 5\)"):
            lf.graph.reverse_cuthill_mckee(backend.csr(graphs.path_graph(5)), i_start=wrong)

    def test_start_of_another_type(self, backend):
        with pytest.raises(TypeError, match="i_start must be an integer"):
            lf.graph.reverse_cuthill_mckee(backend.csr(graphs.path_graph(5)), i_start=1.5)
        order = lf.graph.cuthill_mckee(backend.csr(graphs.path_graph(5)), i_start=np.int64(4))
        assert order.tolist() == [4, 3, 2, 1, 0]

    def test_not_square(self):
        with pytest.raises(ValueError, match="square"):
            lf.graph.reverse_cuthill_mckee(sp.csr_array((3, 4)))

    def test_broken_indices(self, backend):
        A = graphs.path_graph(5)
        A.indices[3] = 17
        with pytest.raises(ValueError, match="A.indices must lie in"):
            lf.graph.reverse_cuthill_mckee(backend.csr(A))
        A = graphs.path_graph(5)
        A.indptr[2] = 0
        with pytest.raises(ValueError, match="A.indptr must rise"):
            lf.graph.reverse_cuthill_mckee(backend.csr(A))


def test_reversed(backend):
    A = backend.csr(shape("grid"))
    forward, backward = lf.graph.cuthill_mckee(A, i_start=7), lf.graph.reverse_cuthill_mckee(A, i_start=7)
    np.testing.assert_array_equal(backend.host(backward), backend.host(forward)[::-1])
    assert backward.flags.c_contiguous


def test_bandwidth_beside_scipy():
    """The median over the real matrices is at most 5 % above SciPy's."""
    names = [name for name in real_matrices() if manifest()[name][0] <= 100_000]
    if not names:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    ratios = []
    for name in names:
        A = load_real(name)
        ours = lf.graph.bandwidth(A, lf.graph.reverse_cuthill_mckee(A))
        theirs = lf.graph.bandwidth(A, csgraph.reverse_cuthill_mckee(sp.csr_matrix(A)))
        ratios.append(ours / theirs if theirs else 1.0)
    assert np.median(ratios) <= 1.05


class TestPseudoPeripheralNode:
    @given(A=graphs.matrices(dtypes=DTYPES), data=st.data())
    def test_against_the_textbook(self, backend, A, data):
        if A.shape[0] == 0:
            return
        around = oracles.neighbors(A)
        start = data.draw(st.integers(0, A.shape[0] - 1))
        node, order, level = lf.graph.pseudo_peripheral_node(backend.csr(A), start)
        assert (node, backend.host(level).tolist()) == oracles.pseudo_peripheral(around, start)
        reached = [v for v in range(A.shape[0]) if level[v] >= 0]
        assert backend.host(order).tolist() == sorted(reached, key=lambda v: (int(level[v]), v))

    def test_default_start(self, backend):
        """The lowest-degree vertex that has a neighbour: not the isolated vertex 0."""
        A = sp.csr_array(sp.block_diag([sp.csr_array((1, 1)), graphs.path_graph(6)]))
        node, order, level = lf.graph.pseudo_peripheral_node(backend.csr(A))
        assert node == 6 and order.tolist() == [6, 5, 4, 3, 2, 1] and int(level[0]) == -1
        assert order.dtype == np.int32 and level.dtype == np.int32

    def test_starts_the_order(self, backend):
        A = backend.csr(shape("triangulation"))
        node, _, _ = lf.graph.pseudo_peripheral_node(A)
        assert int(lf.graph.cuthill_mckee(A)[0]) == node

    def test_no_vertices(self, backend):
        with pytest.raises(ValueError, match="at least one row"):
            lf.graph.pseudo_peripheral_node(backend.csr(sp.csr_array((0, 0))))


def test_cpu_offers_all_methods():
    assert cpu.reordering.cuthill_mckee.METHODS == ("serial", "leveled", "batch", "unordered")
