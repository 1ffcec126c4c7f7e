"""The choice over ranks: the facts of one process, and one decision for any number of ranks."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import jumps, random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.chooser.facts import facts_of
from linforest_precond.distributed import scatter, simulate
from linforest_precond.distributed.chooser.facts import facts_of_ranks
from linforest_precond.matrix.checked import checked

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# Sums, whose order is not that of one process.
SUMS = "surplus", "heavy_share"


def laplacian():
    W = abs(lf.matrices.poisson((9, 9)))
    W.setdiag(0)
    return sp.csr_array(sp.diags_array(W.sum(axis=1)) - W)


def tiny_diagonal():
    A = random_matrix(60, 0.1, 2)
    A = sp.csr_array(A + sp.diags_array(np.where(np.arange(60) % 3, 1.0, 1e-9)))
    return A


MATRICES = {
    "aniso": lambda: lf.matrices.aniso(2, 14),
    "jumps": lambda: jumps((9, 9)),
    "centered": laplacian,
    "not Hermitian": lambda: random_matrix(50, 0.08, 1),
    "tiny diagonal": tiny_diagonal,
    "large numbers": lambda: 1e200 * lf.matrices.poisson((9, 9)),
    "rows without entries": lambda: sp.block_diag([lf.matrices.poisson((5, 5)), sp.csr_array((3, 3))], "csr"),
}


@pytest.mark.parametrize("name", MATRICES)
def test_facts_are_those_of_one_process(name):
    A = sp.csr_array(MATRICES[name]())
    wanted = dataclasses.asdict(facts_of(checked(A)))
    if name == "not Hermitian":  # its pattern has no full matching
        wanted["structural_rank"] = A.shape[0] - len(empty_rows(A))
        wanted["dependent_rows"] = tuple(empty_rows(A)[:5])
    seen = set()
    for size in (1, 3, 4):
        offsets = random_offsets(A.shape[0], size, size)
        facts = simulate(size, lambda comm, cuts=offsets: facts_of_ranks(scatter(A, comm, cuts)))
        seen |= {repr(each) for each in facts}
        found = dataclasses.asdict(facts[0])
        assert [found.pop(sum_) for sum_ in SUMS] == pytest.approx([wanted[sum_] for sum_ in SUMS], rel=1e-12)
        assert found == {fact: value for fact, value in wanted.items() if fact not in SUMS}
    assert len(seen) == 1


def empty_rows(A):
    return np.flatnonzero(np.diff(A.indptr) == 0).tolist()


@pytest.mark.parametrize(
    ("name", "matrix", "kind"),
    [
        ("aniso", lambda: lf.matrices.aniso(2, 60), "multilevel"),
        ("easy", lambda: lf.matrices.poisson((20, 20)) + sp.eye_array(400), "jacobi"),
        ("rows without entries", MATRICES["rows without entries"], "jacobi"),
    ],
)
def test_all_ranks_choose_the_same_for_any_number_of_ranks(name, matrix, kind):
    A = sp.csr_array(matrix())

    def chosen(comm, offsets):
        own, history = scatter(A, comm, offsets), lf.solvers.History()
        M = distributed.auto(own, calibration="default")
        distributed.bicgstab(own, np.ones(own.n_local), M=M, history=history, maxiter=20)
        return M.kind, M.choice, history.residuals.tobytes()

    found = set()
    for size in (1, 3):
        found |= set(simulate(size, chosen, random_offsets(A.shape[0], size, size)))
    ((seen, choice, _),) = found
    assert seen == kind and choice.startswith(f"distributed.{kind}(A") and "tried: " in choice


def test_options_are_checked():
    A = lf.matrices.poisson((4, 4))
    with pytest.raises(ValueError, match='calibration must be "measured" or "default", got \'guessed\''):
        simulate(2, lambda comm: distributed.auto(scatter(A, comm), calibration="guessed"))
    with pytest.raises(
        ValueError, match="the options must be the same on all ranks, but seed is 0 on rank 0"
    ):
        simulate(2, lambda comm: distributed.auto(scatter(A, comm), seed=comm.rank))


def test_a_matrix_without_rows_gets_a_preconditioner():
    A = sp.csr_array((0, 0))
    assert simulate(2, lambda comm: distributed.auto(scatter(A, comm)).kind) == ["jacobi", "jacobi"]
