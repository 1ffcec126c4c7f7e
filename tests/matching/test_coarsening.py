"""Coarsening by matchings: one step, and hierarchies."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from coarsening_oracles import (
    aggregates_of,
    assert_are_aggregates,
    assert_is_coarse_matrix,
    coarse_entries,
)
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.matrix.checked import checked

KINDS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.dia_array]


def copies(A):
    return [array.copy() for array in (A.data, A.indices, A.indptr)]


class TestCoarsen:
    def assert_coarsened(self, backend, A, seed=0, **options):
        B = backend.csr(A)
        before = copies(B)
        matching = lf.graph.matching(B, seed=seed, **options)
        coarse = lf.graph.coarsen(B, matching, seed=seed)
        wanted = aggregates_of(A, backend.host(matching.mate), seed)
        aggregates = backend.host(coarse.aggregates)
        assert aggregates.tolist() == wanted and aggregates.dtype == checked(A).indices.dtype
        assert_are_aggregates(aggregates, coarse.n)
        assert type(coarse.A) is type(coarse.P) is type(B)
        assert coarse.A.shape == (coarse.n, coarse.n) and coarse.P.shape == (A.shape[0], coarse.n)
        assert coarse.A.dtype == coarse.P.dtype == A.dtype
        arrays = [backend.host(array) for array in (coarse.A.indptr, coarse.A.indices, coarse.A.data)]
        assert arrays[0].dtype == arrays[1].dtype == checked(A).indices.dtype
        assert_is_coarse_matrix(*arrays, coarse_entries(A, wanted), coarse.n)
        P = np.zeros((A.shape[0], coarse.n))
        P[np.arange(A.shape[0]), wanted] = 1
        np.testing.assert_array_equal(backend.host(coarse.P.toarray()), P)
        for now, then in zip(copies(B), before, strict=True):
            assert backend.host(now).tobytes() == backend.host(then).tobytes()
        return coarse

    @given(A=graphs.matrices(max_size=25), seed=st.integers(0, 99))
    def test_hypothesis_graphs(self, backend, A, seed):
        self.assert_coarsened(backend, A, seed)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(300, "unique", 3, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        self.assert_coarsened(backend, A, 2)

    @pytest.mark.parametrize("kind", KINDS)
    def test_kinds_stay(self, kind):
        A = graphs.random_graph(60, symmetric=False)
        mate = lf.graph.matching(A).mate
        coarse = lf.graph.coarsen(kind(A), mate)
        wanted = lf.graph.coarsen(A, mate)
        assert type(coarse.A) is type(coarse.P) is kind
        np.testing.assert_array_equal(coarse.A.toarray(), wanted.A.toarray())
        np.testing.assert_array_equal(coarse.P.toarray(), wanted.P.toarray())

    @pytest.mark.parametrize("kind", ["csc", "coo", "dense"])
    def test_formats(self, backend, kind):
        A = backend.csr(graphs.random_graph(60, symmetric=False))
        mate = lf.graph.matching(A).mate
        B = A.toarray() if kind == "dense" else A.asformat(kind)
        coarse, wanted = lf.graph.coarsen(B, mate), lf.graph.coarsen(A, mate)
        assert type(coarse.A) is type(coarse.P) is (type(A) if kind == "dense" else type(B))
        np.testing.assert_array_equal(backend.host(coarse.A.toarray()), backend.host(wanted.A.toarray()))
        np.testing.assert_array_equal(backend.host(coarse.P.toarray()), backend.host(wanted.P.toarray()))

    def test_integers_become_floats(self):
        coarse = lf.graph.coarsen(sp.csr_array(np.array([[2, -1, 0], [-1, 2, -1], [0, -1, 2]])), [1, 0, -1])
        assert coarse.A.dtype == coarse.P.dtype == np.float64
        assert coarse.A.toarray().tolist() == [[2.0]]

    def test_unsorted_entries_and_duplicates(self, backend):
        """In a copy: A is not changed."""
        A = sp.csr_array((4, 4))
        A.indptr = np.array([0, 3, 4, 7, 8], np.int32)
        A.indices = np.array([1, 0, 1, 0, 3, 2, 2, 2], np.int32)
        A.data = np.array([1.0, 4, 2, 3, 5, 6, 1, 5])
        B = backend.csr(A)
        before = copies(B)
        coarse = lf.graph.coarsen(B, [1, 0, 3, 2])
        assert backend.host(coarse.A.toarray()).tolist() == [[10.0, 0.0], [0.0, 17.0]]
        for now, then in zip(copies(B), before, strict=True):
            np.testing.assert_array_equal(backend.host(now), backend.host(then))

    def test_any_array_of_mates(self, backend):
        A = backend.csr(graphs.path_graph(6))
        matching = lf.graph.matching(A)
        wanted = backend.host(lf.graph.coarsen(A, matching).aggregates).tolist()
        mates = backend.host(matching.mate)
        for mate in (matching.mate, mates.tolist(), backend.array(mates.astype(np.int64))):
            assert backend.host(lf.graph.coarsen(A, mate).aggregates).tolist() == wanted

    def test_pairs_without_an_edge(self, backend):
        """They need not be adjacent: any pairs make a coarser matrix."""
        coarse = lf.graph.coarsen(backend.csr(graphs.path_graph(4)), [3, 2, 1, 0])
        assert backend.host(coarse.aggregates).tolist() == [0, 1, 1, 0]
        assert backend.host(coarse.A.toarray()).tolist() == [[4.0, 2.0], [2.0, 6.0]]

    @pytest.mark.parametrize("diagonal", [[], [0.0], [3.0, 0.0, 5.0]])
    def test_no_edges(self, backend, diagonal):
        A = sp.csr_array(np.diag(diagonal).reshape(len(diagonal), len(diagonal)))
        coarse = self.assert_coarsened(backend, A)
        assert coarse.n == len(diagonal)
        assert f"{coarse.n:,} to {coarse.n:,}" in str(coarse)

    def test_a_star_becomes_one_vertex(self, backend):
        coarse = self.assert_coarsened(backend, graphs.star_graph(3000))
        assert coarse.n == 1 and backend.host(coarse.A.toarray()).tolist() == [[3001.0 + 6000.0]]
        assert "3,001 at most" in str(coarse)

    @pytest.mark.slow
    def test_a_star_with_many_leaves(self, backend):
        leaves = 100_000
        A = graphs.star_graph(leaves, np.random.default_rng(0).random(leaves))
        coarse = lf.graph.coarsen(backend.csr(A), lf.graph.matching(backend.csr(A)))
        total = 0.0
        for value in A.data.tolist():
            total += value
        assert coarse.n == 1 and backend.host(coarse.A.data).tolist() == [total]

    def test_row_sums_stay(self, backend):
        """Zero row sums are preserved: constant vectors stay in the null space."""
        A = graphs.random_graph(2000, "unique")
        A = sp.csr_array(sp.diags_array(abs(A - sp.diags_array(A.diagonal())).sum(axis=1)) - abs(A))
        A = sp.csr_array(A - sp.diags_array(A.sum(axis=1)))
        coarse = lf.graph.coarsen(backend.csr(A), lf.graph.matching(backend.csr(A)))
        sums = backend.host(coarse.A @ backend.xp.ones(coarse.n))
        np.testing.assert_allclose(sums, 0.0, atol=1e-12 * abs(A.data).sum())

    def test_real_matrices(self, backend, small_real_name):
        self.assert_coarsened(backend, load_real(small_real_name), method="suitor")

    @pytest.mark.parametrize(
        ("matching", "message"),
        [
            ([1, 0], "matching must have one number for each of A's 4 rows"),
            ([1, 0, 3, 4], "matching must name as mates"),
            ([1, 0, -2, -1], "matching must name as mates"),
            ([1, 2, 1, -1], "matching must name as mates"),
            ([0, -1, -1, -1], "matching must name as mates"),
        ],
    )
    def test_wrong_matchings(self, backend, matching, message):
        with pytest.raises(ValueError, match=message):
            lf.graph.coarsen(backend.csr(graphs.path_graph(4)), matching)

    def test_wrong_types(self, backend):
        A = backend.csr(graphs.path_graph(2))
        with pytest.raises(TypeError, match="matching must hold integers"):
            lf.graph.coarsen(A, [1.0, 0.0])
        with pytest.raises(TypeError, match="seed must be an integer"):
            lf.graph.coarsen(A, [1, 0], seed=0.5)
        with pytest.raises(ValueError, match="square"):
            lf.graph.coarsen(sp.csr_array((3, 4)), [0, 1, 2])

    @pytest.mark.gpu
    def test_devices_are_not_mixed(self, cuda):
        with pytest.raises(TypeError, match="matching must be on A's device"):
            lf.graph.coarsen(graphs.path_graph(2), cuda.array(np.array([1, 0])))

    def test_print(self, backend):
        A = backend.csr(graphs.path_graph(4, [1.0, 5.0, 1.0]))
        assert str(lf.graph.coarsen(A, lf.graph.matching(A))).splitlines() == [
            "coarsening",
            "  unknowns    4 to 1",
            "  entries     10 to 1",
            "  aggregates  4.00 vertices on average, 4 at most",
        ]


class TestHierarchy:
    @staticmethod
    def assert_hierarchy(backend, A, matchings=2, method="suitor", seed=0, **options):
        """Each step is `matchings` coarsenings in sequence."""
        B = backend.csr(A)
        hierarchy = lf.graph.coarsening_hierarchy(B, matchings=matchings, method=method, seed=seed, **options)
        assert hierarchy.A is B
        finer = B
        for step in hierarchy:
            aggregates = backend.xp.arange(finer.shape[0])
            coarse = finer
            for _ in range(matchings):
                once = lf.graph.coarsen(coarse, lf.graph.matching(coarse, method, seed=seed), seed=seed)
                aggregates, coarse = once.aggregates[aggregates], once.A
            assert backend.host(step.aggregates).tolist() == backend.host(aggregates).tolist()
            assert type(step.A) is type(B) and step.fine_nnz == finer.nnz
            for name in ("indptr", "indices", "data"):
                found, wanted = (backend.host(getattr(each, name)) for each in (step.A, coarse))
                assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
            finer = coarse
        return hierarchy

    @pytest.mark.parametrize("shape", [(64, 64), (17, 18, 19), (5000,)])
    @pytest.mark.parametrize("matchings", [1, 2, 3])
    def test_uniform_grids_do_not_stall(self, backend, shape, matchings):
        """No level keeps more than half of the vertices for each of its matchings."""
        hierarchy = self.assert_hierarchy(
            backend, lf.matrices.poisson(shape), matchings, max_coarse=20, max_levels=40
        )
        sizes = [A.shape[0] for A in hierarchy.levels]
        assert not hierarchy.stalled and sizes[-1] <= 20
        assert all(coarse <= fine / 2**matchings for fine, coarse in zip(sizes, sizes[1:]))

    @pytest.mark.parametrize(
        "method", ["suitor", "locally_dominant", "random", "weighted", "factor", "augmented"]
    )
    def test_methods(self, backend, method):
        A = graphs.random_graph(3000, "ties", mean_degree=8)
        hierarchy = self.assert_hierarchy(backend, A, method=method, seed=3, max_coarse=300)
        assert len(hierarchy) >= 1

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, dtype, index_dtype):
        A = graphs.random_graph(900, "unique", 3, symmetric=False, dtype=dtype, index_dtype=index_dtype)
        hierarchy = self.assert_hierarchy(backend, A, max_coarse=100)
        for step in hierarchy:
            assert step.A.dtype == dtype and step.A.indices.dtype == index_dtype

    def test_limits(self, backend):
        A = backend.csr(lf.matrices.poisson((30, 30)))
        everything = lf.graph.coarsening_hierarchy(A, max_coarse=1, max_levels=100)
        assert everything[-1].n == 1 and len(everything) == len(everything.steps)
        for max_levels in (1, 2, 3):
            hierarchy = lf.graph.coarsening_hierarchy(A, max_levels, max_coarse=1)
            assert len(hierarchy) == max_levels - 1 and not hierarchy.stalled
        assert len(lf.graph.coarsening_hierarchy(A, max_coarse=900)) == 0
        assert len(lf.graph.coarsening_hierarchy(A, max_coarse=899)) == 1

    @pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array])
    def test_kinds_stay(self, kind):
        A = kind(lf.matrices.poisson((20, 20)))
        hierarchy = lf.graph.coarsening_hierarchy(A, max_coarse=10)
        assert hierarchy.A is A
        assert all(type(matrix) is kind for step in hierarchy for matrix in (step.A, step.P))

    def test_dense(self, backend):
        A = backend.csr(lf.matrices.poisson((6, 6)))
        hierarchy = lf.graph.coarsening_hierarchy(A.toarray(), max_coarse=10)
        assert all(type(matrix) is type(A) for matrix in hierarchy.levels)
        np.testing.assert_array_equal(backend.host(hierarchy.A.toarray()), backend.host(A.toarray()))

    @pytest.mark.parametrize("size", [0, 1])
    def test_nothing_to_coarsen(self, backend, size):
        hierarchy = lf.graph.coarsening_hierarchy(backend.csr(sp.csr_array((size, size))))
        assert len(hierarchy) == 0 and not hierarchy.stalled
        assert f"level 0  {size} unknowns, 0 entries" in str(hierarchy)

    def test_no_edges_stall(self, backend):
        A = backend.csr(sp.csr_array(sp.eye_array(50)))
        with pytest.warns(RuntimeWarning, match="coarsening stalled at 50 unknowns, above max_coarse=10"):
            hierarchy = lf.graph.coarsening_hierarchy(A, max_coarse=10)
        assert hierarchy.stalled and len(hierarchy) == 0
        assert str(hierarchy).startswith("coarsening hierarchy, stalled\n")

    def test_components_stall(self, backend):
        """Each of 30 paths becomes one vertex; then no edge is left."""
        A = sp.csr_array(sp.block_diag([graphs.path_graph(20)] * 30))
        with pytest.warns(RuntimeWarning, match="coarsening stalled at 30 unknowns"):
            hierarchy = lf.graph.coarsening_hierarchy(backend.csr(A), max_coarse=10)
        assert hierarchy.stalled and hierarchy[-1].n == 30

    def test_real_matrices_become_small_or_stall(self, backend, small_real_name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            hierarchy = lf.graph.coarsening_hierarchy(
                backend.csr(load_real(small_real_name)), max_coarse=50, max_levels=100
            )
        assert hierarchy.stalled or hierarchy.levels[-1].shape[0] <= 50
        assert len(hierarchy) < 30

    def test_print(self):
        hierarchy = lf.graph.coarsening_hierarchy(lf.matrices.poisson((8, 8)), max_coarse=20)
        first, *levels, last = str(hierarchy).splitlines()
        assert first == "coarsening hierarchy" and levels[0] == "  level 0  64 unknowns, 288 entries"
        assert len(levels) == 1 + len(hierarchy)
        assert last.startswith("  in all   1.")

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"max_levels": 0}, ValueError, "max_levels must be at least 1, got 0"),
            ({"matchings": 0}, ValueError, "matchings must be at least 1, got 0"),
            ({"max_coarse": 0}, ValueError, "max_coarse must be at least 1, got 0"),
            ({"max_levels": 2.0}, TypeError, "max_levels must be an integer"),
            ({"method": "greedy"}, ValueError, 'method must be "suitor"'),
            ({"seed": "x"}, TypeError, "seed must be an integer"),
        ],
    )
    def test_wrong_options(self, options, error, message):
        with pytest.raises(error, match=message):
            lf.graph.coarsening_hierarchy(graphs.path_graph(4), **options)
