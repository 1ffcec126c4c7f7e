"""Every public function checks the entries of A exactly once, `lf.solve` with all its trials included."""

import gc
import inspect
import weakref

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.matrix import checked as door
from linforest_precond.matrix import conversion, doors


def ones(A):
    return (A.diagonal() * 0 + 1).astype(A.dtype)


def integers(A, value):
    return (A.diagonal() * 0 + value).astype(np.int64)


def single(A):
    """No vertex is matched."""
    return integers(A, -1)


# The calls of public functions whose first argument is A.
CALLS = {
    "approximate_inverse": lf.approximate_inverse,
    "auto": lf.auto,
    "block_jacobi": lf.block_jacobi,
    "block_tridiagonal": lf.block_tridiagonal,
    "direct": lf.direct,
    "extract_bands": lambda A: lf.extract_bands(A, FORESTS[type(A)]),
    "gauss_seidel": lf.gauss_seidel,
    "ilu": lf.ilu,
    "jacobi": lf.jacobi,
    "linear_forest": lf.linear_forest,
    "memory_estimate": lambda A: lf.memory_estimate(A, "direct"),
    "multilevel": lf.multilevel,
    "permute": lambda A: lf.permute(A, list(range(A.shape[0]))[::-1]),
    "scaling": lf.scaling,
    "solve": lambda A: lf.solve(A, ones(A)),
    "tridiagonal": lf.tridiagonal,
    "pipeline.tridiagonal_bands": lf.pipeline.tridiagonal_bands,
    "pipeline.block_tridiagonal_bands": lf.pipeline.block_tridiagonal_bands,
    "graph.bandwidth": lf.graph.bandwidth,
    "graph.bfs_levels": lambda A: lf.graph.bfs_levels(A, 0),
    "graph.breadth_first_order": lambda A: lf.graph.breadth_first_order(A, 0),
    "graph.coarsen": lambda A: lf.graph.coarsen(A, single(A)),
    "graph.coarsening_hierarchy": lambda A: lf.graph.coarsening_hierarchy(A, max_coarse=10),
    "graph.connected_components": lf.graph.connected_components,
    "graph.cuthill_mckee": lf.graph.cuthill_mckee,
    "graph.degrees": lf.graph.degrees,
    "graph.factor": lf.graph.factor,
    "graph.fill": lf.graph.fill,
    "graph.greedy_factor": lf.graph.greedy_factor,
    "graph.identity_coverage": lf.graph.identity_coverage,
    "graph.is_coloring": lambda A: lf.graph.is_coloring(A, integers(A, 0)),
    "graph.is_component_labelling": lambda A: lf.graph.is_component_labelling(A, integers(A, 0)),
    "graph.is_matching": lambda A: lf.graph.is_matching(A, single(A)),
    "graph.is_maximal_independent_set": lambda A: lf.graph.is_maximal_independent_set(A, integers(A, 1)),
    "graph.is_maximal_matching": lambda A: lf.graph.is_maximal_matching(A, single(A)),
    "graph.is_spanning_forest": lambda A: lf.graph.is_spanning_forest(A, A),
    "graph.label_propagation": lf.graph.label_propagation,
    "graph.linear_arrangement": lf.graph.linear_arrangement,
    "graph.linear_forest": lf.graph.linear_forest,
    "graph.linear_gap": lf.graph.linear_gap,
    "graph.log_arrangement": lf.graph.log_arrangement,
    "graph.log_gap": lf.graph.log_gap,
    "graph.matching": lf.graph.matching,
    "graph.maximal_independent_set": lf.graph.maximal_independent_set,
    "graph.maximum_spanning_forest": lf.graph.maximum_spanning_forest,
    "graph.minimum_degree": lf.graph.minimum_degree,
    "graph.minimum_spanning_tree": lf.graph.minimum_spanning_tree,
    "graph.order": lambda A: lf.graph.order(A, "degree"),
    "graph.pagerank": lambda A: lf.graph.pagerank(abs(A)),
    "graph.profile": lf.graph.profile,
    "graph.pseudo_peripheral_node": lf.graph.pseudo_peripheral_node,
    "graph.refine_ordering": lf.graph.refine_ordering,
    "graph.reverse_cuthill_mckee": lf.graph.reverse_cuthill_mckee,
    "graph.strongly_connected_components": lf.graph.strongly_connected_components,
    "graph.vertex_coloring": lf.graph.vertex_coloring,
    "graph.wavefront": lf.graph.wavefront,
    "solvers.bicgstab": lambda A: lf.solvers.bicgstab(A, ones(A)),
    "solvers.cg": lambda A: lf.solvers.cg(A, ones(A)),
    "solvers.fcg": lambda A: lf.solvers.fcg(A, ones(A)),
    "solvers.fgmres": lambda A: lf.solvers.fgmres(A, ones(A)),
    "solvers.gmres": lambda A: lf.solvers.gmres(A, ones(A)),
    "solvers.idrs": lambda A: lf.solvers.idrs(A, ones(A)),
    "solvers.minres": lambda A: lf.solvers.minres(A, ones(A)),
}
# A is also the second argument; arrays of packets come through another door.
OTHERS = {"graph.is_spanning_forest": 2}
UNCHECKED = {"graph.traffic_matrix", "graph.traffic_statistics"}
FORESTS = {}


