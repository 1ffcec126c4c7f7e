"""Every public call reads A's entries for checking exactly once, `lf.solve` with all its trials included.

Counted are the scans of the backends that read A's entries. Pointers and columns are checked alone before
(`scan_indices`, or bounds of coordinates), and again where entries were sorted: no value is read there.
"""

import gc
import inspect
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from checked_matrices import put

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.backends import backend_named
from linforest_precond.distributed.partition import local_rows
from linforest_precond.matrix.checked import checked


def grid(*shape):
    """A positive definite matrix of positive entries, which differ."""
    A = abs(lf.matrices.poisson(shape))
    scale = sp.diags_array(np.random.default_rng(0).uniform(0.9, 1.1, A.shape[0]))
    return sp.csr_array(scale @ A @ scale)


def unsorted(A):
    """The rows of A from right to left."""
    B, order = A.copy(), np.lexsort((-A.indices, A.tocoo().row))
    B.indices, B.data = A.indices[order], A.data[order]
    return B


def shuffled(A):
    order = np.random.default_rng(1).permutation(A.nnz)
    rows, columns = A.tocoo().coords
    return sp.coo_array((A.data[order], (rows[order], columns[order])), shape=A.shape)


FORMATS = {
    "csr": lambda A: A,
    "unsorted csr": unsorted,
    "csc": lambda A: A.tocsc(),
    "coo": shuffled,
    "dense": lambda A: A.toarray(),
    "nonsymmetric": lambda A: sp.csr_array(sp.diags_array(np.linspace(1, 2, A.shape[0])) @ A),
}
SMALL, LARGE = grid(7, 6), grid(80, 80)


class Scans:
    """The scans of a backend that read the entries of a matrix, and those of patterns."""

    def __init__(self, backend, monkeypatch):
        self.host = backend.host
        self.clear()
        rooms = backend_named(backend.name)
        for module, name in (
            (rooms.matrix.entries, "scan"),
            (rooms.forest.band_refresh, "refresh"),
            (rooms.matrix.patterns, "scan_pattern"),
        ):
            monkeypatch.setattr(module, name, self.counting(getattr(module, name)))

    def clear(self):
        self.values, self.patterns = [], 0

    def counting(self, scan):
        def counted(indptr, indices, *arguments, **options):
            found = scan(indptr, indices, *arguments, **options)
            if getattr(found, "sorted", True):  # else it has ended before the entries
                self.patterns += not arguments
                self.values += [np.sort(self.host(each)) for each in arguments[:1]]
            return found

        return counted

    def of(self, A):
        """How often the entries of A were read; its pattern where none were."""
        wanted = np.sort(sp.csr_array(A).data)
        return sum(np.array_equal(values, wanted) for values in self.values) or self.patterns


@pytest.fixture
def scans(backend, monkeypatch):
    return Scans(backend, monkeypatch)


# Arguments by their names; others have defaults.
ARGUMENTS = {
    "b": lambda backend, n: backend.array(np.ones(n)),
    "ordering": lambda backend, n: np.arange(n)[::-1],
    "i_start": lambda backend, n: 0,
    "forest": lambda backend, n: lf.linear_forest(backend.csr(SMALL)),
    **dict.fromkeys(("colors", "labels"), lambda backend, n: backend.array(np.zeros(n, np.int64))),
    "mis": lambda backend, n: backend.array(np.ones(n, np.int64)),
    **dict.fromkeys(("mate", "matching"), lambda backend, n: backend.array(np.full(n, -1))),
}
ROOMS = {"": lf, "graph.": lf.graph, "solvers.": lf.solvers, "pipeline.": lf.pipeline}
# Arrays of packets come through another door.
UNCHECKED = {"graph.traffic_statistics"}


# Reads no values: the indices of A alone are checked.
UNREAD = {"permute"}


def takes_matrix(function):
    return inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), None) == "A"


FUNCTIONS = {
    prefix + name: getattr(room, name)
    for prefix, room in ROOMS.items()
    for name in getattr(room, "__all__", dir(room))
    if takes_matrix(getattr(room, name)) and prefix + name not in UNCHECKED
}


def arguments_of(name, backend, n):
    """The arguments of a public function that follow A."""
    if name == "graph.coarsen":
        return {"matching": ARGUMENTS["matching"](backend, n)}
    if name == "graph.is_spanning_forest":
        return {"forest": lf.graph.maximum_spanning_forest(backend.csr(SMALL))}
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters.values())[1:]
    required = [
        each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    ]
    return {each: ARGUMENTS[each](backend, n) for each in required}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_once(backend, scans, name, form):
    given = arguments_of(name, backend, SMALL.shape[0])
    A = FORMATS[form](SMALL)
    scans.clear()
    FUNCTIONS[name](put(backend, A), **given)
    is_operator = name.startswith("solvers.") and form == "dense"
    assert scans.of(A) == (0 if is_operator or name in UNREAD else 1)


