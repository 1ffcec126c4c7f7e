"""Searches of rows for the best edge of each vertex: the arguments that best_edges.cuh takes."""

import numpy as np

from ..matrix.long_row_split import lanes_to_a_row, staged_entries
from ..runtime import INDICES, WEIGHTS, Struct, cupy

# Rows longer than this, and than LONG_FACTOR times the mean, are split into pieces, a warp per piece.
LONG_ROW = 128
LONG_FACTOR = 4
PIECE = 512
# The macros of all programs that include best_edges.cuh.
SEARCH_MACROS = {"WEIGHT": WEIGHTS, "INDEX": INDICES, "PIECE": PIECE}

# The structs Search in best_edges.cuh and ListCounts in round_loop.cuh.
SEARCH = Struct("Search", "matching/best_edges.cuh")
LIST_COUNTS = "front", "back", "pieces"


def search_macros(graph):
    """The macros for the types of a graph."""
    return {"WEIGHT": graph.values.dtype.type, "INDEX": graph.indices.dtype.type}


class Search:
    """The struct Search of a graph, with the arrays that it refers to."""

    def __init__(self, graph, tie_key=0, mean=None):
        mean = graph.indices.size / max(graph.n, 1) if mean is None else mean
        entry_bytes = graph.indices.dtype.itemsize + graph.values.dtype.itemsize
        capacity = staged_entries(mean, entry_bytes)
        self.shared_memory = capacity * entry_bytes
        self.macros = search_macros(graph)
        self.arrays = {"indptr": graph.indptr, "indices": graph.indices, "values": graph.values}
        self.numbers = {
            "rows": graph.n,
            "long_row": max(LONG_ROW, int(LONG_FACTOR * mean)),
            "tie_key": int(tie_key),
            "short_rows": capacity > 0,
            "capacity": capacity,
            "width": lanes_to_a_row(mean),
        }
        self._add_pieces(graph)

    def _add_pieces(self, graph):
        """Allocate the lists and results of pieces; null pointers where no row is long."""
        most, arrays = 0, dict.fromkeys(("pieces", "results", "arrivals"))
        if graph.longest_row > self.numbers["long_row"]:
            most = graph.indices.size // PIECE + graph.indices.size // self.numbers["long_row"] + 1
            edge = [("value", graph.values.dtype), ("hash", np.uint32), ("column", graph.indices.dtype)]
            result = np.dtype([("best", np.dtype(edge, align=True)), ("open", np.int32)], align=True)
            arrays = {
                "pieces": cupy.empty((2, most), np.uint64),
                "results": cupy.empty(most * result.itemsize, np.uint8),
                "arrivals": cupy.zeros(most, np.uint32),
            }
        self.arrays |= arrays
        self.numbers["most_pieces"] = most

    def struct(self):
        return SEARCH(**self.arrays, **self.numbers)


def counts_and_barrier():
    """The ListCounts of three rounds and the word of the grid barrier, all zero."""
    words = cupy.zeros(3 * len(LIST_COUNTS) + 1, np.uint64)
    return words, words[3 * len(LIST_COUNTS) :]
