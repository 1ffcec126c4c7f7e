"""Diffusion on grids, random graphs, and generated matrices by name."""

import math
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from test_matrices import assert_canonical, dense_stencil, host_csr

from linforest_precond import matrices
from linforest_precond.backends.host_numbers import sorted_distinct
from linforest_precond.matrices.generators import by_name, random_graphs
from linforest_precond.matrices.generators.by_name import generate, is_generator


class TestConvectionDiffusion:
    def test_upwind_by_hand(self, backend):
        A = matrices.convection_diffusion((3, 4), (2.0, -0.5), diffusion=(1.0, 3.0), device=backend.name)
        A = host_csr(backend, A)
        assert_canonical(A)
        weights = np.array([[0, -3, 0], [-3, 10.5, -3.5], [0, -1, 0]])
        np.testing.assert_array_equal(A.toarray(), dense_stencil((3, 4), weights))

    def test_central_by_hand(self, backend):
        A = matrices.convection_diffusion((3, 4), (2.0, -0.5), scheme="central", device=backend.name)
        weights = np.array([[0, -2, 0], [-0.75, 4, -1.25], [0, 0, 0]])
        np.testing.assert_array_equal(host_csr(backend, A).toarray(), dense_stencil((3, 4), weights))

    def test_without_velocity_it_is_poisson(self, backend):
        A = matrices.convection_diffusion((3, 4, 5), 0.0, device=backend.name)
        wanted = matrices.poisson((3, 4, 5))
        np.testing.assert_array_equal(host_csr(backend, A).toarray(), wanted.toarray())

    @pytest.mark.parametrize("scheme", ["upwind", "central"])
    def test_linear_functions_are_advected_exactly(self, scheme):
        """Inside the grid a linear function has no diffusion; convection gives its slope."""
        shape, velocity, slope = (6, 7, 8), np.array([1.5, -2.0, 0.5]), np.array([2.0, 3.0, -1.0])
        A = matrices.convection_diffusion(shape, velocity, scheme=scheme)
        u = np.tensordot(slope, np.indices(shape), 1)
        inside = (A @ u.ravel()).reshape(shape)[1:-1, 1:-1, 1:-1]
        np.testing.assert_allclose(inside, velocity @ slope)

    def test_upwind_is_an_m_matrix_at_any_velocity(self):
        A = matrices.convection_diffusion((9, 9), (50.0, -70.0)).toarray()
        assert np.all(A - np.diag(np.diag(A)) <= 0)
        assert np.all(A.sum(axis=1) >= -1e-12)

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            (((3, 3), (1, 2, 3)), {}, ValueError, "velocity"),
            (((3, 3), "ab"), {}, ValueError, "velocity"),
            (((3, 3), math.nan), {}, ValueError, "velocity"),
            (((3, 3),), {"diffusion": -1}, ValueError, "diffusion"),
            (((3, 3),), {"scheme": "down"}, ValueError, "scheme.*down"),
            (((3, 0),), {}, ValueError, "shape"),
            (((3, 3),), {"dtype": np.float16}, TypeError, "dtype"),
            (((3, 3),), {"device": "tpu"}, ValueError, "device"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments, options, error, message):
        with pytest.raises(error, match=message):
            matrices.convection_diffusion(*arguments, **options)


