"""The values of the matched edges."""

from ..runtime import INDICES, WEIGHTS, Program, cupy, launch

PROGRAM = Program("matching/matched_edge_values", VALUE=WEIGHTS, INDEX=INDICES)


def matched_edge_values(graph, mate):
    out = cupy.empty(graph.n, graph.values.dtype)
    program = PROGRAM(VALUE=graph.values, INDEX=graph.indices)
    launch(program.find_matched_values, (graph.indptr, graph.indices, graph.values, graph.n, mate, out))
    return out
