"""One operator, hierarchy or solver used by several threads, and on the GPU by several streams."""

import contextlib
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends.workspaces import MOST_IDLE, Lease, Workspaces

SIDE = 40
THREADS = 4


def poisson():
    return lf.matrices.poisson((SIDE, SIDE))


def convection():
    """Not symmetric."""
    A = poisson()
    return sp.csr_array(A + 0.5 * sp.tril(A, -1))


def long_carries():
    """Couplings so strong along the rows of a grid that carries cross tiles on the GPU."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(250, 250))
    other = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    return sp.csr_array(sp.kron(sp.eye_array(20), line) + 1e-4 * sp.kron(other, sp.eye_array(250)))


def indefinite():
    """A zero diagonal: the tridiagonal solver needs pivoting."""
    signs = np.random.default_rng(3).choice([-1.0, 1.0], 1599)
    return sp.csr_array(sp.diags_array([np.ones(1599), np.zeros(1600), signs], offsets=[-1, 0, 1]))


def cycle(A, kind, **options):
    return lf.multilevel(A, max_coarse=50, **options).aspreconditioner(kind)


KINDS = {
    "jacobi": (poisson, lf.jacobi),
    "block_jacobi": (poisson, lf.block_jacobi),
    "ilu by levels": (poisson, lambda A: lf.ilu(A, ordering="colors")),
    "ilu, many levels": (convection, lambda A: lf.ilu(A, ordering="natural")),
    "gauss_seidel": (convection, lambda A: lf.gauss_seidel(A, sweeps=2)),
    "tridiagonal": (poisson, lf.tridiagonal),
    "not symmetric": (convection, lf.tridiagonal),
    "long carries": (long_carries, lambda A: lf.tridiagonal(A, "original")),
    "pivoting": (indefinite, lambda A: lf.tridiagonal(A, "original")),
    "blocks of 2": (poisson, lambda A: lf.block_tridiagonal(A, 2)),
    "blocks of 4": (poisson, lambda A: lf.block_tridiagonal(A, 4)),
    "blocks with long carries": (long_carries, lambda A: lf.block_tridiagonal(A, 2)),
    "FSAI": (poisson, lf.approximate_inverse),
    "SPAI": (convection, lf.approximate_inverse),
    "scaled": (convection, lambda A: lf.tridiagonal(A, scaling="matching")),
    "several forests": (convection, lambda A: lf.tridiagonal(A, forests=2, polynomial=2)),
    "V jacobi": (poisson, lambda A: cycle(A, "V", smoother="jacobi")),
    "W l1_jacobi": (poisson, lambda A: cycle(A, "W", smoother="l1_jacobi")),
    "F chebyshev": (poisson, lambda A: cycle(A, "F", smoother="chebyshev", smooth_prolongation=True)),
    "K jacobi": (poisson, lambda A: cycle(A, "K")),
    "K not symmetric": (convection, lambda A: cycle(A, "K", presmooth=2)),
    "K tridiagonal": (long_carries, lambda A: cycle(A, "K", smoother="tridiagonal")),
    "V block_tridiagonal": (poisson, lambda A: cycle(A, "V", smoother="block_tridiagonal")),
    "V approximate_inverse": (poisson, lambda A: cycle(A, "V", smoother="approximate_inverse")),
}


# They take long, and are tested alone or are like others.
SLOW = "FSAI", "SPAI", "V approximate_inverse", "W l1_jacobi", "blocks of 4", "blocks with long carries"


@pytest.fixture(autouse=True)
def eager_switches():
    """Threads take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@contextlib.contextmanager
def own_stream(backend):
    """On the GPU, a stream that does not wait for others."""
    if backend.name == "cpu":
        yield
        return
    with backend.xp.cuda.Stream(non_blocking=True) as stream:
        yield
        stream.synchronize()


def in_threads(backend, *works):
    """Call each function in a thread and a stream of its own, all at once; the results."""
    if backend.name == "cuda":
        backend.xp.cuda.Device().synchronize()  # what the functions share was made on this stream
    results, errors, start = {}, [], threading.Barrier(len(works))

    def run(number, work):
        try:
            with own_stream(backend):
                start.wait()
                results[number] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(works))]


def right_sides(n, columns=1):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(n if columns == 1 else (n, columns)) for _ in range(THREADS)]


