"""Sparse matrices with one broken array, and the public functions that take matrices."""

import traceback
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf

ROOT = Path(__file__).resolve().parents[2]
OWN_CODE = [ROOT / name for name in ("linforest_precond", "solvers", "matrices")]
NOT_INDICES = (-1, -(10**9), 10**9, 2**31 - 1)


def spoiled_index(array, rng):
    """One entry is no index."""
    array = array.copy()
    if array.size:
        array.reshape(-1)[rng.integers(array.size)] = rng.choice(NOT_INDICES)
    return array


def other_value(array, rng):
    """One entry is another small number, which may be valid."""
    array = array.copy()
    if array.size:
        array.reshape(-1)[rng.integers(array.size)] = rng.integers(-2, 60)
    return array


SPOILED = {
    "an index out of range": spoiled_index,
    "another index": other_value,
    "too short": lambda array, rng: array[: max(array.size // 2, 0)].copy(),
    "too long": lambda array, rng: np.concatenate([array, array[-1:], array[:1]]),
    "empty": lambda array, rng: array[:0].copy(),
    "a row": lambda array, rng: array[None],
    "a column": lambda array, rng: array[..., None],
    "floats": lambda array, rng: array + 0.5,
    "whole floats": lambda array, rng: array.astype(float),
    "objects": lambda array, rng: array.astype(object),
    "text": lambda array, rng: array.astype(str),
    "complex": lambda array, rng: array.astype(complex),
    "a list": lambda array, rng: array.tolist(),
    "None": lambda array, rng: None,
    "large unsigned numbers": lambda array, rng: array.astype(np.uint64) + np.uint64(2**63),
    "large numbers": lambda array, rng: array.astype(np.int64) + 2**32,
}
SPOILED_VALUES = {
    "a row": lambda array, rng: array[None],
    "a column": lambda array, rng: array[..., None],
    "too short": lambda array, rng: array[: array.shape[0] // 2].copy(),
    "objects": lambda array, rng: array.astype(object),
    "text": lambda array, rng: array.astype(str),
    "half precision": lambda array, rng: array.astype(np.float16),
    "extended precision": lambda array, rng: array.astype(np.longdouble),
    "a list": lambda array, rng: array.tolist(),
    "NaN": lambda array, rng: array * np.nan,
}
# The arrays of each format: indices, values.
FIELDS = {
    "csr": (("indptr", "indices"), "data"),
    "csc": (("indptr", "indices"), "data"),
    "coo": (("row", "col"), "data"),
    "bsr": (("indptr", "indices"), "data"),
    "dia": (("offsets",), "data"),
}


def broken_arrays(A, form, rng):
    """A in another format with one array spoiled, and which."""
    B = A.asformat(form, copy=True) if form != "bsr" else sp.bsr_array(A, blocksize=(2, 2))
    names, values = FIELDS[form]
    field = str(rng.choice([*names, values]))
    table = SPOILED_VALUES if field == values else SPOILED
    how = str(rng.choice(list(table)))
    spoil(B, field, table[how](getattr(B, field), rng))
    return B, f"{form}.{field}: {how}"


def spoil(B, field, array):
    """Set an array of a matrix, without the checks of a setter."""
    if field in ("row", "col") and hasattr(B, "coords"):
        coords = list(B.coords)
        coords[("row", "col").index(field)] = array
        B.coords = tuple(coords)
    else:
        setattr(B, field, array)


def broken_lists(A, form, rng):
    """A LIL matrix with one row spoiled."""
    B, row, n = sp.lil_array(A), int(rng.integers(A.shape[0])), A.shape[0]
    lists = B.rows if rng.random() < 0.7 else B.data
    how = str(
        rng.choice(["longer", "shorter", "out of range", "a fraction", "text", "no list", "fewer rows"])
    )
    wrong = {"out of range": int(rng.choice([-1, n, 10**12, 2**70])), "a fraction": 0.5, "text": "a"}
    if how == "longer":
        lists[row] = [*lists[row], 0]
    elif how == "shorter":
        lists[row] = lists[row][:-1]
    elif how == "no list":
        lists[row] = None
    elif how == "fewer rows":
        B.rows, B.data = (B.rows[:-1], B.data) if rng.random() < 0.5 else (B.rows[:-1], B.data[:-1])
    else:
        lists[row] = [wrong[how], *lists[row][1:]]
    return B, f"lil: {how}"


def broken_keys(A, form, rng):
    """A DOK matrix with one odd key or value."""
    B = sp.dok_array(A)
    n = A.shape[0]
    keys = [(n, 0), (0, -1), (10**12, 0), (2**70, 1), (0.5, 1), ("a", 1), (1,), (0, 1, 2), 3, None]
    key = keys[rng.integers(len(keys))]
    value = [1.0, "a", None, [1.0], 10**400][rng.integers(5)]
    if rng.random() < 0.3:
        key = (0, 0)
    B._dict[key] = value
    return B, f"dok[{key!r}] = {value!r}"


BREAKERS = {**dict.fromkeys(FIELDS, broken_arrays), "lil": broken_lists, "dok": broken_keys}


def broken_matrix(A, form, rng):
    """A in a format with something broken, and what it is."""
    return BREAKERS[form](A, form, rng)


def assert_own_error(error):
    """The exception was raised by this package, not below it, and has a message of its own."""
    assert type(error) in (ValueError, TypeError), repr(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    assert any(Path(frame.filename).resolve().is_relative_to(folder) for folder in OWN_CODE), (
        f"raised in {frame.filename}:{frame.lineno}: {error!r}"
    )


def _ones(A):
    return np.ones(A.shape[0])


# Every public function of a matrix, on the same types as other tests.
DOORS = {
    "tridiagonal": lambda A: lf.tridiagonal(A) @ _ones(A),
    "tridiagonal in RCM order": lambda A: lf.tridiagonal(A, ordering="rcm") @ _ones(A),
    "tridiagonal in A's order": lambda A: lf.tridiagonal(A, ordering="original") @ _ones(A),
    "block_tridiagonal": lambda A: lf.block_tridiagonal(A) @ _ones(A),
    "jacobi": lambda A: lf.jacobi(A) @ _ones(A),
    "auto": lambda A: lf.auto(A) @ _ones(A),
    "solve": lambda A: lf.solve(A, _ones(A)),
    "block_jacobi": lambda A: lf.block_jacobi(A) @ _ones(A),
    "ilu": lambda A: lf.ilu(A) @ _ones(A),
    "approximate_inverse": lambda A: lf.approximate_inverse(A) @ _ones(A),
    "multilevel": lambda A: lf.multilevel(A).aspreconditioner() @ _ones(A),
    "tridiagonal_bands": lf.pipeline.tridiagonal_bands,
    "block_tridiagonal_bands": lf.pipeline.block_tridiagonal_bands,
    "linear_forest": lf.linear_forest,
    "factor": lf.graph.factor,
    "greedy_factor": lf.graph.greedy_factor,
    "identity_coverage": lf.graph.identity_coverage,
    "matching": lf.graph.matching,
    "matching by pattern": lambda A: lf.graph.matching(A, "suitor", "pattern"),
    "coarsening_hierarchy": lambda A: lf.graph.coarsening_hierarchy(A, max_coarse=10),
    "coarsen": lambda A: lf.graph.coarsen(A, np.full(A.shape[0], -1)),
    "is_matching": lambda A: lf.graph.is_matching(A, np.full(A.shape[0], -1)),
    "is_maximal_matching": lambda A: lf.graph.is_maximal_matching(A, np.full(A.shape[0], -1)),
    "reverse_cuthill_mckee": lf.graph.reverse_cuthill_mckee,
    "cuthill_mckee": lf.graph.cuthill_mckee,
    "minimum_degree": lf.graph.minimum_degree,
    "fill": lf.graph.fill,
    "pseudo_peripheral_node": lf.graph.pseudo_peripheral_node,
    "bandwidth": lf.graph.bandwidth,
    "profile": lf.graph.profile,
    "wavefront": lf.graph.wavefront,
    "permute": lambda A: lf.permute(A, np.arange(A.shape[0])[::-1]),
    "connected_components": lf.graph.connected_components,
    "fastsv": lambda A: lf.graph.connected_components(A, method="fastsv"),
    "fastsv_vertices": lambda A: lf.graph.connected_components(A, method="fastsv_vertices"),
    "strongly_connected_components": lf.graph.strongly_connected_components,
    "bfs_levels": lambda A: lf.graph.bfs_levels(A, 0),
    "breadth_first_order": lambda A: lf.graph.breadth_first_order(A, 0),
    "minimum_spanning_tree": lf.graph.minimum_spanning_tree,
    "maximum_spanning_forest": lf.graph.maximum_spanning_forest,
    "maximal_independent_set": lf.graph.maximal_independent_set,
    "vertex_coloring": lf.graph.vertex_coloring,
    "label_propagation": lf.graph.label_propagation,
    "pagerank": lambda A: lf.graph.pagerank(A, tol=1.0),
    "degrees": lf.graph.degrees,
    "is_coloring": lambda A: lf.graph.is_coloring(A, np.arange(A.shape[0])),
    "is_component_labelling": lambda A: lf.graph.is_component_labelling(A, np.zeros(A.shape[0], int)),
    "is_maximal_independent_set": lambda A: lf.graph.is_maximal_independent_set(A, np.ones(A.shape[0], int)),
    "is_spanning_forest": lambda A: lf.graph.is_spanning_forest(A, A),
    "memory_estimate": lf.memory_estimate,
    "cg": lambda A: lf.solvers.cg(A, _ones(A), maxiter=3),
    "bicgstab": lambda A: lf.solvers.bicgstab(A, _ones(A), maxiter=3),
    "fcg": lambda A: lf.solvers.fcg(A, _ones(A), maxiter=3),
    "M of cg": lambda A: lf.solvers.cg(lf.matrices.poisson((6, 8)), np.ones(48), M=A, maxiter=3),
    "update": lambda A: lf.jacobi(lf.matrices.poisson((6, 8))).update(A),
}
