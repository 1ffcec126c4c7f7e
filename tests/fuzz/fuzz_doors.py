"""Broken matrices, changed records, and arrays that change during a call, at all public functions.

Promise: a ValueError or TypeError of this package, or a result that holds; the input stays as it is.
"""

import copy
import pickle
import warnings
from dataclasses import fields, replace

import numpy as np
from broken_matrices import BREAKERS, DOORS, assert_own_error, broken_matrix
from changing_arrays import Scrambler, call
from harness import on_device, on_gpu, on_host

import linforest_precond as lf
from linforest_precond.matrix.checks import ARRAYS
from linforest_precond.precond.kinds import faces
from linforest_precond.records.forest import Ordering

CLASSES = {
    "matrices broken in every format": (150, 20_000),
    "orderings and records changed": (100, 10_000),
    "arrays changed during a call": (5, 500),
    "masked arrays": (50, 3_000),
    "estimates of memory": (20, 5_000),
}
if on_gpu():  # the others break and scramble arrays of NumPy
    CLASSES = {"orderings and records changed": (200, 5_000)}
LIMIT_SECONDS = 120.0
SIDES = (6, 8)
# Slower than the others: drawn less often.
SLOW = ("multilevel", "block_tridiagonal", "block_tridiagonal_bands", "coarsening_hierarchy")


def prepare(folder):
    """A matrix, its records, and operators made of it."""
    A = on_device(lf.matrices.poisson(SIDES))
    matching = lf.graph.matching(A)
    return {
        "A": A,
        "Forest": lf.linear_forest(A),
        "Factor": lf.graph.factor(A),
        "Matching": matching,
        "order": lf.graph.reverse_cuthill_mckee(A),
    }


