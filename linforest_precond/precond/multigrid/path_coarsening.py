"""Coarsening along paths of strong couplings: every second unknown of a path is kept."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import ForestArrays
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.graphs import Graph
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.pairwise_aggregation import strength_graph
from linforest_precond.precond.multigrid.prolongation import RectangularCSR, product

# A coarse matrix with more than this share of the fine matrix's entries is not worth its cost.
MOST_ENTRIES = 0.8
# The same for the matrices between the steps of one level.
MOST_ENTRIES_BETWEEN = 1.25


class TooManyEntriesError(Exception):
    """A matrix between the steps of a level is too dense."""


def coarsen_along_paths(
    fine: LevelMatrix, steps: int, weights: str, strength: float, seed: int
) -> tuple[Interpolation, LevelMatrix] | None:
    """Interpolation from every second unknown of each path, several times, and the coarse matrix.

    None where that matrix would have too many entries: if unknowns are coupled to many others, and all about
    as strongly, each step couples more of them.
    """

    def halve(matrix: LevelMatrix, last: bool) -> tuple[RectangularCSR, LevelMatrix | None]:
        prolongator = path_prolongator(matrix, weights, strength, seed)
        if last:
            return prolongator, None
        coarse = Interpolation.of(prolongator).coarse_matrix(matrix)
        if coarse.csr.nnz > MOST_ENTRIES_BETWEEN * fine.csr.nnz:
            raise TooManyEntriesError
        return prolongator, coarse

    try:
        prolongator, _ = coarsen_repeatedly(fine, steps, halve, product)
    except TooManyEntriesError:
        return None
    # From the finest matrix and the composed prolongator, as for other values of the matrix.
    transfer = Interpolation.of(prolongator)
    coarse = transfer.coarse_matrix(fine)
    return None if coarse.csr.nnz > MOST_ENTRIES * fine.csr.nnz else (transfer, coarse)


def path_prolongator(matrix: LevelMatrix, weights: str, strength: float, seed: int) -> RectangularCSR:
    """Keeps every second unknown of a path; the others are interpolated from their neighbours on the path.

    Interpolation weights are proportional to the entries, but rounded to multiples of a power of two, so that
    those of a row add up to exactly 1, in single precision too. An unknown on no path takes the value of the
    unknown on a path that it is coupled to most strongly, and is kept where there is none.
    """
    csr, backend = matrix.csr, matrix.backend
    graph = strength_graph(matrix, weights, strength)
    factor = propose_factor(graph, check_options(2, seed=seed))
    paths = backend.forest.linear_forest.linear_forest(
        factor.neighbors, factor.values, factor.slots, in_place=True
    )
    groups, count = _join_paths(graph, paths, seed)
    arrays = paths.neighbors, paths.position, _path_magnitudes(csr, paths), groups, count
    indptr, columns, shares, width = backend.multigrid.path_interpolation.interpolate(*arrays)
    return RectangularCSR(indptr, columns, shares.astype(csr.data.dtype), width)


def _path_magnitudes(csr: CheckedMatrix, paths: ForestArrays) -> Array:
    """Magnitudes of A's entries, or of the graph's weights, between each unknown and its path neighbours."""
    values = csr.data[paths.slots] if paths.slots is not None and csr.nnz else paths.values
    return csr.backend.matrix.entries.magnitudes(values.ravel()).reshape(-1, 2)


def _join_paths(graph: Graph, paths: ForestArrays, seed: int) -> tuple[Array, int]:
    """Groups of an unknown on a path and those on none that are coupled to it most strongly; how many."""
    backend = graph.backend
    vertices = backend.xp.arange(graph.n, dtype=graph.indices.dtype)
    # As if every unknown on a path were a pair, which single unknowns join.
    mates = backend.xp.where(paths.neighbors[:, 0] >= 0, vertices, vertices.dtype.type(-1))
    return backend.matching.aggregates.of_mates(graph, mates, tie_key_of(seed))
