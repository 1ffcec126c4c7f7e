"""Refinement against Algorithm 2.1 with whole metrics, one swap after the other and in rounds."""

import gap_oracles as oracles
import graph_cases as cases
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.graph.reordering.refinement import _lowest_degrees
from linforest_precond.matrix.doors import as_pattern

refine_ordering = lf.graph.refine_ordering
METRICS = {
    "linear_gap": (lf.graph.linear_gap, oracles.linear),
    "log_gap": (lf.graph.log_gap, oracles.fixed),
}


def candidates_of(A, fraction, max_degree=100):
    return _lowest_degrees(as_pattern(A).degrees, fraction, max_degree, 0, 0).tolist()


@pytest.mark.parametrize("metric", METRICS)
@given(
    A=graphs.matrices(max_size=14, dtypes=(np.float64,)),
    fraction=st.sampled_from((0.01, 0.5, 1.0)),
    max_degree=st.sampled_from((2, 100)),
    max_rounds=st.sampled_from((1, 2, 1000)),
    data=st.data(),
)
def test_against_whole_metrics(backend, metric, A, fraction, max_degree, max_rounds, data):
    order = data.draw(st.permutations(range(A.shape[0])))
    options = {"metric": metric, "fraction": fraction, "max_degree": max_degree}
    around, measure = ordering_oracles.neighbors(A), METRICS[metric][1]
    arguments = around, order, candidates_of(A, fraction, max_degree), measure, max_degree
    given_order = np.array(order, np.int32)
    found = refine_ordering(backend.csr(A), given_order, max_rounds=max_rounds, **options)
    assert isinstance(found, backend.xp.ndarray) and found.dtype == np.int32
    assert backend.host(found).tolist() == oracles.refine_in_rounds(*arguments, max_rounds)
    if max_rounds == 1000:
        assert backend.host(found).tolist() == oracles.refine_one_by_one(*arguments)
    assert given_order.tolist() == order


def test_by_hand(backend):
    """A path 0-2-1-3 numbered 0, 1, 2, 3: after the middle vertices have swapped, all its gaps are 2."""
    A = sp.csr_array(([1.0, 1, 1], ([0, 2, 1], [2, 1, 3])), shape=(4, 4))
    assert lf.graph.linear_gap(A) == 2 * 1 and lf.graph.linear_gap(A, [0, 2, 1, 3]) == 2 * 2
    refined = refine_ordering(backend.csr(A), np.array([0, 2, 1, 3]), "linear_gap", 1.0)
    assert lf.graph.linear_gap(A, backend.host(refined)) < 4


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", cases.SMALL)
def test_never_worse(backend, name, metric):
    A = cases.SMALL[name]()
    order = np.random.default_rng(1).permutation(A.shape[0])
    measure = METRICS[metric][0]
    refined = backend.host(refine_ordering(backend.csr(A), order, metric, 0.2, passes=2))
    assert sorted(refined.tolist()) == list(range(A.shape[0]))
    assert measure(A, refined) <= measure(A, order)
    if name in ("random", "cube", "path", "rmat"):
        assert measure(A, refined) < measure(A, order)


def test_one_answer_on_all_devices(backend):
    """Long rows and several passes, against the CPU's kernels with threads and 64-bit indices."""
    A = graphs.rmat_graph(10)
    expected = refine_ordering(A, None, "log_gap", 1.0, passes=2, max_degree=300, seed=5)
    wide = backend.csr(graphs.with_types(A, index_dtype=np.int64))
    found = refine_ordering(wide, None, "log_gap", 1.0, passes=2, max_degree=300, seed=5)
    np.testing.assert_array_equal(backend.host(found), expected)


def test_passes_go_on_where_the_last_one_ended(backend):
    A = backend.csr(graphs.random_graph(300))
    metrics = [
        lf.graph.log_gap(A, refine_ordering(A, None, "log_gap", 1.0, passes=passes)) for passes in (1, 2, 30)
    ]
    assert metrics[0] > metrics[1] > metrics[2]


def test_lowest_degrees_come_first():
    """Isolated vertices and those above the limit are not among the candidates."""
    A = cases.star_of_stars(50)
    A = sp.block_diag([sp.csr_array((5, 5)), A], format="csr")
    degrees = as_pattern(A).degrees
    found = candidates_of(A, 1.0, max_degree=10)
    assert degrees[found].tolist() == [1] * 50 + [2] * 50 and len(set(found)) == 100
    assert len(candidates_of(A, 0.101)) == 11


def test_real_matrices(backend, medium_real_name):
    A = load_real(medium_real_name)
    refined = backend.host(refine_ordering(backend.csr(A), None, "log_gap", 0.05))
    assert lf.graph.log_gap(A, refined) <= lf.graph.log_gap(A)
    if backend.name == "cuda":
        np.testing.assert_array_equal(refined, refine_ordering(A, None, "log_gap", 0.05))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cube", "rmat", "tiny components", "star of stars"])
def test_large_graphs(backend, name):
    A = cases.LARGE[name]()
    order = np.random.default_rng(2).permutation(A.shape[0])
    refined = backend.host(refine_ordering(backend.csr(A), order))
    assert lf.graph.log_gap(A, refined) <= lf.graph.log_gap(A, order)
    if backend.name == "cuda":
        np.testing.assert_array_equal(refined, refine_ordering(A, order))


@pytest.mark.parametrize(
    "options, error, reason",
    [
        ({"metric": "gap"}, ValueError, "metric must be"),
        ({"fraction": 0}, ValueError, r"fraction must lie in \(0, 1\], got 0"),
        ({"fraction": float("nan")}, ValueError, "fraction must lie"),
        ({"fraction": "all"}, TypeError, "fraction must be a number"),
        ({"passes": 0}, ValueError, "passes must lie"),
        ({"max_degree": 2**24}, ValueError, "max_degree must lie in"),
        ({"max_rounds": 1.5}, TypeError, "max_rounds must be an integer"),
        ({"ordering": [0, 0, 1, 2]}, ValueError, "ordering must be a permutation"),
    ],
)
def test_bad_input(backend, options, error, reason):
    with pytest.raises(error, match=reason):
        refine_ordering(backend.csr(graphs.path_graph(4)), **options)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_no_edges(backend, size):
    found = refine_ordering(backend.csr(sp.csr_array(np.eye(size))))
    assert backend.host(found).tolist() == list(range(size))


def test_progress_is_shown_on_request(capsys):
    A = graphs.path_graph(50)
    order = np.random.default_rng(1).permutation(50)
    refine_ordering(A, order, fraction=1.0)
    assert capsys.readouterr().err == ""
    refine_ordering(A, order, fraction=1.0, passes=100, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("refinement: pass 1 of at most 100, ")
    assert lines[-1] == f"refinement: pass {len(lines)} of at most 100, 0 swaps"
