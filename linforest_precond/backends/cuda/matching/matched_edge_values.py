"""The values of the matched edges."""

from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import INDICES, WEIGHTS, Program

PROGRAM = Program("matching/matched_edge_values", VALUE=WEIGHTS, INDEX=INDICES)


def matched_edge_values(graph, mate):
    """The graph's value between each vertex and its mate, 0 where it has none or nothing is stored."""
    out = cupy.empty(graph.n, graph.values.dtype)
    program = PROGRAM(VALUE=graph.values.dtype.type, INDEX=graph.indices.dtype.type)
    launch(program.find_matched_values, (graph.indptr, graph.indices, graph.values, graph.n, mate, out))
    return out
