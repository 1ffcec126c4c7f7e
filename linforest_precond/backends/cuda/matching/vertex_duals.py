"""Dual variables of the fractional matching problem: the best offers of the neighbours of a vertex."""

from ..matrix.entries import lanes_for
from ..runtime import INDICES, WEIGHTS, Program, cupy, launch

PROGRAM = Program("matching/vertex_duals", WEIGHT=WEIGHTS, INDEX=INDICES)
# Where a row is longer than this, a warp reads each row.
LONG_ROW = 1024


def best_offers(graph, duals, without):
    offers = cupy.empty(graph.n)
    width = 32 if graph.longest_row > LONG_ROW else lanes_for(graph.indices.size, max(graph.n, 1))
    program = PROGRAM(WEIGHT=graph.values, INDEX=graph.indices)
    arrays = graph.indptr, graph.indices, graph.values, duals, without
    launch(program.find_best_offers, (*arrays, graph.scale, graph.n, width, offers))
    return offers