class TestAnisotropicDiffusion:
    @pytest.mark.parametrize("theta", [0.0, 0.3, math.pi / 4, 2.0])
    @pytest.mark.parametrize("epsilon", [1.0, 0.01, 10.0])
    @pytest.mark.parametrize(("scheme", "kind"), [("elements", "FE"), ("differences", "FD")])
    def test_it_is_pyamgs_transposed(self, backend, theta, epsilon, scheme, kind, pyamg_gallery):
        weights = pyamg_gallery.diffusion_stencil_2d(epsilon=epsilon, theta=theta, type=kind).T
        A = matrices.anisotropic_diffusion((4, 5), theta, epsilon, scheme=scheme, device=backend.name)
        np.testing.assert_allclose(host_csr(backend, A).toarray(), dense_stencil((4, 5), weights), atol=1e-14)

    @pytest.mark.parametrize("scheme", ["elements", "differences"])
    def test_quadratic_functions_are_differentiated_exactly(self, scheme):
        theta, epsilon = 0.7, 0.05
        turn = np.array([[math.cos(theta), -math.sin(theta)], [math.sin(theta), math.cos(theta)]])
        tensor = turn @ np.diag([1, epsilon]) @ turn.T
        y, x = np.indices((7, 8))
        u = x * x + 3 * x * y - 2 * y * y
        wanted = -(2 * tensor[0, 0] + 2 * 3 * tensor[0, 1] - 4 * tensor[1, 1])
        A = matrices.anisotropic_diffusion((7, 8), theta, epsilon, scheme=scheme)
        np.testing.assert_allclose((A @ u.ravel()).reshape(7, 8)[1:-1, 1:-1], wanted)

    def test_the_strong_direction_is_that_of_theta(self):
        row = matrices.anisotropic_diffusion(3, math.pi / 4, 0.0).toarray()[4].reshape(3, 3)
        assert row[2, 2] == row[0, 0] < min(row[0, 2], row[2, 0])

    def test_it_is_symmetric(self, backend):
        A = host_csr(backend, matrices.anisotropic_diffusion(20, 0.5, device=backend.name))
        assert_canonical(A)
        assert (A != A.T).nnz == 0

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            (((3, 3, 3),), {}, ValueError, "shape"),
            ((3, "a"), {}, TypeError, "theta"),
            ((3, 1.0, math.inf), {}, ValueError, "epsilon"),
            ((3,), {"scheme": "FE"}, ValueError, "scheme.*elements"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments, options, error, message):
        with pytest.raises(error, match=message):
            matrices.anisotropic_diffusion(*arguments, **options)


GRAPHS = {
    "rmat": lambda **options: matrices.rmat(7, **options),
    "delaunay": lambda **options: matrices.delaunay(100, **options),
    "random_geometric": lambda **options: matrices.random_geometric(100, **options),
    "dense_rows": lambda **options: matrices.dense_rows(100, 3, **options),
}


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
class TestRandomGraphs:
    def test_simple_symmetric_and_positive(self, backend, make):
        A = host_csr(backend, make(device=backend.name))
        assert_canonical(A)
        assert A.nnz > 0 and (A != A.T).nnz == 0
        assert np.all(A.diagonal() == 0)
        assert np.all((A.data > 0) & (A.data <= 1))
        assert len(np.unique(A.data)) == A.nnz // 2

    def test_the_seed_determines_the_graph(self, backend, make):
        first, again, other = (
            host_csr(backend, make(seed=seed, device=backend.name)).toarray() for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first, again)
        assert np.any(first != other)
        np.testing.assert_array_equal(first, make(seed=1).toarray())

    def test_weights_may_be_ones(self, make):
        ones, random = make(weights="ones"), make()
        assert np.all(ones.data == 1)
        np.testing.assert_array_equal(ones.indices, random.indices)

    @pytest.mark.parametrize("dtype", [np.float32, np.complex128])
    @pytest.mark.parametrize("index_dtype", [None, np.int32, np.int64])
    def test_requested_types(self, backend, make, dtype, index_dtype):
        A = make(dtype=dtype, index_dtype=index_dtype, device=backend.name)
        assert A.dtype == dtype
        assert A.indices.dtype == A.indptr.dtype == (index_dtype or np.int32)
        assert backend.name == "cuda" or isinstance(A, sp.csr_array)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"weights": "twos"}, ValueError, "weights.*random.*twos"),
            ({"dtype": int}, TypeError, "dtype"),
            ({"index_dtype": np.int16}, TypeError, "index_dtype"),
            ({"device": "tpu"}, ValueError, "device"),
        ],
    )
    def test_bad_options_are_named(self, make, options, error, message):
        with pytest.raises(error, match=message):
            make(**options)


@pytest.mark.parametrize("numbers", [[], [3], [5, 1, 5, 5, 2]])
def test_distinct_numbers_are_those_of_numpy(numbers):
    found = sorted_distinct(np.array(numbers, np.int64))
    assert found.dtype == np.int64 and np.array_equal(found, np.unique(numbers))