def run_case(prepared, name, rng, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "matrices broken in every format":
            return _broken_matrix(prepared, rng)
        if name == "orderings and records changed":
            return _changed_record(prepared, rng)
        if name == "estimates of memory":
            return _estimated(prepared, rng)
        if name == "masked arrays":
            return _masked(prepared, rng)
        return _changing_arrays(rng)


def _broken_matrix(prepared, rng):
    form = str(rng.choice(list(BREAKERS)))
    A, _ = broken_matrix(prepared["A"], form, rng)
    door = str(rng.choice([each for each in DOORS if rng.random() < 0.1 or each not in SLOW]))
    before = pickle.dumps(_content(A))
    try:
        result = DOORS[door](A)
    except (ValueError, TypeError) as error:
        assert_own_error(error)
        outcome = "refused"
    else:
        _assert_sound(result, prepared["A"].shape[0])
        outcome = "harmless"
    assert pickle.dumps(_content(A)) == before, "the matrix was modified"
    return outcome


def _masked(prepared, rng):
    """A dense matrix, or an array of a sparse one, with any number of masked entries."""
    form = str(rng.choice(["dense", *(each for each in ARRAYS if each)]))
    A = prepared["A"].toarray() if form == "dense" else prepared["A"].asformat(form, copy=True)
    field = None if form == "dense" else str(rng.choice(list(ARRAYS[form])))
    array = A if field is None else getattr(A, field)
    masked = np.ma.masked_array(array, rng.random(array.shape) < rng.choice([0, 0.1, 1]))
    if form == "coo" and field != "data":
        A.coords = (masked, A.col) if field == "row" else (A.row, masked)
    elif field is None:
        A = masked
    else:
        setattr(A, field, masked)
    door = str(rng.choice([each for each in DOORS if rng.random() < 0.1 or each not in SLOW]))
    try:
        DOORS[door](A)
    except TypeError as error:
        assert "must not be a masked array" in str(error), error
        return "refused"
    raise AssertionError(f"{door} took a masked {form}, {field}")


ESTIMATED = {
    "kind": (*faces(), "none", 3),
    "ordering": ("forest", "original", "rcm", "no", None, np.arange(48), np.zeros(48)),
    "block_size": (1, 2, 4, 3, -1, 2.5, "2"),
    "dtype": (None, np.float32, "float64", np.complex64, np.float16, int, "no"),
    "forests": (1, 2, 0, -1, 10**30, None),
    "polynomial": (1, 3, 0, 10**30, "1"),
    "sweeps": (1, 4, -2, 10**30, 1.0),
    "scaling": (None, "matching", "jacobi", "equilibrate", "no", 1),
    "symmetric": (True, False),
}


def _estimated(prepared, rng):
    """`memory_estimate` of matrices in every format, with any options: two numbers of bytes, or refused."""
    A, names = prepared["A"], [name for name in ESTIMATED if rng.random() < 0.3]
    options = {name: ESTIMATED[name][rng.integers(len(ESTIMATED[name]))] for name in names}
    A = A.astype(rng.choice(["f", "d", "F", "D", "i"]))
    A = A.toarray() if rng.random() < 0.1 else A.asformat(str(rng.choice(list(filter(None, ARRAYS)))))
    if rng.random() < 0.2:
        A, _ = broken_matrix(prepared["A"], str(rng.choice(list(BREAKERS))), rng)
    try:
        found = lf.memory_estimate(A, **options)
    except (ValueError, TypeError) as error:
        assert_own_error(error)
        return "refused"
    assert type(found.operator) is type(found.setup) is int, (found.operator, found.setup)
    assert 0 <= found.operator <= found.setup and str(found), options
    return "estimated"


def _content(A):
    names = "indptr", "indices", "data", "row", "col", "offsets", "rows", "_dict"
    return [getattr(A, name, None) for name in names]


def _assert_sound(result, n):
    """Products and solutions have n numbers; everything can be printed."""
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        assert result.shape == (n,) and not np.isnan(result).all()
    str(result)


def _changed_record(prepared, rng):
    kind = str(rng.choice(["Forest", "Factor", "Matching", "order", "parents"]))
    given, change = _changed(prepared, kind, rng)
    try:
        result = _used(prepared["A"], kind, given)
    except (ValueError, TypeError) as error:
        assert_own_error(error)
        return "refused"
    if result.dtype.kind == "f":
        assert np.isfinite(on_host(result)).all(), change
    return "harmless"


def _used(A, kind, given):
    if kind == "Forest":
        lf.extract_bands(A, given)
        return lf.tridiagonal(A, ordering=given) @ on_device(np.ones(A.shape[0]))
    if kind == "Factor":
        return lf.tridiagonal(A, ordering=lf.linear_forest(given)) @ on_device(np.ones(A.shape[0]))
    if kind == "Matching":
        lf.graph.is_maximal_matching(A, given)
        return lf.graph.coarsen(A, given).A.data
    if kind == "parents":
        return lf.graph.tree_roots(given)
    lf.permute(A, given)
    lf.graph.wavefront(A, given)
    return lf.tridiagonal(A, ordering=given) @ on_device(np.ones(A.shape[0]))


def _changed(prepared, kind, rng):
    """A record or array with one array changed, and how."""
    if kind in ("order", "parents"):
        return _changed_array(prepared["order"], rng)
    record = prepared[kind]
    if rng.random() < 0.2:
        record = [pickle.loads(pickle.dumps(record)), copy.deepcopy(record)][rng.integers(2)]
    if kind == "Forest" and rng.random() < 0.5:
        order, how = _changed_array(record.order, rng)
        return replace(record, ordering=Ordering(order, record.rank)), how
    arrays = [field.name for field in fields(record) if hasattr(getattr(record, field.name), "dtype")]
    name = str(rng.choice(["neighbors"] * 3 + arrays if "neighbors" in arrays else ["mate"] * 3 + arrays))
    array, how = _changed_array(getattr(record, name), rng)
    return replace(record, **{name: array}), f"{name}: {how}"


def _changed_array(array, rng):
    changed, how = _changed_copy(on_host(array).copy(), rng)
    can_move = isinstance(changed, np.ndarray) and changed.dtype.kind in "iuf"
    return (on_device(changed) if can_move else changed), how


def _changed_copy(array, rng):
    flat = array.reshape(-1)
    changes = {
        "one entry": lambda: flat.__setitem__(rng.integers(flat.size), rng.integers(-3, 60)),
        "a large entry": lambda: flat.__setitem__(rng.integers(flat.size), rng.choice([-(2**31), 10**9])),
        "two exchanged": lambda: flat.__setitem__(
            (places := rng.integers(flat.size, size=2)), flat[places[::-1]].copy()
        ),
        "one repeated": lambda: flat.__setitem__(rng.integers(flat.size), flat[rng.integers(flat.size)]),
        "all drawn anew": lambda: flat.__setitem__(slice(None), rng.integers(-1, 48, flat.size)),
        "nothing": lambda: None,
    }
    makes = {
        "shorter": lambda: array[:-1],
        "floats": lambda: array.astype(float),
        "64 bits": lambda: array.astype(np.int64),
        "objects": lambda: array.astype(object),
        "text": lambda: array.astype(str),
        "transposed": lambda: array.T,
        "another dimension": lambda: array[None],
        "a list": array.tolist,
        "unsigned": lambda: array.astype(np.uint64),
        "8 bits": lambda: array.astype(np.int8),
    }
    how = str(rng.choice([*list(changes) * 2, *makes]))
    if how in makes:
        return makes[how](), how
    changes[how]()
    return array, how


def _changing_arrays(rng):
    A = lf.matrices.poisson((30, 30))
    door = str(rng.choice([each for each in DOORS if each != "M of cg"]))
    call(DOORS[door], A)
    with Scrambler(A, int(rng.integers(2**31))):
        ended = [call(DOORS[door], A) for _ in range(20)]
    return "a result" if any(ended) else "refused"