def wrong_products(backend, M, b, expected, times):
    """How many of M's products with b differ from the expected one."""
    b, wrong = backend.array(b), 0
    for _ in range(times // 10):
        products = [M @ b for _ in range(10)]  # on the GPU, enqueued one after the other
        wrong += sum(not np.array_equal(backend.host(product), expected) for product in products)
    return wrong


def assert_products_repeat(backend, M):
    sides = right_sides(M.shape[0])
    expected = [backend.host(M @ backend.array(b)) for b in sides]
    works = [
        lambda b=b, wanted=wanted: wrong_products(backend, M, b, wanted, 100)
        for b, wanted in zip(sides, expected)
    ]
    assert in_threads(backend, *works) == [0] * THREADS


@pytest.mark.parametrize("kind", [graphs.slow(kind) if kind in SLOW else kind for kind in KINDS])
def test_products(backend, kind):
    A, make = KINDS[kind]
    assert_products_repeat(backend, make(backend.csr(A())))


@pytest.mark.gpu
def test_products_in_single_precision(cuda):
    assert_products_repeat(cuda, lf.tridiagonal(cuda.csr(indefinite()), "original", dtype=np.float32))


@pytest.mark.parametrize("kind", ["not symmetric", "K not symmetric", "K tridiagonal"])
def test_products_of_all_kinds_at_once(backend, kind):
    """One vector, several columns, and the transpose, which is made on first use by all threads at once."""
    A, make = KINDS[kind]
    matrix = backend.csr(A())
    M, reference = make(matrix), make(matrix)
    b, B = right_sides(M.shape[0])[0], right_sides(M.shape[0], 3)[0]
    operands = (b, lambda M: M), (B, lambda M: M), (b, lambda M: M.T), (B, lambda M: M.T)
    works = []
    for side, view in operands:
        expected = backend.host(view(reference) @ backend.array(side))
        works.append(
            lambda side=side, view=view, expected=expected: wrong_products(
                backend, view(M), side, expected, 50
            )
        )
    assert in_threads(backend, *works) == [0] * len(works)


SOLVES = {
    "hierarchy": lambda A, ml, b: ml.solve(b, tol=1e-8),
    "fcg": lambda A, ml, b: lf.solvers.fcg(A, b, rtol=1e-8, M=ml.aspreconditioner())[0],
    "cg": lambda A, ml, b: lf.solvers.cg(A, b, rtol=1e-8, M=ml.aspreconditioner("V"))[0],
    "bicgstab": lambda A, ml, b: lf.solvers.bicgstab(A, b, rtol=1e-8, M=ml.aspreconditioner("V"))[0],
}


@pytest.mark.parametrize("smoother", ["jacobi", "tridiagonal"])
@pytest.mark.parametrize("solve", SOLVES)
def test_solves(backend, solve, smoother):
    A = backend.csr(long_carries())
    ml = lf.multilevel(A, max_coarse=50, smoother=smoother)
    sides = right_sides(A.shape[0])
    expected = [backend.host(SOLVES[solve](A, ml, backend.array(b))) for b in sides]

    def repeat(b):
        b = backend.array(b)
        return [backend.host(SOLVES[solve](A, ml, b)) for _ in range(3)]

    found = in_threads(backend, *(lambda b=b: repeat(b) for b in sides))
    for solutions, wanted in zip(found, expected):
        for x in solutions:
            assert np.array_equal(x, wanted)


@pytest.mark.parametrize("kind", ["long carries", "pivoting", "K tridiagonal"])
def test_solves_beside_products(backend, kind):
    """On the GPU, a solver's graph contains the addresses of work vectors, which products must not touch."""
    matrix, make = KINDS[kind]
    A = matrix()
    M = make(backend.csr(A))
    A = backend.csr(sp.csr_array(A + 0.1 * sp.eye_array(A.shape[0])))
    b, other = right_sides(A.shape[0])[:2]
    product, on_device = backend.host(M @ backend.array(other)), backend.array(b)

    def solve():
        solved = (lf.solvers.bicgstab(A, on_device, rtol=1e-8, M=M, maxiter=20) for _ in range(5))
        return [backend.host(x) for x, _ in solved]

    solution = solve()[0]

    def multiply():
        return wrong_products(backend, M, other, product, 100)

    first, second, *wrong = in_threads(backend, solve, solve, multiply, multiply)
    assert all(np.array_equal(x, solution) for x in (*first, *second))
    assert wrong == [0, 0]


@pytest.mark.parametrize("kind", ["jacobi", "tridiagonal", "blocks of 2", "K jacobi", "K tridiagonal"])
def test_products_and_solves_beside_updates(backend, kind):
    """Each result has the old values or the new ones, never a mixture."""
    A, make = KINDS[kind]
    one = A()
    other = sp.csr_array(one + sp.diags_array(np.linspace(0.5, 2, one.shape[0])))
    assert np.array_equal(one.indices, other.indices)
    one, other = backend.csr(one), backend.csr(other)
    M = make(one)
    b = backend.array(right_sides(M.shape[0])[0])

    def solve():
        return backend.host(lf.solvers.fcg(one, b, rtol=1e-8, M=M, maxiter=8)[0])

    expected = []
    for matrix in (other, one):
        M.update(matrix)
        expected.append((backend.host(M @ b), solve()))
    ended = threading.Event()

    def update():
        for _ in range(6):
            M.update(other)
            M.update(one)
        ended.set()

    def known(work, place):
        found = []
        while not ended.is_set() or len(found) < 3:
            result = work()
            found.append(any(np.array_equal(result, results[place]) for results in expected))
        return all(found)

    works = (lambda: known(lambda: backend.host(M @ b), 0)), (lambda: known(solve, 1))
    with np.errstate(all="ignore"):
        _, *right = in_threads(backend, update, *works, works[0])
    assert right == [True] * 3


def test_hierarchy_solves_beside_updates(backend):
    one = poisson()
    other = sp.csr_array(one + sp.diags_array(np.linspace(0.5, 2, one.shape[0])))
    one, other = backend.csr(one), backend.csr(other)
    ml = lf.multilevel(one, max_coarse=50)
    b = backend.array(right_sides(one.shape[0])[0])
    solves = (lambda: ml.solve(b, tol=1e-6)), (lambda: ml.solve(b, tol=1e-6, accel="fcg"))
    expected = []
    for matrix in (other, one):
        ml.update(matrix)
        expected += [backend.host(solve()) for solve in solves]

    def update():
        for _ in range(6):
            ml.update(other)
            ml.update(one)

    def known(solve):
        found = [backend.host(solve()) for _ in range(12)]
        return all(any(np.array_equal(x, wanted) for wanted in expected) for x in found)

    _, *right = in_threads(backend, update, *(lambda solve=solve: known(solve) for solve in solves))
    assert right == [True] * 2


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["long carries", "pivoting", "blocks with long carries", "K tridiagonal"])
def test_two_streams_of_one_thread(cuda, kind):
    A, make = KINDS[kind]
    M = make(cuda.csr(A()))
    sides = [cuda.array(b) for b in right_sides(M.shape[0])[:2]]
    expected = [cuda.host(M @ b) for b in sides]
    streams = [cuda.xp.cuda.Stream(non_blocking=True) for _ in sides]
    cuda.xp.cuda.Device().synchronize()
    products = []
    for _ in range(50):
        for stream, b, wanted in zip(streams, sides, expected):
            with stream:
                products.append((M @ b, wanted))
    cuda.xp.cuda.Device().synchronize()
    assert all(np.array_equal(cuda.host(x), wanted) for x, wanted in products)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["long carries", "K tridiagonal"])