class TestRmat:
    def test_edges_drawn_by_threads_are_those_of_one_sequence(self, monkeypatch):
        monkeypatch.setattr(random_graphs, "AT_ONCE", 7)
        rng, expected = (np.random.default_rng(3) for _ in range(2))
        source, target = random_graphs._draw_edges(rng, 4, 30, np.array(random_graphs.GRAPH500))
        quadrants = [
            np.searchsorted(np.cumsum(random_graphs.GRAPH500[:3]), expected.random(30), side="right")
            for _ in range(4)
        ]
        assert np.array_equal(source, sum(2**i * (q // 2) for i, q in enumerate(quadrants[::-1])))
        assert np.array_equal(target, sum(2**i * (q % 2) for i, q in enumerate(quadrants[::-1])))
        assert rng.bit_generator.state == expected.bit_generator.state

    def test_a_nonsymmetric_graph(self):
        A = matrices.rmat(8, symmetric=False)
        assert_canonical(A)
        assert np.all(A.diagonal() == 0) and (A != A.T).nnz > 0

    def test_all_edges_in_one_quadrant(self):
        """With quadrant (0, 1) at every level, all edges join the first vertex to the last."""
        A = matrices.rmat(5, probabilities=(0, 1, 0, 0), symmetric=False)
        assert A.nnz == 1

    def test_degrees_are_skewed(self):
        degrees = np.diff(matrices.rmat(12).indptr)
        assert degrees.max() > 20 * np.median(degrees)
        even = np.diff(matrices.rmat(12, probabilities=(0.25,) * 4).indptr)
        assert even.max() < 3 * np.median(even)

    def test_the_expected_number_of_edges(self):
        """Equal probabilities draw pairs uniformly: a share exp(-count / pairs) of them is never drawn."""
        n, count = 2**9, 16 * 2**9
        A = matrices.rmat(9, probabilities=(0.25,) * 4, symmetric=False)
        assert A.nnz == pytest.approx(n * (n - 1) * -math.expm1(-count / n**2), rel=0.02)

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            ((0,), {}, ValueError, "scale"),
            ((31,), {}, ValueError, "scale"),
            ((2.5,), {}, TypeError, "scale"),
            ((4, 0), {}, ValueError, "edges_per_vertex"),
            ((4,), {"probabilities": (1, 2, 3)}, ValueError, "probabilities"),
            ((4,), {"probabilities": (0.5, 0.5, 0.5, -0.5)}, ValueError, "probabilities"),
            ((4,), {"weights": "inverse"}, ValueError, "weights"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments, options, error, message):
        with pytest.raises(error, match=message):
            matrices.rmat(*arguments, **options)


class TestGeometricGraphs:
    def test_delaunay_is_a_triangulation(self):
        """3 n - 3 - h edges, where h vertices lie on the hull."""
        from scipy.spatial import ConvexHull

        n = 500
        points = np.random.default_rng(3).random((n, 2))
        edges = matrices.delaunay(n, seed=3).nnz // 2
        assert edges == 3 * n - 3 - len(ConvexHull(points).vertices)

    def test_inverse_lengths(self):
        points = np.random.default_rng(5).random((60, 2))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        A = matrices.delaunay(60, seed=5, weights="inverse").tocoo()
        np.testing.assert_allclose(A.data, 1 / distances[A.row, A.col])

    def test_near_points_are_adjacent(self):
        points = np.random.default_rng(5).random((80, 2))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        A = matrices.random_geometric(80, radius=0.2, seed=5, weights="ones")
        np.testing.assert_array_equal(A.toarray(), (distances <= 0.2) & ~np.eye(80, dtype=bool))

    def test_extremes(self):
        assert matrices.random_geometric(1).shape == (1, 1)
        assert matrices.random_geometric(50, radius=0).nnz == 0
        assert matrices.random_geometric(20, radius=2).nnz == 20 * 19
        assert matrices.delaunay(3).nnz == 6

    @pytest.mark.slow
    def test_a_million_points(self):
        A = matrices.delaunay(2**20)
        assert 5.99 < A.nnz / 2**20 < 6

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: matrices.delaunay(2), ValueError, "n must be at least 3"),
            (lambda: matrices.delaunay("9"), TypeError, "n must"),
            (lambda: matrices.random_geometric(0), ValueError, "n must"),
            (lambda: matrices.random_geometric(9, radius=-1), ValueError, "radius"),
            (lambda: matrices.random_geometric(9, radius=math.nan), ValueError, "radius"),
        ],
    )
    def test_bad_arguments_are_named(self, call, error, message):
        with pytest.raises(error, match=message):
            call()


