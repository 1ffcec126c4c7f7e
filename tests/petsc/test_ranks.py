"""On several ranks of Open MPI: the preconditioner of each rank's block, and failures."""

import numpy as np
import pytest
import scipy.sparse as sp
from petsc_cases import MATRICES, PYTHON
from petsc_fixtures import PETSc, on_ranks, start

import linforest_precond as lf

GLOBAL = f"{PYTHON} -pc_linforest_scope global"
SUB = "-pc_type bjacobi -sub_pc_type python -sub_pc_python_type linforest_precond.petsc.PC"


def blocks(A, ranks):
    """The diagonal blocks of a matrix that is partitioned as PETSc does."""
    n = A.shape[0]
    ends = np.cumsum([0, *(n // ranks + (n % ranks > rank) for rank in range(ranks))])
    return [A[a:b, a:b] for a, b in zip(ends, ends[1:])]


def right_hand_side(n):
    return np.random.default_rng(1).standard_normal(n)


@pytest.mark.parametrize("ranks, name", [(2, "convection"), (4, "small")])
def test_of_a_parallel_matrix_each_rank_takes_its_block(on_ranks, ranks, name):
    A = sp.csr_array(MATRICES[name]())
    parts, n = blocks(A, ranks), A.shape[0]
    found = on_ranks(ranks, "products", PYTHON, name)
    operators = [lf.tridiagonal(part) for part in parts]
    b = np.split(right_hand_side(n), np.cumsum([part.shape[0] for part in parts])[:-1])
    expected = np.concatenate([M @ own for M, own in zip(operators, b)])
    assert np.array_equal(found["product"], expected)
    assert np.array_equal(found["transpose"], np.concatenate([M.T @ own for M, own in zip(operators, b)]))
    assert np.allclose(found["columns"], expected[:, None] * np.array([1.0, 2.0, 4.0]), rtol=1e-13)
    for M, part in zip(operators, parts):
        M.update(sp.csr_array(part + sp.eye_array(part.shape[0])))
    assert np.array_equal(found["updated"], np.concatenate([M @ own for M, own in zip(operators, b)]))
    assert found["kept"]


@pytest.mark.parametrize("line", [PYTHON, GLOBAL])
def test_matrices_of_other_types(on_ranks, line):
    plain, *others = on_ranks(2, "products_by_type", line, "aij", "baij", "sbaij", "nest")
    assert others == [plain] * 3


def test_under_block_jacobi_the_same_iterations(on_ranks):
    own, under = (on_ranks(2, "solve_all", line, "aniso2")["aniso2"] for line in (PYTHON, SUB))
    assert own["iterations"] == under["iterations"] and own["x"] == under["x"]


@pytest.mark.parametrize("line", [PYTHON, GLOBAL])
def test_options_that_differ_are_refused_by_all_ranks(on_ranks, line):
    messages = on_ranks(3, "options_differ", line, "-pc_linforest_seed 5")
    assert len(set(messages)) == 1 and "must be the same on all ranks" in messages[0]
    assert messages[0].endswith("but -pc_linforest_seed is not given on rank 0 and 5 on rank 1")


def test_scopes_that_differ_are_refused_by_all_ranks(on_ranks):
    messages = on_ranks(3, "options_differ", PYTHON, "-pc_linforest_scope global")
    assert len(set(messages)) == 1 and "must be the same on all ranks" in messages[0]


@pytest.mark.parametrize(
    "line, message", [(PYTHON, "P"), (GLOBAL, "P"), (SUB, "P, a matrix of rank 1 alone,")]
)
def test_nan_is_named_by_its_place_in_the_matrix(on_ranks, line, message):
    """Block Jacobi's own blocks are matrices of one rank, in which nothing says where they come from."""
    row = 0 if line == SUB else 192
    expected = f"{message} must be finite, got nan in row {row}, column {row}"
    assert any(expected in found for found in on_ranks(3, "nan_messages", line))


FAILURES = {
    "apply": ("one_rank_raises", PYTHON, "apply", "broken in apply"),
    "setUp": ("one_rank_raises", PYTHON, "setUp", "broken in setUp"),
    "NaN in a block": ("bad_block", PYTHON, "finite"),
    "NaN in a block below bjacobi": ("bad_block", SUB, "finite"),
    "NaN, all ranks": ("bad_block", GLOBAL, "finite"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_rank_that_raises_ends_the_job(PETSc, failure):
    *program, message = FAILURES[failure]
    process = start(3, *program)
    assert process.returncode != 0
    assert "Traceback" in process.stderr and message in process.stderr


def test_a_killed_rank_ends_the_job(PETSc):
    assert start(3, "rank_is_killed", PYTHON).returncode != 0


def test_communicators_are_given_back(on_ranks):
    assert on_ranks(2, "freed", PYTHON)


def test_view_on_several_ranks(on_ranks, tmp_path):
    on_ranks(2, "printed", PYTHON, "aniso1", str(tmp_path / "view"))
    text = (tmp_path / "view").read_text()
    assert (
        "the block of each rank" in text
        and "tridiagonal part along a linear forest" in text
        and "288" in text
    )
