"""`linforest_precond.jax.solve` and the classes for lineax: solutions, derivatives, transformations."""

import numpy as np
import pytest
from interop_libraries import definite, jax_on_host, nonsymmetric, require

import linforest_precond as lf
import linforest_precond.jax as lf_jax

jax = jnp = None


@pytest.fixture(autouse=True)
def real_jax():
    global jax, jnp
    jax = require("jax")
    jax_on_host(jax)
    jnp = jax.numpy


def bcsr(A, data=None):
    from jax.experimental.sparse import BCSR

    arrays = (A.data if data is None else data, A.indices, A.indptr)
    return BCSR(tuple(map(jnp.asarray, arrays)), shape=A.shape)


def bcoo(A, data):
    """With an entry of padding, and each entry split into two."""
    from jax.experimental.sparse import BCOO

    n = A.shape[0]
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    indices = np.stack((rows, A.indices), axis=1)
    indices = np.concatenate((indices, indices, [[n, 0]]))
    return BCOO((jnp.concatenate((data / 4, 3 * data / 4, jnp.ones(1))), jnp.asarray(indices)), shape=A.shape)


def function_of(build, A, **options):
    return lambda data, b: lf_jax.solve(build(A, data), b, rtol=1e-13, **options)


def vector(n, *columns):
    return jnp.asarray(np.random.default_rng(3).standard_normal((n, *columns)))


@pytest.mark.parametrize("build", [bcsr, bcoo])
def test_the_system_is_solved_with_and_without_compilation(build):
    A, b = nonsymmetric(), vector(12)
    solve = function_of(build, A, M=lf.jacobi(A))
    for x in (solve(jnp.asarray(A.data), b), jax.jit(solve)(jnp.asarray(A.data), b)):
        assert isinstance(x, jax.Array)
        np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), atol=1e-11)


@pytest.mark.parametrize("build", [bcsr, bcoo])
def test_derivatives_of_both_modes(build):
    from jax.test_util import check_grads

    A = nonsymmetric(6)
    solve = function_of(build, A, M=lf.tridiagonal, method="gmres")
    check_grads(solve, (jnp.asarray(A.data), vector(6)), order=2, modes=("fwd", "rev"))
    check_grads(solve, (jnp.asarray(A.data), vector(6, 2)), order=1, modes=("rev",))


def test_derivatives_of_a_definite_matrix_by_cg():
    from jax.test_util import check_grads

    A = definite(6)
    check_grads(function_of(bcsr, A, M=lf.jacobi), (jnp.asarray(A.data), vector(6)), order=1)


def test_gradients_are_those_of_the_adjoint_system():
    A, b, g = nonsymmetric(), vector(12), np.linspace(1, 2, 12)
    gradient, y = jax.grad(lambda data, b: jnp.dot(g, function_of(bcsr, A)(data, b)), (0, 1))(
        jnp.asarray(A.data), b
    )
    x, expected = np.linalg.solve(A.toarray(), b), np.linalg.solve(A.toarray().T, g)
    rows = np.repeat(np.arange(12), np.diff(A.indptr))
    np.testing.assert_allclose(y, expected, atol=1e-11)
    np.testing.assert_allclose(gradient, -expected[rows] * x[A.indices], atol=1e-11)


def test_vmap_solves_each_system():
    A, columns = nonsymmetric(), vector(12, 3)
    x = jax.vmap(function_of(bcsr, A), (None, 1), 1)(jnp.asarray(A.data), columns)
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), columns), atol=1e-11)


def test_arrays_of_numpy_are_taken_as_b():
    A = nonsymmetric()
    assert isinstance(lf_jax.solve(bcsr(A), np.ones(12)), jax.Array)


def test_failures_are_errors():
    A, b = bcsr(nonsymmetric()), vector(12)
    with pytest.raises(RuntimeError, match="did not solve A x = b"):
        lf_jax.solve(A, b, maxiter=1, rtol=1e-12)
    with pytest.warns(RuntimeWarning, match="did not solve A x = b"):
        lf_jax.solve(A, b, maxiter=1, rtol=1e-12, throw=False)


def test_bad_arguments_are_named():
    A, b = bcsr(nonsymmetric()), vector(12)
    for arguments, error, words in (
        ((A.todense(), b), TypeError, "A must be a BCSR or BCOO matrix"),
        ((A, [1.0] * 12), TypeError, "b must be a dense array of JAX"),
        ((A, b[:3]), ValueError, r"b must have the shape \(12,\)"),
    ):
        with pytest.raises(error, match=words):
            lf_jax.solve(*arguments)


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'Cholesky'"):
        _ = lf_jax.Cholesky


class TestLineax:
    @pytest.fixture
    def lineax(self):
        return require("lineax")

    def function(self, lineax, A, **options):
        def solve(data, b):
            operator = lf_jax.SparseLinearOperator(bcsr(A, data))
            return lineax.linear_solve(operator, b, lf_jax.Krylov(rtol=1e-13, **options)).value

        return solve

    def test_derivatives(self, lineax):
        from jax.test_util import check_grads

        A, b = nonsymmetric(6), vector(6)
        solve = self.function(lineax, A, M=lf.jacobi(A), method="gmres")
        np.testing.assert_allclose(solve(jnp.asarray(A.data), b), np.linalg.solve(A.toarray(), b), atol=1e-11)
        check_grads(solve, (jnp.asarray(A.data), b), order=1, modes=("fwd", "rev"))

    def test_the_operator_is_its_matrix(self, lineax):
        A = nonsymmetric()
        operator = lf_jax.SparseLinearOperator(bcsr(A))
        np.testing.assert_array_equal(operator.as_matrix(), A.toarray())
        np.testing.assert_array_equal(operator.T.as_matrix(), A.toarray().T)
        np.testing.assert_array_equal(lineax.diagonal(operator), A.diagonal())
        np.testing.assert_allclose(operator.mv(vector(12)), A @ vector(12))
        assert not lineax.is_symmetric(operator)
        assert lineax.is_symmetric(lf_jax.SparseLinearOperator(bcsr(definite()), lineax.symmetric_tag))

    def test_transposed_and_conjugated_operators_are_solved(self, lineax):
        A, b = nonsymmetric(dtype=np.complex128), vector(12) * (1 + 0.5j)
        operator = lf_jax.SparseLinearOperator(bcsr(A))
        solver = lf_jax.Krylov(lf.jacobi(A), rtol=1e-12)
        for view, dense in ((operator.T, A.toarray().T), (lineax.conj(operator), A.toarray().conj())):
            x = lineax.linear_solve(view, b, solver).value
            np.testing.assert_allclose(x, np.linalg.solve(dense, b), atol=1e-9)
        state, options = solver.conj(*solver.transpose(solver.init(operator, {}), {}))
        x, _, _ = solver.compute(state, b, options)
        np.testing.assert_allclose(x, np.linalg.solve(A.toarray().conj().T, b), atol=1e-9)

    def test_outcomes_have_names(self, lineax):
        operator = lf_jax.SparseLinearOperator(bcsr(nonsymmetric()))
        solution = lineax.linear_solve(operator, vector(12), lf_jax.Krylov(maxiter=1), throw=False)
        assert solution.result == lineax.RESULTS.max_steps_reached and solution.stats["info"] == 1

    def test_operators_without_entries_are_refused(self, lineax):
        with pytest.raises(TypeError, match="operator must be a linforest_precond.jax.SparseLinearOperator"):
            lineax.linear_solve(lineax.MatrixLinearOperator(jnp.eye(3)), jnp.ones(3), lf_jax.Krylov())
