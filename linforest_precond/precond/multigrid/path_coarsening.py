"""Coarsening along paths of strong couplings: every second unknown of a path is kept."""

from __future__ import annotations

from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.pairwise_aggregation import strength_graph
from linforest_precond.precond.multigrid.prolongation import TooManyEntriesError, product

# A coarse matrix with more than this share of the fine matrix's entries is not worth its cost.
MOST_ENTRIES = 0.8
# The bound for matrices between the steps of one level.
MOST_ENTRIES_BETWEEN = 1.25


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
        most = MOST_ENTRIES_BETWEEN * fine.csr.nnz
        return prolongator, Interpolation.of(prolongator).coarse_matrix(matrix, most)

    try:
        prolongator, _ = coarsen_repeatedly(fine, steps, halve, product)
        # Computed from the finest matrix and the composed prolongator, as in an update.
        transfer = Interpolation.of(prolongator)
        return transfer, transfer.coarse_matrix(fine, MOST_ENTRIES * fine.csr.nnz)
    except TooManyEntriesError:
        return None


def path_prolongator(matrix: LevelMatrix, weights: str, strength: float, seed: int) -> RectangularCSR:
    """Keeps every second unknown of a path; the others are interpolated from their neighbours on the path.

    Interpolation weights are proportional to the entries, but rounded to multiples of a power of two, so that
    those of a row add up to exactly 1, in single precision too. An unknown on no path takes the value of the
    unknown on a path that it is coupled to most strongly, and is kept where there is none.
    """
    csr, rooms = matrix.csr, matrix.backend
    graph = strength_graph(matrix, weights, strength)
    factor = propose_factor(graph, check_options(2, seed=seed))
    paths = rooms.forest.linear_forest.linear_forest(
        factor.neighbors, factor.values, factor.slots, in_place=True
    )
    interpolate = rooms.multigrid.path_interpolation.interpolate
    return RectangularCSR(*interpolate(graph, paths, csr.data, tie_key_of(seed)))