@pytest.mark.parametrize("form", FORMATS)
def test_once_with_other_options(backend, scans, form):
    A = FORMATS[form](SMALL)
    B, b = put(backend, A), backend.array(np.ones(A.shape[0]))
    for call in (
        lambda: lf.tridiagonal(B, forests=2, scaling="equilibrate"),
        lambda: lf.multilevel(B, weights="magnitude", max_coarse=9),
        lambda: lf.multilevel(B).solve(b),
        lambda: lf.graph.matching(B, weights="pattern"),
        lambda: lf.graph.matching(B, batches=1),
    ):
        scans.clear()
        call()
        assert scans.of(A) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_trials_check_nothing_again(backend, scans, form):
    A = FORMATS[form](LARGE if form != "dense" else SMALL)
    B, b = put(backend, A), backend.array(np.ones(A.shape[0]))
    solver = lf.Solver(B)
    solver.solve(b)
    assert scans.of(A) == 1 and len(solver.report.trials) > (form != "dense" and backend.name == "cpu")
    for call in (lambda: lf.solve(B, b), lambda: lf.auto(B)):
        scans.clear()
        call()
        assert scans.of(A) == 1


UPDATED = {
    "tridiagonal": lf.tridiagonal,
    "block_tridiagonal": lf.block_tridiagonal,
    "ilu": lf.ilu,
    "multilevel": lf.multilevel,
    "multilevel's operator": lambda A: lf.multilevel(A).aspreconditioner(),
    "Solver": lf.Solver,
    "Solver, direct": lambda A: lf.Solver(A, method="direct"),
    "Solver, multilevel": lambda A: lf.Solver(A, method="multilevel"),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", UPDATED)
def test_an_update_checks_the_new_matrix_once(backend, scans, name, form):
    A = FORMATS[form](SMALL)
    M, b = UPDATED[name](put(backend, A)), backend.array(np.ones(A.shape[0]))
    if name.startswith("Solver"):
        M.solve(b)
    for factor in (2.0, 3.0):
        scans.clear()
        A2 = FORMATS[form](factor * SMALL)
        M.update(put(backend, A2))
        if hasattr(M, "solve"):
            M.solve(b)
        assert scans.of(A2) == 1


def test_one_rank_checks_its_rows_once(backend, scans, monkeypatch):
    """The rows of ranks have a check of their own."""
    read, check = [], local_rows.check_finite

    def counted(indptr, columns, data, *others):
        read.append(data.size)
        check(indptr, columns, data, *others)

    monkeypatch.setattr(local_rows, "check_finite", counted)
    b = backend.array(np.ones(SMALL.shape[0]))

    def on_one_rank(comm):
        for make in (distributed.tridiagonal, distributed.jacobi):
            A = distributed.scatter(put(backend, SMALL), comm)
            distributed.cg(A, b, M=make(A))
        distributed.matching(distributed.Matrix(put(backend, SMALL), comm))

    distributed.simulate(1, on_one_rank)
    assert read == 3 * [SMALL.nnz] and scans.of(SMALL) == 0


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries(backend, scans, library):
    pytest.importorskip(library)
    if library == "torch":
        import torch

        from linforest_precond.torch import solve

        device = "cuda" if backend.name == "cuda" else "cpu"
        parts = (torch.as_tensor(each, device=device) for each in (SMALL.indptr, SMALL.indices, SMALL.data))
        A, b = torch.sparse_csr_tensor(*parts, SMALL.shape), torch.ones(SMALL.shape[0], dtype=torch.float64)
        b = b.to(device)
    else:
        import jax
        from jax.experimental.sparse import BCSR

        from linforest_precond.jax import solve

        jax.config.update("jax_enable_x64", True)
        A, b = BCSR.from_scipy_sparse(SMALL), np.ones(SMALL.shape[0])
    solve(A, b)
    assert scans.of(SMALL) == 1


def test_disorder_ends_a_scan_before_the_entries(backend):
    for A, expected in ((SMALL, (True, 0)), (unsorted(SMALL), (False, -1))):
        B = put(backend, A)
        found = backend_named(backend.name).matrix.entries.scan(B.indptr, B.indices, np.nan * B.data)
        assert (found.sorted, found.first_nonfinite) == expected


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "nonsymmetric"])
def test_the_first_bad_entry_is_named(backend, form):
    A = SMALL.copy()
    for row in (5, 20):
        A.data[A.indptr[row]] = np.nan
    place = rf"\(5, {A.indices[A.indptr[5]]}\)"
    with pytest.raises(ValueError, match=rf"A must be finite, got nan at \(row, column\) {place}"):
        lf.tridiagonal(put(backend, FORMATS[form](A)))


def test_a_checked_matrix_is_not_checked_again(backend, scans):
    A = checked(backend.csr(SMALL))
    assert checked(A) is A
    for name in ("tridiagonal", "block_tridiagonal", "jacobi", "ilu", "approximate_inverse", "graph.factor"):
        FUNCTIONS[name](A)
    assert scans.of(SMALL) == 1


SETUPS = {
    "tridiagonal": lf.tridiagonal,
    "several forests": lambda A: lf.tridiagonal(A, forests=2),
    "gauss_seidel": lambda A: lf.gauss_seidel(A, sweeps=2),
    "ilu": lf.ilu,
    "approximate_inverse": lf.approximate_inverse,
    "multilevel": lambda A: lf.multilevel(A, coarsening="matching", max_coarse=9).aspreconditioner(),
}


@pytest.mark.parametrize("name", SETUPS)
def test_preconditioners_do_not_keep_the_users_matrix(backend, name):
    A = backend.csr(lf.matrices.poisson((7, 6)))
    alive, M = weakref.ref(A), SETUPS[name](A)
    del A
    gc.collect()
    assert alive() is None and M.shape == (42, 42)
