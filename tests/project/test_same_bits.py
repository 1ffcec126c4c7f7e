"""The same input and seed give the same bits: on both backends, for any number of threads, in every version.

`same_bits.json` holds digests of what the functions below return: {matrix: {function: {quantity: digest}}}. A
change that is meant to alter results writes it anew, on the CPU:

    PYTHONPATH=.:tests LINFOREST_MATRICES=... python tests/project/test_same_bits.py
"""

import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import CPU, load_real, matrices_folder, skip_or_fail

import linforest_precond as lf

DIGESTS = Path(__file__).with_name("same_bits.json")


def factors(A):
    for n in (1, 2, 3, 4):
        yield from fields(f"n={n}", lf.graph.factor(A, n, iterations=5), "neighbors", "values")
    yield from fields("maximal", lf.graph.factor(A, m=1, iterations=None, seed=7), "neighbors", "values")


def linear_forest(A):
    forest = lf.linear_forest(A)
    yield from fields("forest", forest, "neighbors", "path_id", "position", "order")
    yield "forest: counts", forest.counts[:3]  # the GPU has room for more
    yield from fields("bands", lf.extract_bands(A, forest), "lower", "diagonal", "upper")
    along, bands = lf.pipeline.tridiagonal_bands(A, iterations=3, seed=5)
    yield from fields("three iterations", along, "path_id", "position", "order")
    yield from fields("three iterations", bands, "lower", "diagonal", "upper")


def block_forests(A):
    for size in (2, 4):
        forest, bands = lf.pipeline.block_tridiagonal_bands(A, size)
        yield from fields(f"blocks of {size}", forest, "order")
        yield from fields(f"blocks of {size}", forest.forest, "path_id", "position")
        yield from fields(f"blocks of {size}", bands, "lower", "diagonal", "upper")


def matchings(A):
    for method in ("locally_dominant", "suitor", "random", "weighted", "factor"):
        yield from fields(method, lf.graph.matching(A, method), "mate", "values")
    yield from fields("pattern", lf.graph.matching(A, weights="pattern", seed=3), "mate")


def streaming_matching(A):
    yield from fields("paz_schwartzman", lf.graph.matching(A, "paz_schwartzman"), "mate", "values")


def coarsenings(A):
    step = lf.graph.coarsen(A, lf.graph.matching(A))
    yield "aggregates", step.aggregates
    yield "A", csr(step.A)
    for i, step in enumerate(lf.graph.coarsening_hierarchy(A, max_coarse=100), 1):
        yield f"level {i} aggregates", step.aggregates
        yield f"level {i} A", csr(step.A)


def vertex_labels(A):
    yield "weak components", lf.graph.connected_components(A, directed=False)[1]
    yield "strong components", lf.graph.strongly_connected_components(A)[1]
    for k in (1, 2):
        yield f"independent set, k={k}", lf.graph.maximal_independent_set(A, k)
    yield "independent set, luby", lf.graph.maximal_independent_set(A, method="luby")
    for method in ("JP", "LDF"):
        yield f"coloring {method}", lf.graph.vertex_coloring(A, method)
    yield "label propagation", lf.graph.label_propagation(A)


def traversals(A):
    yield "bfs levels", lf.graph.bfs_levels(A, 0)
    order, predecessors = lf.graph.breadth_first_order(A, 0, directed=False)
    yield "breadth-first order", order
    yield "predecessors", predecessors


def real_weights(A):
    yield "minimum spanning tree", csr(lf.graph.minimum_spanning_tree(A))
    yield "maximum spanning forest", csr(lf.graph.maximum_spanning_forest(A))
    yield "pagerank", lf.graph.pagerank(abs(A))


def orders(A):
    yield "cuthill_mckee", lf.graph.cuthill_mckee(A)
    for method in ("rcm", "degree", "hubs", "matching", "labels"):
        yield method, lf.graph.order(A, method)
    least = lf.graph.minimum_degree(A)
    yield "minimum_degree", least
    yield "fill", lf.graph.fill(A, least).counts
    yield "refined", lf.graph.refine_ordering(A, fraction=0.05)


