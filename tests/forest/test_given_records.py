"""Records are read-only, and those that users give back are copied and checked."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.records.forest import Ordering


def matrix(backend):
    return backend.csr(lf.matrices.aniso(2, 12))


def arrays_of(record):
    """All NumPy arrays of a record and of the records in it."""
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "__dataclass_fields__"):
            yield from arrays_of(value)


def records():
    A = lf.matrices.aniso(2, 12)
    M, B = lf.tridiagonal(A), lf.block_tridiagonal(A)
    matching = lf.graph.matching(A)
    given = [lf.graph.factor(A), lf.linear_forest(A), matching, lf.graph.coarsen(A, matching)]
    bands = lf.extract_bands(A, lf.linear_forest(A))
    return [*given, bands, M.forest, M.ordering, M.bands, B.forest, B.bands]


def test_arrays_are_read_only():
    for record in records():
        for restored in (
            record,
            pickle.loads(pickle.dumps(record)),
            copy.copy(record),
            copy.deepcopy(record),
        ):
            found = list(arrays_of(restored))
            assert found and not any(array.flags.writeable for array in found), type(record)
            assert all(
                np.array_equal(array, other) for array, other in zip(found, arrays_of(record), strict=True)
            )
            assert str(restored) == str(record)


def test_the_users_arrays_stay_writable():
    A = lf.matrices.aniso(2, 12)
    order = np.arange(144)
    M = lf.tridiagonal(A, ordering=order)
    wanted = M @ np.ones(144)
    assert order.flags.writeable and A.data.flags.writeable and A.indices.flags.writeable
    order[:] = 10**6
    A.indices[:] = 10**6
    np.testing.assert_array_equal(M @ np.ones(144), wanted)


def test_writing_fails():
    M = lf.tridiagonal(lf.matrices.aniso(2, 12))
    with pytest.raises(ValueError, match="read-only"):
        M.forest.order[0] = 10**9
    with pytest.raises(ValueError, match="read-only"):
        M.bands.diagonal[:] = 0
    with pytest.raises(ValueError, match=r"read-only|destination"):
        M.ordering.rank.sort()


def test_levels_are_read_only():
    ml = lf.multilevel(lf.matrices.poisson((40, 40)), max_coarse=50)
    wanted = ml.aspreconditioner() @ np.ones(1600)
    for level in ml.levels[:-1]:
        for matrix in (level.A, level.P, level.R):
            with pytest.raises(ValueError, match="read-only"):
                matrix.indices[0] = 10**9
    np.testing.assert_array_equal(ml.aspreconditioner() @ np.ones(1600), wanted)
    assert abs(ml.levels[0].P.T @ ml.levels[0].A @ ml.levels[0].P - ml.levels[1].A).max() < 1e-12


@pytest.mark.gpu
def test_records_of_an_operator_are_copies_on_the_gpu(cuda):
    A = matrix(cuda)
    forest = lf.linear_forest(A)
    operators = [lf.tridiagonal(A), lf.tridiagonal(A, ordering=forest), lf.block_tridiagonal(A)]
    b = cuda.array(np.ones(144))
    for M in operators:
        wanted = cuda.host(M @ b)
        for record in (M.forest, M.bands, M.ordering):
            for field in fields(record) if record is not None else ():
                array = getattr(record, field.name)
                if hasattr(array, "fill"):
                    array.fill(10**9)
        forest.order.fill(10**9)
        forest.neighbors.fill(10**9)
        np.testing.assert_array_equal(cuda.host(M @ b), wanted)
        M.update(A)
        np.testing.assert_array_equal(cuda.host(M @ b), wanted)


def with_order(forest, change):
    order = forest.order.copy()
    change(order)
    return replace(forest, ordering=Ordering(order, forest.rank))


def with_neighbors(record, change):
    neighbors = record.neighbors.copy()
    change(neighbors)
    return replace(record, neighbors=neighbors)


def put(index, value):
    def change(array):
        array[index] = value

    return change


@pytest.mark.parametrize("value", [10**9, -1, -(2**31), 144, 7])
def test_orders_of_given_forests(backend, value):
    A = matrix(backend)
    forest = with_order(lf.linear_forest(A), put(3, value))
    for use in (lambda: lf.tridiagonal(A, ordering=forest), lambda: lf.extract_bands(A, forest)):
        with pytest.raises(ValueError, match=r"order must be a permutation of 0 to 143, got -?\d+ at \d+"):
            use()


@pytest.mark.parametrize("value", [10**9, -2, -(2**31), 144])
def test_neighbors_of_given_forests(backend, value):
    A = matrix(backend)
    forest = with_neighbors(lf.linear_forest(A), put((5, 0), value))
    with pytest.raises(ValueError, match=rf"neighbors must be next to .* got \[{value}, .* at vertex 5"):
        lf.tridiagonal(A, ordering=forest)


def test_an_order_that_is_not_that_of_the_paths(backend):
    A = matrix(backend)
    forest = lf.linear_forest(A)
    order = backend.array(np.random.default_rng(0).permutation(144).astype(np.int32))
    mixed = replace(forest, ordering=Ordering(order, forest.rank))
    with pytest.raises(ValueError, match="neighbors must be next to"):
        lf.tridiagonal(A, ordering=mixed)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda f: replace(f, neighbors=f.neighbors[:-1]),
            ValueError,
            r"neighbors must have shape \(144, 2\)",
        ),
        (
            lambda f: replace(f, neighbors=f.neighbors.astype(float)),
            TypeError,
            "neighbors must be an array of int",
        ),
        (lambda f: replace(f, neighbors=f.neighbors[0]), ValueError, r"neighbors must have shape \(144, 2\)"),
        (lambda f: replace(f, neighbors=None), TypeError, "neighbors must be an array"),
        (lambda f: replace(f, ordering=Ordering(f.order[:9], f.rank)), ValueError, r"order must have shape"),
        (
            lambda f: replace(f, ordering=Ordering(f.order.astype("i8"), f.rank)),
            TypeError,
            "must have one type",
        ),
    ],
)
def test_arrays_of_other_kinds(change, error, message):
    A = lf.matrices.aniso(2, 12)
    with pytest.raises(error, match=message):
        lf.tridiagonal(A, ordering=change(lf.linear_forest(A)))


def test_a_forest_of_another_size(backend):
    with pytest.raises(ValueError, match=r"neighbors must have shape \(100, 2\), got \(144, 2\)"):
        lf.extract_bands(backend.csr(lf.matrices.aniso(2, 10)), lf.linear_forest(matrix(backend)))


def test_an_unchanged_copy_gives_the_same_bits(backend):
    A = matrix(backend)
    forest = lf.linear_forest(A)
    written = with_neighbors(with_order(forest, lambda order: None), lambda neighbors: None)
    b = backend.array(np.random.default_rng(0).random(144))
    wanted = backend.host(lf.tridiagonal(A) @ b)
    for given in (forest, written, lf.tridiagonal(A).forest):
        M = lf.tridiagonal(A, ordering=given)
        np.testing.assert_array_equal(backend.host(M @ b), wanted)
        assert M.forest.n_paths == forest.n_paths


@pytest.mark.parametrize("value", [10**9, -2, -(2**31), 144, 5, 77])
def test_neighbors_of_given_factors(backend, value):
    A = matrix(backend)
    factor = with_neighbors(lf.graph.factor(A), put((5, 0), value))
    with pytest.raises(ValueError, match="neighbors must hold both ends of each edge"):
        lf.linear_forest(factor)


def test_factors_with_an_edge_twice(backend):
    neighbors = backend.array(np.array([[1, 1], [0, 0], [-1, -1]], np.int32))
    factor = lf.graph.factor(backend.csr(lf.matrices.poisson(3)))
    with pytest.raises(ValueError, match="neighbors must hold both ends"):
        lf.linear_forest(replace(factor, neighbors=neighbors))


def test_factors_of_other_arrays():
    factor = lf.graph.factor(lf.matrices.poisson(9))
    with pytest.raises(ValueError, match="n = 2"):
        lf.linear_forest(replace(factor, neighbors=factor.neighbors[:, 0]))
    with pytest.raises(ValueError, match="values must have shape"):
        lf.linear_forest(replace(factor, values=factor.values[:3]))
    with pytest.raises(TypeError, match="slots must be an array of int"):
        lf.linear_forest(replace(factor, slots=factor.values))


def test_a_given_factor_is_not_changed(backend):
    factor = lf.graph.factor(matrix(backend))
    before = [backend.host(array).copy() for array in (factor.neighbors, factor.values, factor.slots)]
    forest = lf.linear_forest(factor)
    assert forest.n_cycles_broken >= 0
    for array, copied in zip((factor.neighbors, factor.values, factor.slots), before, strict=True):
        np.testing.assert_array_equal(backend.host(array), copied)
