"""One preconditioner for all ranks: iterations, solutions and products are those of one rank."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_real, real_matrices, skip_or_fail
from petsc_cases import MATRICES, PYTHON, SYMMETRIC, as_petsc, options_of, solved
from petsc_fixtures import PETSc, on_ranks, options

import linforest_precond as lf
from linforest_precond import distributed

GLOBAL = f"{PYTHON} -pc_linforest_scope global"
FORESTS = "tridiagonal", "block_tridiagonal", "jacobi"
KINDS = *FORESTS, *(["multilevel"] if hasattr(distributed, "multilevel") else [])
# Real matrices up to these many nonzeros, solved on several ranks of few cores.
MOST_NONZEROS = 60_000
RANKS = [1, 2, 3, pytest.param(4, marks=pytest.mark.slow), 7]


@pytest.fixture(scope="module")
def on_one_rank(PETSc):
    """Iterations and solution of a kind of preconditioner for one matrix, by the functions for one rank."""
    known = {}

    def result(kind, name):
        if (kind, name) not in known:
            PETSc.Options().insertString(f"-one_{PYTHON[1:]}".replace(" -pc", " -one_pc"))
            PETSc.Options().insertString(options_of(kind, "one_"))
            P = as_petsc(MATRICES[name](), PETSc)
            iterations, reason, x = solved(P, PETSc, "cg" if name in SYMMETRIC else "bcgs", prefix="one_")
            assert reason > 0
            known[kind, name] = iterations, x.getArray().copy()
            for option in [option for option in PETSc.Options().getAll() if option.startswith("one_")]:
                PETSc.Options().delValue(option)
        return known[kind, name]

    return result


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MATRICES)
def test_iterations_and_solutions_are_those_of_one_rank(on_ranks, on_one_rank, ranks, kind, name):
    found = on_ranks(ranks, "solve_kinds", *KINDS)[kind][name]
    iterations, x = on_one_rank(kind, name)
    assert found["iterations"] == iterations
    assert np.allclose(found["x"], x, rtol=0, atol=1e-6 * abs(x).max())


def test_the_kind_that_is_chosen_is_that_of_one_rank(on_ranks):
    line = f"{GLOBAL} -pc_linforest_kind auto -pc_linforest_calibration default"
    one, several = (on_ranks(ranks, "solve_all", line, "aniso2")["aniso2"] for ranks in (1, 3))
    assert one["iterations"] == several["iterations"]


@pytest.mark.parametrize("name", ["convection", "small"])
def test_products_are_those_of_one_rank(on_ranks, name):
    """Transposed ones, of many columns, and after an update, too."""
    A = sp.csr_array(MATRICES[name]())
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    shifted = sp.csr_array(A + sp.eye_array(A.shape[0]))
    lines = [f"{GLOBAL} -pc_linforest_kind {kind}" for kind in FORESTS]
    for kind, found in zip(FORESTS, on_ranks(4, "products_of", name, *lines)):
        M = getattr(lf, kind)(A)
        assert_close(found["product"], M @ b)
        assert_close(found["transpose"], M.T @ b)
        assert_close(found["columns"], np.outer(M @ b, [1.0, 2.0, 4.0]))
        M.update(shifted)
        assert_close(found["updated"], M @ b)
        assert_close(found["transpose_updated"], M.T @ b)
        assert found["kept"]


@pytest.mark.parametrize("ranks", RANKS[:-1])
def test_products_of_hierarchies_are_those_of_one_rank(on_ranks, ranks):
    """Of levels over ranks, and after unequal numbers of sweeps."""
    A = sp.csr_array(MATRICES["convection"]())
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    shifted = sp.csr_array(A + sp.eye_array(A.shape[0]))
    options = {"coarsening": "matching", "max_coarse": 20, "presmooth": 2, "cycle": "W"}
    given = " ".join(f"-pc_linforest_{name} {value}" for name, value in options.items())
    line = f"{GLOBAL} -pc_linforest_kind multilevel -pc_linforest_gather_below 50 {given}"
    (found,) = on_ranks(ranks, "products_of", "convection", line)
    ml = lf.multilevel(A, **options)
    M = ml.aspreconditioner()
    assert_close(found["product"], M @ b)
    assert_close(found["transpose"], M.T @ b)
    assert abs(M.T @ b - M @ b).max() > 1e-3 * abs(M @ b).max()
    assert_close(found["columns"], np.outer(M @ b, [1.0, 2.0, 4.0]))
    ml.update(shifted)
    M = ml.aspreconditioner()
    assert_close(found["updated"], M @ b)
    assert_close(found["transpose_updated"], M.T @ b)
    assert found["kept"]


def assert_close(found, expected):
    assert np.allclose(found, expected, rtol=0, atol=1e-12 * abs(expected).max())


def test_view_tells_of_all_ranks(on_ranks, tmp_path):
    on_ranks(2, "printed", GLOBAL, "aniso1", str(tmp_path / "view"))
    text = (tmp_path / "view").read_text()
    assert "one for all ranks" in text and "576" in text


def nonzero_diagonal():
    """Names of the real matrices that have a nonzero diagonal and are not too large."""
    return [name for name in real_matrices(MOST_NONZEROS) if (load_real(name).diagonal() != 0).all()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tridiagonal", "block_tridiagonal"])
def test_real_matrices(PETSc, on_ranks, kind):
    names = nonzero_diagonal()
    if not names:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    one, *others = (on_ranks(ranks, "real_matrices", kind, *names) for ranks in (1, 2, 3, 4, 7))
    for name in names:
        M = getattr(lf, kind)(load_real(name))
        expected = M @ np.random.default_rng(1).standard_normal(M.shape[0])
        for found in (one, *others):
            error = abs(np.array(found[name]["product"]) - expected).max()
            assert error <= 1e-7 * abs(expected).max(), (name, error)
            assert found[name]["iterations"] == one[name]["iterations"], name
