"""How vertices look through their rows for their best edge: what best_edges.cuh asks for."""

import numpy as np

from ..matrix.row_staging import STAGED_MEAN, lanes_to_a_row, staged_entries
from ..runtime.lazy_cupy import cupy
from ..runtime.structs import Struct

# Rows beyond this, and beyond LONG_FACTOR times the mean, are split into pieces, each for a warp.
LONG_ROW = 128
LONG_FACTOR = 4
PIECE = 512

# The structs in best_edges.cuh and rounds.cuh.
SEARCH = Struct(
    "Search", "matching/best_edges.cuh",
    indptr="P", indices="P", values="P", pieces="P", finds="P", done="P",
    most_pieces="q", rows="q", long_row="q", tie_key="I", short_rows="i", capacity="i", width="i",
)  # fmt: skip
COUNT = "front", "back", "pieces"


def search_macros(graph):
    """The macros of all programs that include best_edges.cuh."""
    return {"WEIGHT": graph.values.dtype.type, "INDEX": graph.indices.dtype.type, "PIECE": PIECE}


class Search:
    """The struct of a graph's rows, with the arrays that it refers to."""

    def __init__(self, graph, tie_key=0, mean=None):
        mean = graph.indices.size / max(graph.n, 1) if mean is None else mean
        entry_bytes = graph.indices.dtype.itemsize + graph.values.dtype.itemsize
        short_rows = mean <= STAGED_MEAN
        capacity = staged_entries(mean, entry_bytes) if short_rows else 0
        self.shared_memory = capacity * entry_bytes
        self.macros = search_macros(graph)
        self.arrays = {"indptr": graph.indptr, "indices": graph.indices, "values": graph.values}
        self.numbers = {
            "rows": graph.n,
            "long_row": max(LONG_ROW, int(LONG_FACTOR * mean)),
            "tie_key": int(tie_key),
            "short_rows": short_rows,
            "capacity": capacity,
            "width": lanes_to_a_row(mean),
        }
        self._add_pieces(graph)

    def _add_pieces(self, graph):
        """Room for the pieces of long rows; null pointers where there are none."""
        most, arrays = 0, dict.fromkeys(("pieces", "finds", "done"))
        if graph.longest_row > self.numbers["long_row"]:
            most = graph.indices.size // PIECE + graph.indices.size // self.numbers["long_row"] + 1
            edge = [("value", graph.values.dtype), ("hash", np.uint32), ("column", graph.indices.dtype)]
            find = np.dtype([("best", np.dtype(edge, align=True)), ("open", np.int32)], align=True)
            arrays = {
                "pieces": cupy.empty((2, most), np.uint64),
                "finds": cupy.empty(most * find.itemsize, np.uint8),
                "done": cupy.zeros(most, np.uint32),
            }
        self.arrays |= arrays
        self.numbers["most_pieces"] = most

    def struct(self):
        return SEARCH(**self.arrays, **self.numbers)


def round_words():
    """The counts of three rounds and the words for a barrier, all zero."""
    words = cupy.zeros(3 * len(COUNT) + 1, np.uint64)
    return words, words[3 * len(COUNT) :]
