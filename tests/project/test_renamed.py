"""Names that were changed work for one more release, and warn."""

import inspect

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.distributed import grid2d, scatter, simulate

A = lf.matrices.poisson((4, 4))
ORDER = np.arange(16)[::-1].copy()
ORDERED = (
    lf.permute, lf.graph.bandwidth, lf.graph.profile, lf.graph.wavefront, lf.graph.linear_gap,
    lf.graph.log_gap, lf.graph.linear_arrangement, lf.graph.log_arrangement, lf.graph.fill,
    lf.graph.refine_ordering,
)  # fmt: skip
# The function, its first arguments, the old and the new name, and a value.
RENAMED = [
    *((function, (A,), "order", "ordering", ORDER) for function in ORDERED),
    (lf.ilu, (A,), "order", "ordering", "natural"),
    (lf.direct, (A,), "order", "ordering", "natural"),
    (lf.linear_forest, (A,), "permutation", "sorting", "radix_sort"),
    (lf.pipeline.tridiagonal_bands, (A,), "permutation", "sorting", "radix_sort"),
    (lf.graph.bfs_levels, (A,), "source", "i_start", 3),
    (lf.graph.cuthill_mckee, (A,), "start", "i_start", 3),
    (lf.graph.reverse_cuthill_mckee, (A,), "start", "i_start", 3),
    (lf.graph.pseudo_peripheral_node, (A,), "start", "i_start", 3),
    (lf.graph.label_propagation, (A,), "max_iter", "max_rounds", 3),
    (lf.matrices.stencil, (5,), "weights", "coefficients", [-1, 2, -1]),
]


def arrays_of(result):
    """All numbers of a result."""
    if hasattr(result, "matvec"):
        return [result @ np.ones(16)]
    if hasattr(result, "tocsr"):
        return [result.toarray()]
    if isinstance(result, tuple):
        return [array for each in result for array in arrays_of(each)]
    if hasattr(result, "__dict__"):
        return [each for each in vars(result).values() if isinstance(each, np.ndarray)]
    return [np.asarray(result)]


@pytest.mark.parametrize(
    ("function", "given", "old", "new", "value"), RENAMED, ids=lambda each: getattr(each, "__name__", None)
)
def test_an_old_name_warns_and_means_the_same(function, given, old, new, value):
    name = function.__name__
    with pytest.warns(DeprecationWarning, match=rf"^{name}\(\): {old}= is deprecated, use {new}=$") as seen:
        found = function(*given, **{old: value})
    assert seen[0].filename == __file__
    for one, other in zip(arrays_of(found), arrays_of(function(*given, **{new: value})), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(TypeError, match=rf"^{name}\(\) takes {new}= or {old}=, its old name, got both$"):
        function(*given, **{old: value, new: value})
    assert old not in inspect.signature(function).parameters


def test_old_names_over_ranks():
    def run(comm):
        graph = grid2d.Graph2D.from_matrix(scatter(A, comm))
        with pytest.warns(DeprecationWarning, match="i_start"):
            depths, _ = grid2d.bfs(graph, source=3)
        with pytest.warns(DeprecationWarning, match="max_rounds"):
            labels = grid2d.label_propagation(graph, max_iter=3)
        return depths.tolist(), labels.tolist()

    ((depths, labels),) = simulate(1, run)
    assert depths == lf.graph.bfs_levels(A, 3).tolist()
    assert labels == lf.graph.label_propagation(A, 3).tolist()


def test_the_old_name_of_a_plot_argument():
    figure = pytest.importorskip("matplotlib.figure")
    with pytest.warns(DeprecationWarning, match=r"^spy\(\): order= is deprecated, use ordering=$"):
        lf.plots.spy(A, order=ORDER, ax=figure.Figure().add_subplot())


def test_scaling_by_its_old_name():
    with pytest.warns(DeprecationWarning, match=r"linforest_precond\.scale is deprecated, use .*\.scaling$"):
        old = lf.scale
    assert old is lf.scaling and "scale" not in dir(lf)


def test_other_unknown_names_are_refused():
    @renamed_arguments(order="ordering")
    def first(ordering):
        return ordering[0]

    with pytest.raises(TypeError, match="odrering"):
        first(odrering=[1])