@pytest.fixture
def checks(monkeypatch):
    """The calls that check entries or indices of a user's matrix."""
    counted = []
    for module in (door, doors, conversion):
        for name in ("check_entries", "check_indices", "check_coordinates"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, counting(getattr(module, name), counted))
    return counted


def counting(check, counted):
    def counted_check(*arguments, **options):
        counted.append(check.__name__)
        return check(*arguments, **options)

    return counted_check


@pytest.mark.parametrize("name", CALLS)
def test_once(backend, checks, name):
    A = backend.csr(lf.matrices.poisson((7, 6)))
    FORESTS.setdefault(type(A), lf.linear_forest(A))
    checks.clear()
    CALLS[name](A)
    assert len(checks) == OTHERS.get(name, 1), checks


def test_a_checked_matrix_is_not_checked_again(backend, checks):
    A = door.checked(backend.csr(lf.matrices.poisson((7, 6))))
    assert door.checked(A) is A
    for name in ("tridiagonal", "block_tridiagonal", "jacobi", "ilu", "approximate_inverse", "graph.factor"):
        CALLS[name](A)
    assert len(checks) == 1


@pytest.mark.parametrize("method", ["direct", "tridiagonal", "multilevel"])
def test_a_solver_checks_each_matrix_once(backend, checks, method):
    A = backend.csr(lf.matrices.poisson((7, 6)))
    solver = lf.Solver(A, method=method)
    for values in (1.0, 2.0, 3.0):
        solver.update(values * A)
        solver.solve(ones(A))
        solver.solve(2 * ones(A))
    assert len(checks) == 4


def test_every_public_function_is_called():
    rooms = {"": lf, "graph.": lf.graph, "solvers.": lf.solvers}
    public = {
        f"{prefix}{name}"
        for prefix, room in rooms.items()
        for name in room.__all__
        if inspect.isfunction(function := getattr(room, name))
        and next(iter(inspect.signature(function).parameters), None) == "A"
    }
    assert public - UNCHECKED == {name for name in CALLS if not name.startswith("pipeline.")}


SETUPS = {
    "tridiagonal": lf.tridiagonal,
    "several forests": lambda A: lf.tridiagonal(A, forests=2),
    "gauss_seidel": lambda A: lf.gauss_seidel(A, sweeps=2),
    "ilu": lf.ilu,
    "approximate_inverse": lf.approximate_inverse,
    "multilevel": lambda A: lf.multilevel(A, coarsening="matching", max_coarse=9).aspreconditioner(),
}


@pytest.mark.parametrize("name", SETUPS)
def test_preconditioners_do_not_keep_the_users_matrix(backend, name):
    A = backend.csr(lf.matrices.poisson((7, 6)))
    alive, M = weakref.ref(A), SETUPS[name](A)
    del A
    gc.collect()
    assert alive() is None and M.shape == (42, 42)
