"""What the rows of a matrix show, against dense arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.matrix.checked import checked

MATRICES = {
    "definite": lambda: sp.csr_array(lf.matrices.poisson((7, 9))),
    "centered": lambda: sp.csr_array(sp.csgraph.laplacian(abs(graphs.random_graph(60)))),
    "indefinite": lambda: graphs.random_graph(80) - 7 * sp.eye_array(80, format="csr"),
    "nonsymmetric": lambda: sp.csr_array(graphs.random_graph(90, symmetric=False)),
    "signs differ": lambda: sp.csr_array(np.array([[2.0, 1.0], [-1.0, 2.0]])),
    "empty rows": lambda: sp.csr_array(np.diag([3.0, 0.0, -2.0])),
    "many blocks": lambda: sp.csr_array(lf.matrices.poisson((150, 170))),
}
TYPES = [np.float64, *map(graphs.slow, (np.float32, np.complex64, np.complex128))]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", MATRICES)
def test_against_dense_arrays(backend, name, dtype):
    A = graphs.with_types(MATRICES[name](), dtype)
    if np.dtype(dtype).kind == "c":
        A.data *= np.where(np.random.default_rng(0).random(A.nnz) < 0.5, 1, np.exp(0.3j)).astype(dtype)
    facts = checked(backend.csr(A)).facts
    diagonal, sizes, sums = A.diagonal(), abs(A).sum(axis=1), abs(A.sum(axis=1))
    own, limits = abs(diagonal), np.finfo(dtype)
    assert facts.hermitian == ((A - A.conj().T).count_nonzero() == 0)
    assert facts.positive == bool((diagonal.real > 0).all())
    assert facts.centered == bool((sums <= 16 * limits.eps * sizes).all())
    assert facts.dominant_share == pytest.approx((own * 1.001 >= sizes - own).mean(), abs=1e-12)
    with np.errstate(over="ignore"):
        mean_ratio = (sizes.astype(np.float64) / np.maximum(own, limits.tiny)).mean()
    assert facts.mean_ratio == pytest.approx(mean_ratio, rel=1e-5)
    found = facts.smallest_diagonal, facts.largest_diagonal
    np.testing.assert_allclose(found, [own.min(), own.max()], rtol=4 * limits.eps)


def test_runs_repeat(backend):
    A = backend.csr(sp.csr_array(lf.matrices.anisotropic_diffusion((170, 160), 0.4, 1e-2)))
    assert checked(A).facts == checked(A).facts


def test_of_no_rows(backend):
    facts = checked(backend.csr(sp.csr_array((0, 0)))).facts
    assert facts.hermitian and facts.dominant_share == 0


@pytest.mark.parametrize(("wide", "narrow"), [(np.float64, np.float32), (np.complex128, np.complex64)])
def test_conversion_of_several_arrays(backend, wide, narrow):
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(size).astype(wide) * 10.0**power for size, power in ((5, 0), (0, 0), (700, -42))
    ]
    arrays = [arrays[i % 3] + (1j if np.dtype(wide).kind == "c" else 0) for i in range(11)]
    convert = backend_of(backend.array(arrays[0])).matrix.copies.converted
    found = convert([backend.array(array) for array in arrays], np.dtype(narrow))
    for own, array in zip(found, arrays, strict=True):
        assert own.dtype == narrow
        np.testing.assert_array_equal(backend.host(own), array.astype(narrow))


@pytest.mark.parametrize(
    ("diagonal", "coupling", "flags"),
    [
        ([2.0, 3.0], -1.0, [False, True, False]),
        ([2.0, -3.0], -1.0, [False, True, True]),
        ([-2.0, 0.0], -1.0, [False, False, True]),
        ([1e-300, 1e-300], -1e300, [True, True, False]),
    ],
)
def test_flags_of_strengths(backend, diagonal, coupling, flags):
    """Some strength is not finite, some diagonal entry is positive, some is not."""
    csr = checked(backend.csr(sp.csr_array(np.diag(diagonal) + np.fliplr(np.diag([coupling] * 2)))))
    found = csr.backend.multigrid.strength.weigh(csr, 0.5)[2]
    assert [bool(flag) for flag in found.tolist()] == flags
