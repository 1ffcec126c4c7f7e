"""`linforest_precond.torch.solve`: solutions, gradients against finite differences, and what is refused."""

import numpy as np
import pytest
from interop_libraries import definite, nonsymmetric, require

import linforest_precond as lf
from linforest_precond.torch import solve

torch = None
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")


@pytest.fixture(autouse=True)
def real_torch():
    global torch
    torch = require("torch")
    assert hasattr(torch, "sparse_csr_tensor")  # not the package of the same name inside this one


def tensors(A):
    return [torch.from_numpy(part.copy()) for part in (A.indptr, A.indices, A.data)]


def csr(A, values=None):
    indptr, indices, data = tensors(A)
    return torch.sparse_csr_tensor(indptr, indices, data if values is None else values, A.shape)


def coo(A, values):
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return torch.sparse_coo_tensor(np.stack((rows, A.indices)), values, A.shape)


def csc(A, values):
    """The same values as those of A transposed, by columns."""
    indptr, indices, _ = tensors(A)
    return torch.sparse_csc_tensor(indptr, indices, values, A.shape)


def random(*shape, dtype=None):
    return torch.randn(*shape, dtype=dtype or torch.float64, requires_grad=True)


def assert_gradients(build, A, b, second=True, **options):
    values = tensors(A)[2].requires_grad_()

    def function(values, b):
        return solve(build(A, values), b, rtol=1e-14, **options)

    assert torch.autograd.gradcheck(function, (values, b))
    assert not second or torch.autograd.gradgradcheck(function, (values, b))


@pytest.mark.parametrize("build", [csr, coo, csc])
def test_the_system_is_solved(build):
    A, b = nonsymmetric(), np.arange(12.0)
    x = solve(build(A, tensors(A)[2]), torch.from_numpy(b), M=lf.jacobi, rtol=1e-12)
    dense = A.toarray().T if build is csc else A.toarray()
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(dense, b), atol=1e-9)


@pytest.mark.parametrize("build", [csr, coo, csc])
def test_gradients_of_a_nonsymmetric_matrix(build):
    assert_gradients(build, nonsymmetric(6), random(6), M=lf.jacobi, method="gmres")


def test_gradients_of_a_definite_matrix_by_cg():
    assert_gradients(csr, definite(6), random(6), M=lf.jacobi)


def test_gradients_of_several_columns():
    assert_gradients(csr, nonsymmetric(5), random(5, 2), second=False, method="gmres")


@pytest.mark.slow
def test_gradients_of_complex_numbers():
    A = nonsymmetric(6, dtype=np.complex128)
    assert_gradients(coo, A, random(6, dtype=torch.complex128), M=lf.jacobi, method="gmres")


@pytest.mark.slow
def test_gradients_of_a_real_matrix_with_a_complex_vector():
    b = random(6, dtype=torch.complex128)
    assert_gradients(csr, nonsymmetric(6), b, M=lf.jacobi, method="gmres")


def test_leaves_of_a_sparse_layout_get_gradients_of_that_layout():
    A, g = nonsymmetric(), np.linspace(1, 2, 12)
    given, b = csr(A).requires_grad_(), random(12)
    x = solve(given, b, M=lf.jacobi(A), rtol=1e-13)
    x.backward(torch.from_numpy(g))
    y = np.linalg.solve(A.toarray().T, g)
    rows = np.repeat(np.arange(12), np.diff(A.indptr))
    assert given.grad.layout == torch.sparse_csr
    np.testing.assert_allclose(b.grad.numpy(), y, atol=1e-10)
    np.testing.assert_allclose(
        given.grad.values().numpy(), -y[rows] * x.detach().numpy()[A.indices], atol=1e-10
    )


class Recorded:
    """A preconditioner that counts its products, and those of its transpose."""

    def __init__(self, M, counts, name):
        self.operator, self.counts, self.name = M, counts, name
        self.shape, self.dtype = M.shape, M.dtype

    def __matmul__(self, x):
        self.counts[self.name] += 1
        return self.operator @ x

    @property
    def T(self):  # noqa: N802
        return Recorded(self.operator.T, self.counts, "M.T")


def test_the_adjoint_system_is_preconditioned_by_the_transpose():
    A, counts = nonsymmetric(), {"M": 0, "M.T": 0}
    M = Recorded(lf.tridiagonal(A), counts, "M")
    b = random(12)
    x = solve(csr(A), b, M=M)
    assert counts["M"] > 0 and counts["M.T"] == 0
    before = counts["M"]
    x.sum().backward()
    assert counts["M"] == before and counts["M.T"] > 0


def test_a_function_makes_the_preconditioner_once():
    A, made = nonsymmetric(), []

    def make(B):
        made.append(B)
        return lf.jacobi(B)

    solve(csr(A), random(12), M=make).sum().backward()
    assert len(made) == 1


def test_single_precision_has_a_tolerance_of_its_own():
    A, b = nonsymmetric(dtype=np.float32), torch.ones(12)
    x = solve(csr(A), b)
    assert x.dtype == torch.float32
    np.testing.assert_allclose(A @ x.numpy(), 1, atol=1e-3)


def test_failures_are_errors_or_warnings():
    A, b = csr(nonsymmetric()), torch.ones(12, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="bicgstab did not solve A x = b .maxiter.*throw=False"):
        solve(A, b, maxiter=1, rtol=1e-12)
    with pytest.warns(RuntimeWarning, match="bicgstab did not solve"):
        solve(A, b, maxiter=1, rtol=1e-12, throw=False)


def test_bad_arguments_are_named():
    A, b = csr(nonsymmetric()), torch.ones(12, dtype=torch.float64)
    for arguments, error, words in (
        ((A.to_dense(), b), TypeError, "A must be a sparse tensor.*to_sparse_csr"),
        ((nonsymmetric(), b), TypeError, "A must be a sparse tensor.*csr_array"),
        ((A, b.numpy()), TypeError, "b must be a dense tensor"),
        ((A, b[:3]), ValueError, r"b must have the shape \(12,\)"),
        ((torch.ones(2, 3).to_sparse_csr(), b), ValueError, "A must be square"),
    ):
        with pytest.raises(error, match=words):
            solve(*arguments)
    with pytest.raises(ValueError, match="method must be None or one of cg"):
        solve(A, b, method="lu")


@pytest.mark.gpu
def test_gradients_on_the_gpu(cuda):
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA device")
    A = nonsymmetric(6)
    indptr, indices, values = (part.cuda() for part in tensors(A))
    b = torch.randn(6, dtype=torch.float64, device="cuda", requires_grad=True)

    def function(values, b):
        given = torch.sparse_csr_tensor(indptr, indices, values, A.shape)
        return solve(given, b, M=lf.tridiagonal, method="gmres", rtol=1e-14)

    assert function(values, b).is_cuda
    assert torch.autograd.gradcheck(function, (values.requires_grad_(), b))
