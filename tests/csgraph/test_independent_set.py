"""Maximal independent sets against the sequential greedy set, and their checker against the definition."""

import graph_cases as cases
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
import vertex_oracles as oracles
from conftest import CPU, load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends import cuda as cuda_backend
from linforest_precond.backends.cuda import runtime

mis = lf.graph.maximal_independent_set
DTYPES = (np.float64,)


def assert_is_mis(backend, A, members, k):
    assert isinstance(members, backend.xp.ndarray) and members.dtype == np.int32
    assert lf.graph.is_maximal_independent_set(A, members, k)


class TestSet:
    @given(A=graphs.matrices(dtypes=DTYPES), k=st.integers(1, 4), seed=st.integers(-1, 2**64))
    def test_against_the_sequential_program(self, backend, A, k, seed):
        members = mis(backend.csr(A), k, seed)
        expected = oracles.independent_set(ordering_oracles.neighbors(A), k, seed % 2**64)
        assert backend.host(members).tolist() == expected
        assert_is_mis(backend, backend.csr(A), members, k)

    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("name", cases.SMALL)
    def test_larger_graphs(self, backend, name, k):
        A = cases.SMALL[name]()
        expected = oracles.independent_set(ordering_oracles.neighbors(A), k, 5)
        for B in (A, graphs.with_types(A, index_dtype=np.int64)):
            members = mis(backend.csr(B), k, seed=5)
            np.testing.assert_array_equal(backend.host(members), expected)

    @pytest.mark.parametrize("make", [lambda: graphs.grid_graph(30, 35, 40), lambda: graphs.rmat_graph(15)])
    def test_many_threads(self, backend, make):
        """Enough vertices for all threads of the CPU and for several rounds."""
        A = graphs.shuffled(make())
        expected = oracles.independent_set(ordering_oracles.neighbors(A), 1, 0)
        for _ in range(10):
            np.testing.assert_array_equal(backend.host(mis(backend.csr(A))), expected)

    @pytest.mark.gpu
    @pytest.mark.parametrize("dense", [False, True])
    def test_worklists_of_two_steps(self, cuda, dense, monkeypatch):
        """Both ways for k = 2, on graphs of many blocks; a round has at most one grid barrier."""
        counted = []

        def watched(kernel, arguments, items):
            runtime.launch(kernel, arguments, items=items)
            blocks = min(runtime.resident_blocks(kernel), -(-items // runtime.BLOCK))
            counted.append(int(arguments[-1].view(np.uint32)[0]) // blocks)

        for A in (graphs.grid_graph(300, 280), graphs.shuffled(graphs.grid_graph(30, 35, 40))):
            B = A @ A if dense else A
            with monkeypatch.context() as patched:
                patched.setattr(cuda_backend.csgraph.independent_set, "launch", watched)
                found = cuda.host(mis(cuda.csr(B), 2))
            with monkeypatch.context() as patched:
                patched.setattr(cuda_backend.csgraph.independent_set, "LANE_ENTRIES", 0)
                np.testing.assert_array_equal(cuda.host(mis(cuda.csr(B), 2)), found)
            np.testing.assert_array_equal(mis(B, 2), found)
        assert len(counted) == 2 and max(counted) <= 40

    @pytest.mark.gpu
    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("name", cases.LONG_ROWS)
    def test_rows_in_many_pieces(self, cuda, name, k, monkeypatch):
        monkeypatch.setattr(cuda_backend.csgraph.independent_set, "PIECE", 32)
        monkeypatch.setattr(cuda_backend.csgraph.independent_set, "LANE_ENTRIES", 0)
        A = cases.SMALL[name]()
        np.testing.assert_array_equal(cuda.host(mis(cuda.csr(A), k)), mis(A, k))

    @pytest.mark.gpu
    @pytest.mark.parametrize("piece", [32, 256])
    @pytest.mark.parametrize("k", [2, 3])
    @pytest.mark.parametrize("name", ["star of stars", "cliques", "random"])
    def test_few_rounds(self, cuda, name, k, piece, monkeypatch):
        """A vertex within k steps of a member is excluded without further rounds."""
        module, launches = cuda_backend.csgraph.independent_set, []

        def watched(kernel, arguments, items):
            runtime.launch(kernel, arguments, items=items)
            launches.append((runtime.blocks_for(kernel, items), arguments[-1]))

        monkeypatch.setattr(module, "PIECE", piece)
        monkeypatch.setattr(module, "LANE_ENTRIES", 0)
        monkeypatch.setattr(module, "launch", watched)
        mis(cuda.csr(cases.SMALL[name]()), k)
        ((blocks, arrivals),) = launches
        # There is one grid barrier before the rounds, and k in each.
        rounds, rest = divmod(int(arrivals[0]) // blocks - 1, k)
        assert rest == 0 and rounds <= (12 if name == "random" else 2)

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
    def test_densities(self, backend, size, density):
        """The sizes and densities of the benchmarks in Cichra's thesis."""
        A = graphs.directed_graph(size, density)
        assert_as_on_the_cpu(backend, A, 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("k", [1, 2])
    @pytest.mark.parametrize("name", cases.LARGE)
    def test_large_graphs(self, backend, name, k):
        assert_as_on_the_cpu(backend, cases.LARGE[name](), k)

    @pytest.mark.parametrize("k", [1, 2])
    def test_real_matrices(self, backend, medium_real_name, k):
        assert_as_on_the_cpu(backend, load_real(medium_real_name), k)

    @pytest.mark.parametrize("size", [500, graphs.slow(200_000)])
    @pytest.mark.parametrize("k", [1, 2])
    def test_many_runs(self, backend, size, k):
        A = backend.csr(graphs.shuffled(graphs.random_graph(size, mean_degree=8)))
        first = mis(A, k, seed=3)
        for _ in range(50):
            assert bool((mis(A, k, seed=3) == first).all())

    def test_few_neighbours_first(self, backend):
        for k, expected in ((1, 900), (2, 1)):
            assert int(mis(backend.csr(graphs.star_graph(900)), k).sum()) == expected
        middle = mis(backend.csr(cases.star_of_stars(900)))
        assert int(middle[0]) == 1 and int(middle.sum()) == 901

    def test_the_middle_of_many_steps(self, backend):
        """k above the diameter: one vertex of each component."""
        A = backend.csr(graphs.path_graph(30))
        for k in (29, 30, 10**6):
            assert int(mis(A, k).sum()) == 1

    def test_seeds(self, backend):
        A = backend.csr(graphs.grid_graph(30, 30))
        sets = {tuple(backend.host(mis(A, seed=seed)).tolist()) for seed in (0, 1, 2, -1, 2**64 - 1)}
        assert len(sets) == 4

    def test_any_matrix(self, backend):
        """Unsorted, with repeats, zeros and a diagonal: the same edges, the same set; A stays as it was."""
        A = graphs.random_graph(300)
        expected = mis(A)
        messy = graphs.in_disorder(A)
        messy.data[:] = 0
        B = backend.csr(messy)
        np.testing.assert_array_equal(backend.host(mis(B)), expected)
        np.testing.assert_array_equal(backend.host(B.indices), messy.indices)
        dense = backend.array(A.toarray())
        np.testing.assert_array_equal(backend.host(mis(dense)), expected)

    def test_no_vertices_and_one(self, backend):
        assert mis(backend.csr(sp.csr_array((0, 0)))).shape == (0,)
        for A in (sp.csr_array((1, 1)), sp.csr_array(np.ones((1, 1)))):
            assert mis(backend.csr(A), 2).tolist() == [1]

    def test_wrong_arguments(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match="k must be at least 1, got 0"):
            mis(A, 0)
        with pytest.raises(TypeError, match="k must be an integer, got 1.5"):
            mis(A, 1.5)
        with pytest.raises(TypeError, match="seed must be an integer"):
            mis(A, seed="no")


def assert_as_on_the_cpu(backend, A, k):
    """The checker is independent of the algorithms that find the set."""
    members = mis(backend.csr(A), k)
    assert_is_mis(backend, backend.csr(A), members, k)
    if backend is not CPU:
        np.testing.assert_array_equal(backend.host(members), mis(A, k))


class TestChecker:
    @given(A=graphs.matrices(max_size=14, dtypes=DTYPES), k=st.integers(1, 4), data=st.data())
    def test_against_the_definition(self, backend, A, k, data):
        size = A.shape[0]
        around = ordering_oracles.neighbors(A)
        marks = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
        if data.draw(st.booleans()):
            marks = np.array(oracles.independent_set(around, k, 0), bool)
        found = lf.graph.is_maximal_independent_set(backend.csr(A), backend.array(marks), k)
        assert found is oracles.is_independent_set(around, marks, k)

    def test_wrong_arguments(self, backend):
        A = backend.csr(graphs.path_graph(4))
        check = lf.graph.is_maximal_independent_set
        with pytest.raises(ValueError, match=r"mis must have shape \(4,\)"):
            check(A, backend.array([1, 0, 1]))
        with pytest.raises(TypeError, match="mis must hold integers"):
            check(A, backend.array([1.0, 0.0, 1.0, 0.0]))
        with pytest.raises(ValueError, match="k must be at least 1"):
            check(A, backend.array([1, 0, 1, 0]), k=0)
