"""Maximal independent sets by Luby's algorithm with random selections, all rounds in one launch."""

import numpy as np

from ..runtime import INDICES, Program, Struct, cupy, launch
from .independent_set import lanes_per_vertex

LUBY = Struct("Luby", "csgraph/luby.cu")
# Words in rotation that count vertices.
COUNTS = 3
PROGRAM = Program("csgraph/luby", cooperative=True, INDEX=INDICES)


def luby_set(pattern, seed, fewest, patience):
    n, lanes = pattern.n, lanes_per_vertex(pattern)
    states, marks, members = cupy.empty(n, np.uint8), cupy.empty(n, np.uint32), cupy.empty(n, np.int32)
    words = cupy.zeros(COUNTS + 1, np.uint64)
    arguments = LUBY(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, states=states, marks=marks,
        members=members, counts=words, barrier=words[COUNTS:], n=n, seed=seed, fewest=fewest,
        patience=patience, per_warp=32 // lanes,
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr).luby_rounds, (arguments,), items=n * lanes)
    return members