def test_graphs_of_complex_systems_own_their_work_space(cuda, kind):
    """A complex vector is two real columns of a real operator: work space of another size, in the graph."""
    A, make = KINDS[kind]
    real = A()
    M, A = make(cuda.csr(real)), cuda.csr(sp.csr_array(real * (1 + 0j)))
    b = cuda.array(right_sides(real.shape[0])[0] * (1 - 2j))
    solutions = []
    for _ in range(3):
        solutions.append(cuda.host(lf.solvers.bicgstab(A, b, rtol=1e-10, M=M)[0]))
        cuda.xp.full(10**6, np.nan)  # takes memory that was freed
    assert all(np.array_equal(x, solutions[0]) for x in solutions)
    assert np.linalg.norm(cuda.host(b) - real @ solutions[0]) <= 1e-9 * np.linalg.norm(cuda.host(b))


def test_idle_work_space_is_bounded(backend):
    M = cycle(backend.csr(poisson()), "V")
    before, table = M.nbytes, str(M)
    for columns in range(1, 2 * MOST_IDLE):
        M @ backend.xp.ones((M.shape[0], columns))
    assert len(M._part._cycles._idle) == MOST_IDLE
    b = backend.array(np.ones(M.shape[0]))
    for _ in range(5):
        in_threads(backend, *(lambda: M @ b for _ in range(2 * MOST_IDLE)))
    assert len(M._part._cycles._idle) <= MOST_IDLE
    assert (M.nbytes, str(M)) == (before, table)


def test_work_space_is_taken_by_one_at_a_time():
    pool, made = Workspaces(), []

    def make():
        made.append(object())
        return made[-1]

    first, second = pool.take((1, "stream"), make), pool.take((1, "stream"), make)
    assert first.workspace is not second.workspace
    pool.give_back(first)
    assert pool.take((2, "stream"), make).workspace is not first.workspace
    assert pool.take((1, "other"), make).workspace is not first.workspace
    assert pool.take((1, "stream"), make) is first
    assert len(made) == 4


def test_leased_work_space_is_found_by_its_owner_alone():
    pool, lease = Workspaces(), Lease()
    with lease:
        mine = pool.take((1, "stream"), object)
        pool.give_back(mine)
        assert pool.take((1, "private stream"), object) is mine
        pool.give_back(mine)
        theirs = []
        thread = threading.Thread(target=lambda: theirs.append(pool.take((1, "stream"), object)))
        thread.start()
        thread.join()
    assert theirs != [mine] and pool.take((1, "stream"), object) is not mine
    lease.release()
    assert pool.take((1, "stream"), object) is mine
