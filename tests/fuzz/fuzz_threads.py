"""Operators shared by threads: every result has the bits of the same call without other threads.

A case draws a kind of operator with options, two to six threads, and for each thread a list of calls:
products with one or several columns, with the transpose, and solves, which it runs in one to ten rounds. In
some cases another thread updates the operator meanwhile; then each result is that of the old or of the new
values. On the GPU each thread has its own stream.
"""

import sys
import threading
import warnings
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import scipy.sparse as sp
from harness import on_device, on_host, own_stream

import linforest_precond as lf

CLASSES = {"operators shared by threads": (10, 10_000)}
LIMIT_SECONDS = 120.0
# Of the matrices in `prepare`: the last one takes half of a second, the others a tenth.
SHARES = 0.3, 0.3, 0.3, 0.1
MOST_THREADS = 6
MOST_CALLS = 8
MOST_ROUNDS = 10
UPDATES = 3
COLUMNS = 1, 1, 2, 5
CYCLES = "V", "W", "F", "K"
SMOOTHERS = (
    "jacobi",
    "l1_jacobi",
    "chebyshev",
    "chebyshev3",
    "tridiagonal",
    "block_tridiagonal",
    "approximate_inverse",
)


def prepare(folder):
    """The matrices, by name; their kernels are compiled by the way."""
    warnings.simplefilter("ignore")  # solvers that stop early
    symmetric = lf.matrices.poisson((24, 24))
    matrices = {
        "symmetric": symmetric,
        "not symmetric": sp.csr_array(symmetric + 0.5 * sp.tril(symmetric, -1)),
        "anisotropic": lf.matrices.aniso(2, 20),
        "several chunks": lf.matrices.poisson((70, 70)),
    }
    matrices = {name: sp.csr_array(A).astype(np.float64) for name, A in matrices.items()}
    for kind in MAKERS:
        for seed in range(3):
            case = Case.draw(np.random.default_rng(seed), matrices, kind)
            case.expected()
    return matrices


def run_case(prepared, name, rng, folder):
    case = Case.draw(rng, prepared, str(rng.choice(list(MAKERS))))
    expected, shared = case.expected(), case.operator()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = run_threads(case, shared)
    finally:
        sys.setswitchinterval(interval)
    for number, results in enumerate(found):
        assert len(results) == case.rounds * len(case.calls[number])
        for call, result, allowed in zip(cycle(case.calls[number]), results, cycle(expected[number])):
            same = any(np.array_equal(result, each, equal_nan=True) for each in allowed)
            assert same, f"{case.words}: thread {number} of {len(found)}, {call}, got other bits"
    return case.kind + (" beside updates" if case.updated else "")


def run_threads(case, shared):
    """The results of all calls, by thread; one more thread updates the operator where the case says so."""
    found = [[] for _ in case.calls]
    errors, start = [], threading.Barrier(len(case.calls) + case.updated)

    def run(work, *arguments):
        try:
            with own_stream():
                start.wait()
                work(*arguments)
        except BaseException as error:  # raised again below
            errors.append(error)

    def call_all(number):
        for _ in range(case.rounds):
            found[number] += [call.on(shared, case.A) for call in case.calls[number]]

    def update():
        for _ in range(UPDATES * case.rounds):
            shared.update(case.other)
            shared.update(case.A)

    threads = [threading.Thread(target=run, args=(call_all, i)) for i in range(len(case.calls))]
    threads += [threading.Thread(target=run, args=(update,))] * case.updated
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


@dataclass(frozen=True)
class Call:
    """One product or solve."""

    method: str
    seed: int
    columns: int
    transpose: bool

    @classmethod
    def draw(cls, rng):
        method = str(rng.choice(["product", "product", "product", "cg", "fcg", "bicgstab"]))
        columns = int(rng.choice(COLUMNS)) if method == "product" else 1
        return cls(method, int(rng.integers(1000)), columns, bool(rng.random() < 0.3))

    def on(self, M, A):
        n = M.shape[0]
        rng = np.random.default_rng(self.seed)
        b = on_device(rng.standard_normal(n if self.columns == 1 else (n, self.columns)))
        if self.method == "product":
            return on_host((M.T if self.transpose else M) @ b)
        return on_host(getattr(lf.solvers, self.method)(A, b, M=M, rtol=1e-6, maxiter=2)[0])


MAKERS = {
    "jacobi": lambda A, rng: lf.jacobi(A),
    "block_jacobi": lambda A, rng: lf.block_jacobi(A, int(rng.choice([2, 3]))),
    "tridiagonal": lambda A, rng: lf.tridiagonal(A, str(rng.choice(["forest", "original"]))),
    "block_tridiagonal": lambda A, rng: lf.block_tridiagonal(A, int(rng.choice([2, 4]))),
    "ilu": lambda A, rng: lf.ilu(A, ordering=str(rng.choice(["natural", "colors"]))),
    "approximate_inverse": lambda A, rng: lf.approximate_inverse(A, int(rng.choice([4, 20]))),
    "scaled": lambda A, rng: lf.tridiagonal(
        A, scaling=str(rng.choice(["matching", "equilibrate", "jacobi"]))
    ),
    "multilevel": lambda A, rng: multilevel(A, rng),
}


def multilevel(A, rng):
    ml = lf.multilevel(
        A,
        smoother=str(rng.choice(SMOOTHERS)),
        max_coarse=int(rng.choice([10, 60])),
        presmooth=int(rng.choice([1, 2])),
    )
    return ml.aspreconditioner(str(rng.choice(CYCLES)))


@dataclass(frozen=True)
class Case:
    """A kind of operator, the seed of its options, two matrices of one pattern, and the threads' calls."""

    kind: str
    matrix: str
    options: int
    A: object  # on the device
    other: object
    calls: list[list[Call]]
    updated: bool
    rounds: int

    @classmethod
    def draw(cls, rng, matrices, kind):
        name = str(rng.choice(list(matrices), p=SHARES))
        A, options = matrices[name], int(rng.integers(2**31))
        other = sp.csr_array(A + sp.diags_array(rng.uniform(0.5, 2, A.shape[0])))
        count = int(rng.integers(2, MOST_THREADS + 1))
        calls = [[Call.draw(rng) for _ in range(rng.integers(1, MOST_CALLS + 1))] for _ in range(count)]
        updated, rounds = bool(rng.random() < 0.4), int(rng.integers(1, MOST_ROUNDS + 1))
        return cls(kind, name, options, on_device(A), on_device(other), calls, updated, rounds)

    @property
    def words(self):
        return f"{self.kind} of the matrix {self.matrix!r}, options {self.options}"

    def operator(self):
        """A new operator; updated once, since some values are kept from the setup by an update."""
        M = MAKERS[self.kind](self.A, np.random.default_rng(self.options))
        if self.updated:
            M.update(self.other)
            M.update(self.A)
        return M

    def expected(self):
        """What each call may give, by thread: its results with each of the values."""
        M = self.operator()
        results = [[[call.on(M, self.A)] for call in calls] for calls in self.calls]
        if self.updated:
            M.update(self.other)
            for calls, allowed in zip(self.calls, results):
                for call, each in zip(calls, allowed):
                    each.append(call.on(M, self.A))
        return results
