"""Near-null space candidates and unknowns per node over ranks: the hierarchy of one rank to rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import joined, random_offsets, vector

import linforest_precond as lf
from linforest_precond.distributed import cg, multilevel, scatter, simulate


def elasticity():
    A, coordinates = lf.matrices.elasticity((24, 7))
    return A, lf.rigid_body_modes(coordinates), 2


def elasticity_3d():
    A, coordinates = lf.matrices.elasticity((7, 3, 3))
    return A, lf.rigid_body_modes(coordinates), 3


def two_constants():
    A = lf.matrices.poisson((18, 15))
    n = np.arange(A.shape[0])
    return A, np.stack([np.ones(n.size), np.cos(n / 40)], axis=1), None


def components():
    """Two fields that are coupled; a candidate for each."""
    A = lf.matrices.poisson((14, 13))
    coupling = sp.csr_array(np.array([[2.0, 0.3], [0.3, 1.0]]))
    return sp.csr_array(sp.kron(A, coupling)), None, 2


CASES = {each.__name__: each for each in (elasticity, elasticity_3d, two_constants, components)}


def hierarchies(name, size, seed=0, **options):
    A, B, block = CASES[name]()
    A = sp.csr_array(A)
    options = {"max_coarse": 20, "gather_below": 30, "block_size": block, **options}
    b = block or 1
    offsets = b * random_offsets(A.shape[0] // b, size, seed)

    def work(comm):
        own = scatter(A, comm, offsets)
        part = slice(own.first, own.first + own.n_local)
        return multilevel(own, B=None if B is None else B[part], **options)

    ranks = simulate(size, work)
    options.pop("gather_below")
    return A, lf.multilevel(A, B=B, **options), ranks, offsets


def applied(ranks, r):
    operators = [ml.aspreconditioner() for ml in ranks]
    parts = np.split(r, np.cumsum([M.shape[0] for M in operators])[:-1])
    return joined(len(ranks), lambda comm: operators[comm.rank] @ parts[comm.rank])


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_levels_and_cycles_are_those_of_one_rank(name, size):
    A, one, ranks, _ = hierarchies(name, size, seed=size)
    assert ranks[0].unknowns == [level.A.shape[0] for level in one.levels]
    assert ranks[0].entries == [level.A.nnz for level in one.levels]
    assert len(ranks[0].aggregates) >= 1, "a level is coarsened over ranks"
    for i in range(len(ranks[0].aggregates)):
        mine = np.concatenate([ml._part.part.levels[i].csr.data for ml in ranks])
        wanted = one._part.levels[i].csr.data
        np.testing.assert_allclose(mine, wanted, rtol=0, atol=1e-9 * abs(wanted).max())
    r = vector(A.shape[0], 3)
    product = one.aspreconditioner() @ r
    np.testing.assert_allclose(applied(ranks, r), product, rtol=0, atol=1e-7 * abs(product).max())


@pytest.mark.parametrize("name", ["elasticity", "two_constants"])
def test_products_have_the_same_bits_for_any_number_of_ranks(name):
    A, _, ranks, _ = hierarchies(name, 1)
    r = vector(A.shape[0], 4)
    first = applied(ranks, r)
    for size in (2, 3, 5):
        assert np.array_equal(applied(hierarchies(name, size, seed=size)[2], r), first)


def test_updates():
    A, one, _, offsets = hierarchies("elasticity", 3)
    changed, scales = A.copy(), 1 + 0.1 * np.cos(np.arange(A.shape[0]))
    changed.data *= np.repeat(scales, np.diff(A.indptr)) * scales[A.indices]
    one.update(changed)
    _, B, block = CASES["elasticity"]()

    def made_and_updated(comm):
        own = scatter(A, comm, offsets)
        part = slice(own.first, own.first + own.n_local)
        ml = multilevel(own, B=B[part], block_size=block, max_coarse=20, gather_below=30)
        ml.update(scatter(changed, comm, offsets))
        return ml

    r = vector(A.shape[0], 3)
    product = one.aspreconditioner() @ r
    found = applied(simulate(3, made_and_updated), r)
    np.testing.assert_allclose(found, product, rtol=0, atol=1e-7 * abs(product).max())


def test_rigid_body_modes_save_iterations():
    A, B, block = elasticity()
    counts = {}
    for given in (True, False):

        def work(comm):
            own, history = scatter(A, comm, 2 * (np.arange(4) * (A.shape[0] // 2) // 3)), lf.solvers.History()
            part = slice(own.first, own.first + own.n_local)
            options = {"B": B[part], "block_size": block} if given else {}  # noqa: B023
            ml = multilevel(own, max_coarse=30, gather_below=50, **options)
            cg(own, np.ones(own.n_local), M=ml.aspreconditioner(), rtol=1e-8, history=history)
            return len(history.residuals) - 1

        counts[given] = simulate(3, work)[0]
    assert counts[True] < 0.7 * counts[False]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"B": np.ones((7, 1))}, "B must have shape"),
        ({"B": "adaptive"}, "B over ranks must be an array of candidates or None"),
        ({"block_size": 5}, "block_size must divide the 32 rows"),
        ({"block_size": 2, "coarsening": "matching"}, "block_size is for coarsening"),
    ],
)
def test_what_does_not_fit_is_refused_on_all_ranks(options, message):
    A = lf.matrices.poisson((8, 8))
    with pytest.raises(ValueError, match=message):
        simulate(2, lambda comm: multilevel(scatter(A, comm), **options))