class TestDenseRows:
    def test_dense_rows_and_a_band(self):
        """Rows that are not dense have the band, and an entry for each dense row at most."""
        A = matrices.dense_rows(1000, 5, density=0.6, band=2)
        degrees = np.sort(np.diff(A.indptr))
        assert degrees[-6] <= 4 + 5 and degrees[-5:] == pytest.approx(np.full(5, 600), abs=70)
        near = np.abs(np.subtract.outer(np.arange(1000), np.arange(1000)))
        assert np.all((A.toarray() > 0)[(near > 0) & (near <= 2)])

    def test_extremes(self):
        assert matrices.dense_rows(9, 0, band=0).nnz == 0
        for options in ({"density": 1.0}, {"rows": 0, "band": 20}):
            assert matrices.dense_rows(9, **options).nnz == 9 * 8
        assert matrices.dense_rows(1).shape == (1, 1)

    @pytest.mark.slow
    def test_it_resembles_gupta3(self):
        A = matrices.dense_rows(16783)
        assert A.nnz == pytest.approx(9.3e6, rel=0.1)
        assert np.diff(A.indptr).max() == pytest.approx(14672, rel=0.02)

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: matrices.dense_rows(0), ValueError, "n must be at least 1"),
            (lambda: matrices.dense_rows(9, -1), ValueError, "rows must"),
            (lambda: matrices.dense_rows(9, band=-1), ValueError, "band must"),
            (lambda: matrices.dense_rows(9, density=1.5), ValueError, "density must be from 0 to 1, got 1.5"),
            (lambda: matrices.dense_rows(9, density=math.nan), ValueError, "density must be from 0 to 1"),
            (lambda: matrices.mycielskian(1), ValueError, "k must"),
            (lambda: matrices.mycielskian(2.5), TypeError, "k must"),
        ],
    )
    def test_bad_arguments_are_named(self, call, error, message):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("k", [2, 3, 5, 7])
