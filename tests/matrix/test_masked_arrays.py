"""Masked arrays are refused wherever A, its arrays or vectors are given."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf

GRID = lf.matrices.poisson((3, 3))
n = GRID.shape[0]
ONES = np.ones(n)


def masked(values):
    """With the first entry masked."""
    values = np.array(values)
    mask = np.zeros(values.shape, bool)
    mask.flat[0] = True
    return np.ma.masked_array(values, mask)


def with_masked(A, field="data"):
    A = A.copy()
    setattr(A, field, masked(getattr(A, field)))
    return A


M = lf.jacobi(GRID)
CASES = {
    "a dense A": lambda: lf.jacobi(masked(GRID.toarray())),
    "CSR": lambda: lf.jacobi(with_masked(GRID)),
    "indices": lambda: lf.jacobi(with_masked(GRID, "indices")),
    "CSC": lambda: lf.tridiagonal(with_masked(GRID.tocsc())),
    "COO": lambda: lf.linear_forest(with_masked(GRID.tocoo())),
    "DIA": lambda: lf.graph.matching(with_masked(sp.dia_array(GRID))),
    "csgraph": lambda: lf.graph.connected_components(with_masked(GRID)),
    "a pattern": lambda: lf.graph.reverse_cuthill_mckee(with_masked(GRID, "indices")),
    "memory": lambda: lf.memory_estimate(with_masked(GRID)),
    "an update": lambda: M.update(with_masked(GRID)),
    "the A of a solver": lambda: lf.solvers.cg(with_masked(GRID), ONES),
    "the dense A of a solver": lambda: lf.solvers.cg(masked(GRID.toarray()), ONES),
    "b": lambda: lf.solve(GRID, masked(ONES)),
    "the b of a solver": lambda: lf.solvers.cg(GRID, masked(ONES)),
    "x0": lambda: lf.solvers.cg(GRID, ONES, x0=masked(ONES)),
    "a null space": lambda: lf.solvers.cg(GRID, ONES, nullspace=masked(ONES)),
    "r": lambda: M @ masked(ONES),
    "several r": lambda: M.matmat(masked(np.ones((n, 2)))),
    "the r of an adjoint": lambda: M.H @ masked(ONES),
    "B": lambda: lf.multilevel(GRID, B=masked(np.ones((n, 1)))),
    "weights": lambda: lf.graph.matching(GRID, weights=masked(np.ones(GRID.nnz))),
    "addresses": lambda: lf.graph.traffic_matrix(masked([1, 2]), [3, 4]),
    "packets": lambda: lf.graph.traffic_matrix([1, 2], [3, 4], masked([1, 1])),
    "traffic": lambda: lf.graph.traffic_statistics(masked(np.eye(2))),
    "sparse traffic": lambda: lf.graph.traffic_statistics(with_masked(GRID)),
}


@pytest.mark.parametrize("case", CASES)
def test_masked_arrays_are_refused(case):
    with pytest.raises(
        TypeError, match=r"must not be a masked array, got one with 1 masked entries; .*filled"
    ):
        CASES[case]()
