"""Values of matched edges, and the best offers of the other ones, by which dual variables are bounded."""

from ..matrix.entries import lanes_for
from ..runtime import INDICES, WEIGHTS, Program, cupy, launch

VALUES = Program("matching/matched_edge_values", VALUE=WEIGHTS, INDEX=INDICES)
OFFERS = Program("matching/vertex_duals", WEIGHT=WEIGHTS, INDEX=INDICES)
# Where a row is longer than this, a warp reads each row.
LONG_ROW = 1024


def matched_edge_values(graph, mate):
    out = cupy.empty(graph.n, graph.values.dtype)
    program = VALUES(VALUE=graph.values, INDEX=graph.indices)
    launch(program.find_matched_values, (graph.indptr, graph.indices, graph.values, graph.n, mate, out))
    return out


def best_offers(graph, duals, without):
    offers = cupy.empty(graph.n)
    width = 32 if graph.longest_row > LONG_ROW else lanes_for(graph.indices.size, max(graph.n, 1))
    program = OFFERS(WEIGHT=graph.values, INDEX=graph.indices)
    arrays = graph.indptr, graph.indices, graph.values, duals, without
    launch(program.find_best_offers, (*arrays, graph.scale, graph.n, width, offers))
    return offers