def scalings(A):
    for method in ("matching", "equilibrate"):
        yield from fields(method, lf.scaling(A, method), "row", "column")
    yield "permutation", lf.scaling(A, symmetric=False).permutation


def hierarchies(A):
    for coarsening in ("smoothed_aggregation", "matching", "paths"):
        hierarchy = lf.multilevel(A, coarsening=coarsening, max_coarse=50, max_levels=6, dtype=None)
        for i, level in enumerate(hierarchy.levels):
            yield f"{coarsening}, level {i}: A", csr(level.A)
        for i, level in enumerate(hierarchy.levels[:-1]):
            yield f"{coarsening}, level {i}: P", csr(level.P)


def incomplete_factors(A):
    yield from stored(lf.ilu(A, ordering="rcm"))


def approximate_inverses(A):
    yield from stored(lf.approximate_inverse(A))


FUNCTIONS = {
    function.__name__: function
    for function in (
        factors, linear_forest, block_forests, matchings, streaming_matching, coarsenings, vertex_labels,
        traversals, real_weights, orders, scalings, hierarchies, incomplete_factors, approximate_inverses,
    )
}  # fmt: skip


def fields(of, record, *names):
    return ((f"{of}: {name}", getattr(record, name)) for name in names)


def csr(A):
    return A.indptr, A.indices, A.data


def stored(M):
    """The arrays of a preconditioner's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "M.npz")
        lf.save_preconditioner(M, path)
        with np.load(path) as file:
            return [(name, file[name]) for name in file.files if name.startswith("part.")]


def complex_grid():
    """A nonsymmetric complex matrix, with products that are exact."""
    A = lf.matrices.poisson((14, 13)).astype(np.complex128)
    A.data *= 1 + 0.25j * (np.arange(A.nnz) % 7)
    return A


GENERATED = {
    "aniso": lambda: lf.matrices.aniso(2, 40),
    "poisson": lambda: lf.matrices.poisson((12, 11, 10)),
    "complex": complex_grid,
}
# Of each kind a few: definite, nonsymmetric, indefinite with a zero diagonal, unit weights, stored zeros.
REAL = (
    "nos7", "bcsstk09", "sherman5", "cryg2500", "cage8", "add32", "memplus", "rajat19", "adder_dcop_05",
    "hangGlider_2", "bcspwr10", "4elt",
)  # fmt: skip
QUICK = "aniso", "poisson"
CASES = [
    (name, function)
    for name in (*GENERATED, *REAL)
    for function in FUNCTIONS
    if (name, function) != ("complex", "real_weights")
]


def digest(arrays):
    """Of numbers in a canonical type, with their shape; the sign of a zero is left out."""
    found = hashlib.sha256()
    for array in arrays:
        type_ = np.dtype("<i8") if array.dtype.kind in "iub" else array.dtype.newbyteorder("<")
        canonical = np.ascontiguousarray(array, type_) + 0
        found.update(f"{canonical.dtype.str} {canonical.shape} ".encode())
        found.update(canonical.tobytes())
    return found.hexdigest()[:16]


def digests(backend, name, function):
    A = GENERATED[name]() if name in GENERATED else load_real(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of stalled coarsening and perturbed pivots
        found = {
            quantity: value if isinstance(value, tuple) else (value,)
            for quantity, value in FUNCTIONS[function](backend.csr(A))
        }
    return {quantity: digest(map(backend.host, arrays)) for quantity, arrays in found.items()}


@pytest.mark.parametrize(
    ("name", "function"),
    [pytest.param(*case, marks=() if case[0] in QUICK else pytest.mark.slow) for case in CASES],
)
def test_same_bits(backend, name, function):
    if backend.name != "cpu" and function == "streaming_matching":
        backend = CPU  # graphs in batches stay on the host
    if name in REAL and matrices_folder() is None:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    expected = json.loads(DIGESTS.read_text())[name][function]
    found = digests(backend, name, function)
    other = [quantity for quantity in expected | found if expected.get(quantity) != found.get(quantity)]
    assert not other, f"{function} of {name} on {backend.name} has other bits in: {'; '.join(other)}"


def write():
    found = {}
    for name, function in CASES:
        found.setdefault(name, {})[function] = digests(CPU, name, function)
    DIGESTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
