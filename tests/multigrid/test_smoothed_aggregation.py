"""Aggregates, smoothed prolongators and l1 weights against an oracle in plain Python; invariants."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from aggregation_oracles import Oracle
from conftest import CPU
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.backends.cuda.multigrid import smoothed_aggregation as cuda_functions
from linforest_precond.matrix.checked import checked

STRENGTH = 0.4


def jumps(size):
    """Five-point diffusion whose coefficients jump by 10^6 between blocks of four by four cells."""
    k = np.kron(10.0 ** np.random.default_rng(0).choice([0, 6], (size // 4,) * 2), np.ones((4, 4)))
    numbers = np.arange(size * size).reshape(size, size)
    across, down = (numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])
    ends = np.c_[[each.ravel() for each in across], [each.ravel() for each in down]]
    one, other = k.ravel()[ends]
    return laplacian(*ends, 2 * one * other / (one + other), size * size)


def laplacian(lo, hi, weights, size, ground=1.0):
    """A graph Laplacian, with `ground` added to its first diagonal entry."""
    W = sp.coo_array((weights, (lo, hi)), shape=(size, size)).tocsr()
    W = W + W.T
    diagonal = np.asarray(W.sum(axis=1)).ravel()
    diagonal[0] += ground
    return sp.csr_array(sp.diags_array(diagonal) - W)


def triangles(size):
    """The edges of a Delaunay triangulation of random points."""
    from scipy.spatial import Delaunay

    corners = Delaunay(np.random.default_rng(0).random((size, 2))).simplices
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    lo, hi = np.unique(pairs, axis=0).T
    return laplacian(lo, hi, np.ones(lo.size), size)


def upwind(size):
    """Convection and diffusion on a line of lines, upwind: not symmetric."""
    ones = np.ones(size)
    D = sp.diags_array([-ones[1:], 2 * ones, -ones[1:]], offsets=[-1, 0, 1])
    U = sp.diags_array([-ones[1:], ones], offsets=[-1, 0])
    eye = sp.eye_array(size)
    return sp.csr_array(sp.kron(D + 8 * U, eye) + sp.kron(eye, D + 3 * U))


def positive():
    """Only couplings of the sign of the diagonal."""
    return abs(lf.matrices.poisson((9, 8)))


def hermitian(dtype=np.complex128):
    A = sp.csr_array(lf.matrices.poisson((9, 11))).astype(dtype)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    A.data *= np.exp(0.3j * np.sign(A.indices - rows)).astype(dtype)
    return A


def weak_chain():
    """Vertex 0 joins 1 by a coupling that is not strong, 4 joins 3; 5 is dominant."""
    lo, hi = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5])
    A = laplacian(lo, hi, np.array([0.01, 1.0, 1.0, 0.01, 1e-4]), 6, ground=0.01).tolil()
    A[4, 4], A[5, 5] = 0.02, 1.0
    return sp.csr_array(A)


def two_signs():
    """Diagonals of both signs: couplings are strong in one direction only."""
    A = sp.csr_array(lf.matrices.poisson((7, 9)))
    return sp.csr_array(sp.diags_array(np.where(np.arange(63) % 3, 1.0, -1.0)) @ A + 0.1 * A)


CASES = {
    "2-D": lambda: lf.matrices.poisson((13, 17)),
    "3-D": lambda: lf.matrices.poisson((7, 6, 8)),
    "rotated": lambda: lf.matrices.anisotropic_diffusion((15, 14), np.pi / 6, 1e-3),
    "jumps": lambda: jumps(20),
    "triangles": lambda: triangles(300),
    "upwind": lambda: upwind(12),
    "positive": positive,
    "weak chain": weak_chain,
    "two signs": two_signs,
    "diagonal": lambda: sp.csr_array(sp.diags_array(np.arange(1.0, 8.0))),
    "no entries": lambda: sp.csr_array((5, 5)),
    "empty": lambda: sp.csr_array((0, 0)),
    "one": lambda: sp.csr_array([[2.0]]),
    "star": lambda: laplacian(np.zeros(399, int), np.arange(1, 400), 1.0 + np.arange(399) % 7, 400),
    "long rows": lambda: laplacian(
        *np.triu_indices(150, 1), np.random.default_rng(1).random(150 * 149 // 2), 150
    ),
    "random signs": lambda: graphs.random_graph(200, "unique", symmetric=False) * 1.0,
}


def functions_of(backend, A):
    csr = checked(backend.csr(A))
    return csr, backend_of(csr.data).multigrid.smoothed_aggregation


def assert_aggregates(backend, A, signed=True, seed=0, strength=STRENGTH):
    """The numbers and their count against the oracle, and what aggregates are; returns the numbers."""
    csr, functions = functions_of(backend, A)
    numbers, count, strong = functions.aggregate(csr, strength, seed, signed)
    assert numbers.dtype == csr.indices.dtype and type(count) is int
    found, oracle = backend.host(numbers).tolist(), Oracle(A, strength, signed)
    expected, roots = oracle.aggregate(seed)
    assert found == expected and count == len(roots)
    assert set(found) - {-1} == set(range(count))
    for v, number in enumerate(found):
        if oracle.around[v]:
            near = oracle.around[v] | {v}
            assert roots[number] in near.union(*(oracle.around[u] for u in near))
    return numbers, count, strong


def assert_prolongator(backend, A, numbers, count, strong=None, signed=True, strength=STRENGTH):
    csr, functions = functions_of(backend, A)
    (indptr, indices, data), R, kept = functions.smoothed_prolongator(
        csr, strength, numbers, count, signed, strong
    )
    again = functions.prolongator_values(csr, numbers, count, kept, indptr, indices)
    assert backend.host(again).tobytes() == backend.host(data).tobytes()
    assert indptr.dtype == indices.dtype == csr.indices.dtype and data.dtype == csr.data.dtype
    rows = Oracle(A, strength, signed).prolongator(backend.host(numbers).tolist())
    indptr, indices, data = map(backend.host, (indptr, indices, data))
    assert indptr.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    assert indices.tolist() == [column for row in rows for column in row]
    values = [value for row in rows for value in row.values()]
    real, imag = np.array(values).reshape(-1, 2).T
    parts = np.stack([data.real, data.imag], axis=1)
    wanted = np.stack([real, imag if data.dtype.kind == "c" else 0 * imag], axis=1)
    assert (parts + 0.0).tobytes() == (wanted.astype(parts.dtype) + 0.0).tobytes()
    P = sp.csr_array((data, indices, indptr), shape=(csr.n, count))
    for found, wanted in zip(map(backend.host, R), matrix_arrays(P.conj().T.tocsr()), strict=True):
        assert found.tolist() == wanted.tolist()
    return P


def matrix_arrays(A):
    A.sort_indices()
    return A.indptr, A.indices, A.data


def assert_both(backend, A, **options):
    found = assert_aggregates(backend, A, **options)
    options.pop("seed", None)
    return assert_prolongator(backend, A, *found, **options)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_cases(backend, name, signed):
    assert_both(backend, graphs.with_types(CASES[name](), index_dtype=np.int32), signed=signed)


@pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("name", ["rotated", "jumps", "upwind", "star", "hermitian"])
def test_types(backend, name, dtype, index_dtype):
    A = CASES[name]() if name in CASES else hermitian()
    if np.dtype(dtype).kind != "c":
        A = A.real
    assert_both(backend, graphs.with_types(sp.csr_array(A), dtype, index_dtype))


@pytest.mark.parametrize("signed", [True, False])
def test_hermitian_matrices(backend, signed):
    assert_both(backend, hermitian(), signed=signed)


@given(
    A=graphs.matrices(max_size=25), shift=st.sampled_from([0.0, 2.0, -3.0]), signed=st.booleans(),
    seed=st.integers(0, 99), strength=st.sampled_from([0.0, 0.25, 0.9]),
)  # fmt: skip
def test_hypothesis_matrices(backend, A, shift, signed, seed, strength):
    diagonal = sp.csr_array(sp.diags_array(np.full(A.shape[0], shift, A.dtype)))
    A = graphs.with_types(sp.csr_array(A + diagonal), A.dtype, A.indices.dtype) if shift and A.shape[0] else A
    assert_both(backend, A, signed=signed, seed=seed, strength=strength)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_scales(backend, scale):
    """Strengths are ratios: squares neither overflow nor underflow."""
    A = sp.csr_array(lf.matrices.poisson((12, 11)))
    ours = [backend.host(assert_aggregates(backend, B)[0]) for B in (A, A * scale)]
    np.testing.assert_array_equal(*ours)


@pytest.mark.parametrize("name", ["2-D", "rotated", "triangles"])
def test_constants_are_kept(backend, name):
    A = graphs.with_types(CASES[name](), index_dtype=np.int32)
    P = assert_both(backend, A)
    interior = abs(A.sum(axis=1)) <= 1e-12 * abs(A).sum(axis=1)
    assert interior.any()
    np.testing.assert_allclose(P.sum(axis=1)[interior], 1, rtol=0, atol=1e-12)


def test_numbers_of_another_matrix(backend):
    """An update: the pattern is the same, the strong couplings are not, and some numbers are -1."""
    A = sp.csr_array(lf.matrices.anisotropic_diffusion((9, 12), 0.3, 1e-2))
    numbers, count, _ = assert_aggregates(backend, A)
    changed = backend.host(numbers).copy()
    changed[::5] = -1
    B = A.copy()
    B.data = B.data * np.random.default_rng(0).uniform(0.2, 2, B.nnz)
    assert_prolongator(backend, B, backend.array(changed), count)


@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
def test_values_on_a_known_pattern(backend, dtype):
    """Other values: the same couplings are kept, whatever their size and sign now is."""
    A = graphs.with_types(sp.csr_array(lf.matrices.anisotropic_diffusion((9, 12), 0.3, 1e-2)), dtype)
    csr, functions = functions_of(backend, A)
    numbers, count, strong = functions.aggregate(csr, STRENGTH, 0)
    (indptr, indices, _), _, kept = functions.smoothed_prolongator(
        csr, STRENGTH, numbers, count, strong=strong
    )
    B = A.copy()
    B.data = (B.data * np.random.default_rng(0).uniform(-0.2, 2, B.nnz)).astype(dtype)
    data = functions.prolongator_values(functions_of(backend, B)[0], numbers, count, kept, indptr, indices)
    P = sp.csr_array(tuple(map(backend.host, (data, indices, indptr))), shape=(csr.n, count))
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        P.toarray(), dense_prolongator(backend, B, numbers, count, kept), tolerance, tolerance
    )


def dense_prolongator(backend, A, numbers, count, kept):
    """(I - W F) T by dense matrices, for the couplings that F keeps."""
    marks = sp.csr_array((backend.host(kept), A.indices, A.indptr), shape=A.shape).toarray() == 1
    A = A.toarray().astype(np.result_type(A.dtype, float))
    own = np.diag(A)
    lumped = np.where(marks, 0, A).sum(axis=1)
    F = np.where(marks, A, 0) + np.diag(np.where((lumped / own).real > 0.1, lumped, own))
    steps = np.where(marks.any(axis=1), 4 / 3 / abs(F).sum(axis=1), 0)
    T = np.equal.outer(backend.host(numbers), np.arange(count))
    return T - steps[:, None] * (F @ T)


def test_runs_repeat(backend):
    A = sp.csr_array(lf.matrices.anisotropic_diffusion((70, 60), 0.4, 1e-2))
    csr, functions = functions_of(backend, A)

    def run():
        numbers, count, strong = functions.aggregate(csr, STRENGTH, 3)
        P, R, _ = functions.smoothed_prolongator(csr, STRENGTH, numbers, count, strong=strong)
        arrays = numbers, *P, *R
        return [backend.host(array).tobytes() for array in arrays]

    assert run() == run()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", graphs.DTYPES)
def test_backends_agree(cuda, dtype):
    """On matrices of many blocks, by teams of each size; also where a row is too long for a team."""
    rotated = lf.matrices.anisotropic_diffusion((300, 280), 0.5, 1e-2)
    leaves = np.arange(1, 5001)
    star = laplacian(0 * leaves, leaves, 1.0 + leaves % 7, 5001)
    squared = sp.csr_array(lf.matrices.poisson((90, 80))) @ lf.matrices.poisson((90, 80))
    for A in (rotated, lf.matrices.poisson((40, 41, 42)), squared, star):
        found = []
        for backend in (CPU, cuda):
            csr, functions = functions_of(backend, graphs.with_types(A, dtype, np.int32))
            numbers, count, strong = functions.aggregate(csr, STRENGTH, 0)
            P, R, _ = functions.smoothed_prolongator(csr, STRENGTH, numbers, count, strong=strong)
            arrays = numbers, *P, *R, functions.l1_weights(csr, 4 / 3, csr.data.dtype)
            found.append([backend.host(array).tobytes() for array in arrays])
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("n", "nnz", "longest_row", "lanes"),
    [
        (1, 0, 0, 1),
        (9, 81, 9, 1),
        (9, 63, 15, 1),
        (9, 63, 16, 4),
        (9, 117, 13, 4),
        (99, 700, 64, 8),
        (9, 243, 27, 8),
    ],
)
def test_team_merges_the_longest_row(n, nnz, longest_row, lanes):
    assert cuda_functions._lanes(SimpleNamespace(n=n, nnz=nnz, longest_row=longest_row)) == lanes
    assert longest_row < cuda_functions.TERMS_PER_LANE * lanes


@pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
def test_l1_weights(backend, dtype, index_dtype):
    A = graphs.with_types(sp.csr_array(two_signs() * (1 + 0.5j)), np.complex128)
    A = graphs.with_types(sp.csr_array(A if np.dtype(dtype).kind == "c" else A.real), dtype, index_dtype)
    A.data[A.indptr[5] : A.indptr[7]] = 0
    A.data[A.indptr[9] : A.indptr[10]] = np.finfo(dtype).smallest_subnormal
    csr, functions = functions_of(backend, A)
    weights = functions.l1_weights(csr, 4 / 3, csr.data.dtype)
    assert weights.dtype == dtype
    sums = np.array([sum(float(abs(a)) for a in row.values()) for row in Oracle(A, 0.4).rows])
    sums[sums < np.finfo(dtype).tiny] = 1
    expected = 4 / 3 / np.where(A.diagonal().real < 0, -sums, sums)
    np.testing.assert_allclose(backend.host(weights), expected, rtol=4 * np.finfo(dtype).eps)
