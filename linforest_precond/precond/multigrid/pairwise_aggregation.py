"""Coarsening by strong couplings: of matched pairs, or along paths, keeping every second unknown."""

from __future__ import annotations

import math
from dataclasses import replace

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.matching.matching import match_graph, tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly
from linforest_precond.matrix.checked import checked, described
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.graphs import Graph
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.grid_transfer import Aggregates, Interpolation
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.prolongation import TooManyEntriesError, product

WEIGHTS = "coupling", "magnitude"


def aggregate_pairwise(
    fine: LevelMatrix, matchings: int, weights: str, strength: float, seed: int
) -> Aggregates:
    """Aggregates of about ``2**matchings`` unknowns."""

    def pair_up(matrix: LevelMatrix, last: bool) -> tuple[Aggregates, LevelMatrix | None]:
        graph = strength_graph(matrix, weights, strength)
        mate, _ = match_graph(graph, "suitor", seed=seed)
        if last:
            aggregates = graph.backend.multigrid.aggregates.of_mates(graph, mate, tie_key_of(seed))
            return Aggregates(*aggregates), None
        pairs = Aggregates(*number_pairs(mate))
        return pairs, pairs.coarse_matrix(matrix)

    def compose(first: Aggregates, second: Aggregates) -> Aggregates:
        return Aggregates(second.numbers[first.numbers], second.count)

    return coarsen_repeatedly(fine, matchings, pair_up, compose)[0]


def strength_graph(matrix: LevelMatrix, weights: str, strength: float) -> Graph:
    """The graph of strengths of connection, 0 for weak ones; without its total weight."""
    csr = matrix.csr
    if weights == "magnitude":
        return checked(csr).graph
    values, _, flags = matrix.backend.multigrid.strength.weigh(csr, strength)
    overflows, positive, not_positive = flags.tolist()  # stall: is the graph symmetric?
    if overflows:
        described(csr.indptr, csr.indices, values)  # raises
    # Of a Hermitian matrix, both unknowns see the same strength if their diagonals have one sign.
    symmetric = matrix.hermitian and not (positive and not_positive)
    index = csr.indices.dtype if symmetric else index_dtype(2 * csr.nnz, csr.indices.dtype)
    weighted = replace(
        csr,
        indptr=csr.indptr.astype(index, copy=False),
        indices=csr.indices.astype(index, copy=False),
        data=values,
        symmetric=symmetric,
        total_weight=math.nan,
        adjacent_weight=math.nan,
        scale=1.0,
    )
    return checked(weighted).graph


def number_pairs(mate: Array) -> tuple[Array, int]:
    """Pairs and single unknowns numbered by their lowest unknowns: each unknown's number, and how many."""
    xp = xp_of(mate)
    unknowns = xp.arange(mate.size, dtype=mate.dtype)
    lowest = xp.where(mate < 0, unknowns, xp.minimum(unknowns, mate))
    numbers = xp.cumsum(lowest == unknowns, dtype=mate.dtype)
    return numbers[lowest] - mate.dtype.type(1), int(numbers[-1]) if mate.size else 0  # stall: how many


# A coarse matrix with more than this share of the fine matrix's entries is not worth its cost.
MOST_ENTRIES = 0.8
# The bound for matrices between the steps of one level.
MOST_ENTRIES_BETWEEN = 1.25


def coarsen_along_paths(
    fine: LevelMatrix, steps: int, weights: str, strength: float, seed: int
) -> tuple[Interpolation, LevelMatrix] | None:
    """Interpolation from every second unknown of each path, several times, and the coarse matrix."""

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
    interpolate = rooms.multigrid.prolongators.interpolate_along_paths
    return RectangularCSR(*interpolate(graph, paths, csr.data, tie_key_of(seed)))