def test_mycielski_graphs(backend, k):
    networkx = pytest.importorskip("networkx")
    A = host_csr(backend, matrices.mycielskian(k, device=backend.name))
    assert_canonical(A)
    wanted = networkx.mycielski_graph(k)
    assert (A.shape[0], A.nnz // 2) == (wanted.number_of_nodes(), wanted.number_of_edges())
    assert (A != A.T).nnz == 0 and (A @ A).multiply(A).nnz == 0  # no triangles
    if k == 7:
        assert networkx.could_be_isomorphic(networkx.from_scipy_sparse_array(A), wanted)


NAMED = {
    "aniso1:7": lambda **o: matrices.aniso(1, 7, **o),
    "ANISO3:6": lambda **o: matrices.aniso(3, 6, **o),
    "poisson:9": lambda **o: matrices.poisson(9, **o),
    "poisson:2x3x4": lambda **o: matrices.poisson((2, 3, 4), **o),
    "poisson2d:5": lambda **o: matrices.poisson((5, 5), **o),
    "poisson2d:5x4": lambda **o: matrices.poisson((5, 4), **o),
    "poisson3d:3": lambda **o: matrices.poisson((3, 3, 3), **o),
    "convection2d:5": lambda **o: matrices.convection_diffusion((5, 5), **o),
    "convection3d:3x4x5": lambda **o: matrices.convection_diffusion((3, 4, 5), **o),
    "anisotropic:6": lambda **o: matrices.anisotropic_diffusion((6, 6), **o),
    "rmat:5": lambda **o: matrices.rmat(5, **o),
    "delaunay:30": lambda **o: matrices.delaunay(30, **o),
    "mycielskian:5": lambda **o: matrices.mycielskian(5, **o),
    "dense_rows:40": lambda **o: matrices.dense_rows(40, **o),
    "rgg:30": lambda **o: matrices.random_geometric(30, **o),
    "standin:atmosmodm/30": lambda **o: matrices.standin("atmosmodm", shrink=30, **o),
    "standin:ATMOSMODD/30": lambda **o: matrices.standin("atmosmodd", shrink=30, **o),
}


class TestNames:
    @pytest.mark.parametrize(("name", "make"), NAMED.items(), ids=NAMED)
    def test_a_name_gives_the_matrix_of_the_function(self, backend, name, make):
        assert is_generator(name)
        A = generate(name, device=backend.name)
        assert A.dtype == np.float64
        np.testing.assert_array_equal(host_csr(backend, A).toarray(), make().toarray())
        B = generate(name, device=backend.name, dtype=np.complex64)
        assert B.dtype == np.complex64

    @pytest.mark.parametrize("example", by_name.names())
    def test_every_example_is_a_name(self, example):
        assert is_generator(example)

    @pytest.mark.parametrize(
        "name", ["aniso4:3", "rmat", "ecology1", "standin", "some/file.mtx", "C:\\file.mtx", "", "poisson2d"]
    )
    def test_other_names(self, name):
        assert not is_generator(name)

    def test_without_a_side_aniso_is_of_the_papers_size(self, monkeypatch):
        assert is_generator("aniso2")
        asked = []
        short = by_name.Generator("", "", lambda side, **options: asked.append(side), default="2500")
        monkeypatch.setitem(by_name.GENERATORS, "aniso2", short)
        generate("aniso2")
        assert asked == [by_name.PAPER_SIDE] == ["2500"]

    @pytest.mark.parametrize(
        ("name", "error", "message"),
        [
            ("anisotrop:3", LookupError, r"anisotrop:3(?s:.*)aniso1:300(?s:.*)pyamg:"),
            ("rmat", ValueError, "rmat.*rmat:18"),
            ("rmat:x", ValueError, "'x'.*rmat:18"),
            ("aniso1:-3", ValueError, "'-3'.*aniso1:300"),
            ("aniso1:0", ValueError, "'0'.*aniso1:300"),
            ("aniso1:3x3", ValueError, "aniso1:300"),
            ("poisson3d:3x3", ValueError, "3x3.*poisson3d:50"),
            ("poisson:3xx3", ValueError, "poisson:100x200x3"),
            ("poisson:", ValueError, "poisson:100x200x3"),
            ("poisson2d:x", ValueError, "'x' should be .*poisson2d:100"),
            ("poisson2d:99999999999", ValueError, "9' should be smaller: 1.0e.22 rows.*poisson2d:100"),
            ("aniso1:99999999999", ValueError, "9' should be smaller: 1.0e.22 rows.*aniso1:300"),
            ("standin:G3_circuit", LookupError, "G3_circuit.*ecology1"),
            ("standin:ecology1/0", ValueError, "standin:atmosmodm/4"),
            ("standin:ecology1/", ValueError, "standin:atmosmodm/4"),
        ],
    )
    def test_invalid_names_show_an_example(self, name, error, message):
        with pytest.raises(error, match=message):
            generate(name)

    def test_pyamgs_examples(self, backend, pyamg_gallery):
        wanted = pyamg_gallery.load_example("unit_square")["A"]
        A = host_csr(backend, generate("pyamg:unit_square", device=backend.name))
        np.testing.assert_array_equal(A.toarray(), wanted.toarray())

    def test_pyamgs_complex_example_stays_complex(self, pyamg_gallery):
        assert generate("pyamg:helmholtz_2D").dtype.kind == "c"

    def test_an_unknown_example_of_pyamg(self, pyamg_gallery):
        with pytest.raises(ValueError, match="nothing.*airfoil.*unit_cube"):
            generate("pyamg:nothing")

    def test_without_pyamg_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyamg.gallery", None)
        with pytest.raises(ImportError, match=r"linforest-precond\[study\]"):
            generate("pyamg:bar")

    def test_the_help_has_a_line_for_each(self):
        lines = by_name.help_text().splitlines()
        assert len(lines) == len(by_name.GENERATORS)
        assert all(line.split()[0] in by_name.names() for line in lines)
