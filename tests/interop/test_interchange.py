"""Vectors and matrices of other libraries: what goes in comes out, without a copy; and what is refused."""

import numpy as np
import pytest
from interop_libraries import PlainArray, definite, jax_on_host, library, nonsymmetric, require  # noqa: F401

import linforest_precond as lf
from linforest_precond.backends.array_libraries import is_foreign
from linforest_precond.interop import dlpack as interchange
from linforest_precond.matrix.checked import checked

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")


def test_solvers_return_what_b_was(library):  # noqa: F811
    A, b = definite(), np.arange(12.0)
    expected, _ = lf.solvers.cg(A, b)
    x, info = lf.solvers.cg(A, library.array(b))
    assert info == 0 and isinstance(x, library.kind)
    np.testing.assert_array_equal(library.host(x), expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab", "gmres", "fgmres", "minres", "idrs"])
def test_every_solver_takes_them(library, method):  # noqa: F811
    A, b = definite(), np.random.default_rng(1).standard_normal((12, 2))
    solve = getattr(lf.solvers, method)
    x, info = solve(A, library.array(b), library.array(np.ones_like(b)), M=lf.jacobi(A), rtol=1e-10)
    assert isinstance(x, library.kind) and not np.any(info)
    np.testing.assert_allclose(A @ library.host(x), b, atol=1e-8)


def test_a_kept_solver_takes_them(library):  # noqa: F811
    A, b = definite(), np.arange(12.0)
    solver = lf.Solver(library.array(A.toarray()))
    for _ in range(2):
        x, info = solver.solve(library.array(b))
        assert info == 0 and type(x) is type(library.array(b))
        np.testing.assert_allclose(A @ library.host(x), b, atol=1e-6)


def test_products_return_what_r_was(library):  # noqa: F811
    M, r = lf.jacobi(nonsymmetric()), np.arange(12.0)
    for product in (M @ library.array(r), M.matvec(library.array(r)), M.T @ library.array(r)):
        assert isinstance(product, library.kind)
        np.testing.assert_array_equal(library.host(product), M @ r)
    columns = M.matmat(library.array(np.stack((r, 2 * r), axis=1)))
    assert isinstance(columns, library.kind) and tuple(columns.shape) == (12, 2)


def test_stacks_are_taken(library):  # noqa: F811
    A, R = nonsymmetric(), np.arange(24.0).reshape(2, 12)
    values = np.stack((A.data, 2 * A.data))
    M = lf.tridiagonal(A, values=library.array(values))
    X = M @ library.array(R)
    assert isinstance(X, library.kind) and tuple(X.shape) == (2, 12)
    np.testing.assert_array_equal(library.host(X), lf.tridiagonal(A, values=values) @ R)


def test_a_dense_matrix_is_taken(library):  # noqa: F811
    A = nonsymmetric()
    found = checked(library.array(A.toarray()))
    assert (found.indices.tolist(), found.data.tolist()) == (A.indices.tolist(), A.data.tolist())


def test_callbacks_get_copies_of_the_users_kind(library):  # noqa: F811
    A, b, iterates = definite(), np.arange(12.0), []
    lf.solvers.cg(A, library.array(b), callback=iterates.append, rtol=1e-10)
    assert len(iterates) > 1 and all(isinstance(x, library.kind) for x in iterates)
    residuals = [np.linalg.norm(A @ library.host(x) - b) for x in iterates]
    assert residuals[0] > 1e3 * residuals[-1]  # each kept its own values


def test_vectors_are_not_copied(library):  # noqa: F811
    b = library.array(np.arange(64.0))
    found = interchange.native_array("b", b)
    assert np.shares_memory(found, np.from_dlpack(b)) and found.tolist() == list(range(64))


def test_results_are_not_copied():
    x = np.arange(4.0)
    assert np.shares_memory(interchange.returned_as(PlainArray(x))(x).array, x)


def test_arrays_of_numpy_are_native():
    for native in (np.ones(3), np.float64(1), definite(), [1.0, 2.0], None):
        assert not is_foreign(native)
        assert interchange.native_matrix("A", native) is native


def test_the_right_hand_side_alone_may_be_native(library):  # noqa: F811
    A, b = definite(), np.ones(12)
    x, info = lf.solvers.cg(library.array(A.toarray()), b)
    assert type(x) is np.ndarray and info == 0


def test_a_nullspace_is_taken(library):  # noqa: F811
    A, b = lf.matrices.poisson((12,)), np.arange(12.0)
    A = A - np.diag(A.sum(axis=1))  # maps constants to 0
    x, _ = lf.solvers.cg(A, library.array(b - b.mean()), nullspace=library.array(np.ones(12)), rtol=1e-10)
    np.testing.assert_allclose(A @ library.host(x), b - b.mean(), atol=1e-7)
    assert abs(library.host(x).mean()) < 1e-8


def test_an_argument_that_is_missing_is_named():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        lf.solvers.cg(definite())


def test_inner_products_get_the_users_kind():
    torch = require("torch")
    A, b = definite(), torch.ones(12, dtype=torch.float64)
    x, info = lf.solvers.cg(A, b, inner=torch.vdot)
    assert info == 0 and isinstance(x, torch.Tensor)
    np.testing.assert_allclose(A @ x.numpy(), 1, atol=1e-4)


def torch_matrices(torch, A):
    """The layouts of torch, with 32- and 64-bit indices, and a COO tensor with duplicates."""
    indptr, indices, data = map(torch.from_numpy, (A.indptr, A.indices, A.data))
    csr = torch.sparse_csr_tensor(indptr, indices, data, A.shape)
    wide = torch.sparse_csr_tensor(indptr.long(), indices.long(), data, A.shape)
    dense = csr.to_dense()
    coo = dense.to_sparse_coo()
    halves = torch.sparse_coo_tensor(
        torch.cat((coo.indices(), coo.indices()), 1), torch.cat((coo.values(), coo.values())) / 2, A.shape
    )
    return csr, wide, dense.to_sparse_csc(), dense.to_sparse_bsr((3, 3)), coo, halves, dense


def assert_same_entries(found, A):
    assert found.indices.tolist() == A.indices.tolist() and found.indptr.tolist() == A.indptr.tolist()
    np.testing.assert_array_equal(found.data, A.data)


def test_sparse_tensors_of_torch_are_taken():
    torch, A = require("torch"), nonsymmetric()
    for given in torch_matrices(torch, A):
        found = checked(given).data
        if given.layout == torch.sparse_bsr:  # stores the zeros of its blocks
            found = found[found != 0]
        np.testing.assert_array_equal(found, A.data)
        x, info = lf.solvers.bicgstab(given, torch.ones(12, dtype=torch.float64), rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(A @ x.numpy(), 1, atol=1e-8)


def test_values_of_sparse_tensors_are_not_copied():
    torch, A = require("torch"), nonsymmetric()
    csr, wide, csc, _, coo, *_ = torch_matrices(torch, A)
    for given in (csr, wide, csc, coo):
        values = given._values() if given.layout == torch.sparse_coo else given.values()
        assert np.shares_memory(interchange.native_matrix("A", given).data, values.numpy())
    assert np.shares_memory(interchange.native_matrix("A", wide).indices, wide.col_indices().numpy())


def test_sparse_matrices_of_jax_are_taken():
    jax, A = require("jax"), nonsymmetric()
    jax_on_host(jax)
    for given in jax_matrices(A):
        assert_same_entries(checked(given), A)
        x, info = lf.solvers.bicgstab(given, jax.numpy.ones(12), rtol=1e-10)
        assert info == 0 and isinstance(x, jax.Array)
        np.testing.assert_allclose(A @ np.asarray(x), 1, atol=1e-8)
    assert np.shares_memory(interchange.native_matrix("A", given).data, np.asarray(given.data))


def jax_matrices(A):
    """BCOO with and without padding, and BCSR with and without; the last one shares its memory."""
    from jax import numpy as jnp
    from jax.experimental.sparse import BCOO, BCSR

    data, indices, indptr = map(jnp.asarray, (A.data, A.indices, A.indptr))
    n = A.shape[0]
    bcsr = BCSR((data, indices, indptr), shape=A.shape)
    bcoo = bcsr.to_bcoo()
    outside = jnp.asarray([[n, n], [2, n], [n, 2]], bcoo.indices.dtype)
    padded = BCOO(
        (jnp.append(bcoo.data, jnp.ones(3)), jnp.concatenate((bcoo.indices, outside))), shape=A.shape
    )
    longer = BCSR((jnp.append(data, 7.0), jnp.append(indices, 1), indptr), shape=A.shape)
    return bcoo, padded, longer, bcsr


def test_a_sparse_tensor_serves_a_preconditioner_and_its_update():
    torch, A = require("torch"), nonsymmetric()
    csr = torch_matrices(torch, A)[0]
    M = lf.jacobi(csr)
    np.testing.assert_array_equal(M @ np.ones(12), lf.jacobi(A) @ np.ones(12))
    M.update(2 * csr)
    np.testing.assert_array_equal(M @ np.ones(12), lf.jacobi(2 * A) @ np.ones(12))
    assert lf.graph.connected_components(csr)[0] == lf.graph.connected_components(A)[0]
    assert lf.permute(csr, np.arange(12)[::-1].copy()).nnz == A.nnz


def test_tensors_that_require_gradients_are_refused():
    torch = require("torch")
    b = torch.ones(12, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match=r"b requires gradients.*torch\.solve.*b\.detach\(\)"):
        lf.solvers.cg(definite(), b)
    with pytest.raises(TypeError, match="r requires gradients"):
        lf.jacobi(definite()) @ b


def test_types_without_a_counterpart_are_refused():
    torch = require("torch")
    with pytest.raises(TypeError, match="b must hold numbers.*bfloat16"):
        lf.solvers.cg(definite(), torch.ones(12, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="b must be dense"):
        lf.solvers.cg(definite(), torch.ones(12, dtype=torch.float64).to_sparse())


def test_conjugates_that_torch_delays_are_resolved():
    torch = require("torch")
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    assert interchange.native_array("b", z.conj()).tolist() == [1 - 2j, 3 + 1j]


def test_traced_arrays_are_refused():
    jax = require("jax")
    with pytest.raises(TypeError, match=r"b is traced by JAX.*linforest_precond\.jax\.solve"):
        jax.jit(lambda b: lf.solvers.cg(definite(), b)[0])(jax.numpy.ones(12))


def test_batches_of_jax_are_refused():
    require("jax")
    from jax import numpy as jnp
    from jax.experimental.sparse import BCOO

    with pytest.raises(ValueError, match="A must be one sparse matrix, got 1 batch"):
        checked(BCOO.fromdense(jnp.ones((2, 3, 3)), n_batch=1))


@pytest.mark.gpu
def test_tensors_on_the_gpu_stay_there(cuda):
    torch = require("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA device")
    A, b = lf.matrices.poisson((10, 20)), torch.arange(200, dtype=torch.float64, device="cuda")
    indptr, indices, data = (torch.from_numpy(part).cuda() for part in (A.indptr, A.indices, A.data))
    given = torch.sparse_csr_tensor(indptr, indices, data, A.shape)
    native = interchange.native_matrix("A", given)
    assert native.data.data.ptr == data.data_ptr()
    assert interchange.native_array("b", b).data.ptr == b.data_ptr()
    M = lf.tridiagonal(given)
    x, info = lf.solvers.cg(given, b, M=M, rtol=1e-10)
    assert info == 0 and x.is_cuda and (M @ b).is_cuda
    np.testing.assert_allclose(A @ x.cpu().numpy(), b.cpu().numpy(), atol=1e-6)
