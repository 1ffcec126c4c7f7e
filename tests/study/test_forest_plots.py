"""Pictures of linear forests and matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.study.forest_plots import cell_weights, draw_forest, path_colours, spy

matplotlib = pytest.importorskip("matplotlib", reason="pictures need Matplotlib")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def grid(side):
    y, x = np.divmod(np.arange(side * side), side)
    return np.column_stack([x, y])


def segments(collection):
    return {tuple(map(tuple, np.sort(segment.astype(int), axis=0))) for segment in collection.get_segments()}


def test_rows_of_aniso1_are_drawn_as_lines(ax):
    A = lf.matrices.aniso(1, 4)
    forest = lf.linear_forest(A)
    assert draw_forest(forest, grid(4), ax) is ax
    (paths,) = ax.collections
    along_x = {((x, y), (x + 1, y)) for x in range(3) for y in range(4)}
    edges = int((forest.neighbors >= 0).sum()) // 2
    assert along_x <= segments(paths) and len(paths.get_segments()) == edges


def test_every_path_has_one_colour(ax):
    forest = lf.linear_forest(lf.matrices.aniso(2, 6))
    colours = path_colours(forest.path_id)
    for one in np.unique(forest.path_id):
        assert len(np.unique(colours[forest.path_id == one], axis=0)) == 1
    assert len(np.unique(colours, axis=0)) == forest.n_paths


def test_the_matrix_is_drawn_below_the_paths(ax):
    A = lf.matrices.poisson((4, 4))
    draw_forest(lf.linear_forest(A), grid(4), ax, A=A)
    below, above = ax.collections
    assert len(below.get_segments()) == 24 and below.get_zorder() < above.get_zorder()


def test_lone_vertices_are_dots(ax):
    A = sp.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]))
    draw_forest(lf.linear_forest(A), np.array([[0, 0], [1, 0], [5, 6]]), ax)
    (dots,) = ax.lines
    assert dots.get_xydata().tolist() == [[5.0, 6.0]]
    assert ax.get_xlim()[1] >= 5 and ax.get_ylim()[1] >= 6


def test_coordinates_of_the_wrong_shape(ax):
    forest = lf.linear_forest(lf.matrices.poisson(4))
    with pytest.raises(ValueError, match=r"coordinates must have the shape \(4, 2\).*got \(4, 3\)"):
        draw_forest(forest, np.zeros((4, 3)), ax)


def test_a_matrix_is_no_forest(ax):
    with pytest.raises(
        TypeError, match=r"^forest must be a Forest, got a csr_array: pass lf.linear_forest\(A\)$"
    ):
        draw_forest(lf.matrices.poisson(4), np.zeros((4, 2)), ax)


def test_the_weight_of_the_bands_is_the_coverage():
    A = lf.matrices.aniso(2, 15)
    forest = lf.linear_forest(A)
    bands, rest = cell_weights(A, forest.order)
    beside = bands.sum() - abs(A.diagonal()).sum()
    assert beside / (beside + rest.sum()) >= forest.coverage - 1e-12
    assert bands.sum() + rest.sum() == pytest.approx(abs(A).sum())


def test_large_matrices_are_summed_into_cells():
    A = lf.matrices.poisson(1000)
    bands, rest = cell_weights(A, cells=10)
    assert bands.shape == (10, 10) and bands.sum() == pytest.approx(abs(A).sum()) and rest.sum() == 0


def test_spy_draws_bands_and_rest(ax):
    A = lf.matrices.aniso(2, 5)
    assert spy(A, ax=ax) is ax
    rest, bands = (image.get_array() for image in ax.images)
    assert rest.count() + bands.count() == A.nnz
    assert ax.get_xlim() == (0, 25) and ax.get_ylim() == (25, 0)


@pytest.mark.parametrize("A", [sp.csr_array((3, 3)), np.eye(1)])
def test_spy_of_tiny_matrices(ax, A):
    rest, bands = (image.get_array() for image in spy(A, ax=ax).images)
    ax.figure.canvas.draw()
    assert (rest.count(), bands.count()) == (0, abs(A).sum())


def test_an_invalid_order(ax):
    with pytest.raises(ValueError, match="ordering must be a permutation of 0 to 3"):
        spy(lf.matrices.poisson(4), [0, 1, 1, 2], ax)
    with pytest.raises(TypeError, match="got 'rcm': pass lf.graph.order"):
        spy(lf.matrices.poisson(4), "rcm", ax)


@pytest.mark.gpu
def test_on_the_gpu(ax, cuda):
    A = lf.matrices.aniso(2, 6, device="cuda")
    forest = lf.linear_forest(A)
    assert draw_forest(forest, grid(6), ax, A=A) is ax and ax.collections
    rest, bands = (image.get_array() for image in spy(A, forest.order, ax).images)
    assert rest.count() + bands.count() == A.nnz
