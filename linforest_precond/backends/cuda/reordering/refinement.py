"""Refinement of an ordering by degree: swaps along edges that lower a gap metric, in conflict-free rounds."""

import numpy as np

from ..runtime import Program, Struct, cupy, launch
from .gap_metrics import sorted_positions

REFINEMENT = Struct("Refinement", "reordering/refinement.cu")
# No swap has reserved the row.
NO_OWNER = 2**64 - 1
LANES = 32
PROGRAM = Program("reordering/refinement", cooperative=True, LOGARITHMIC=(0, 1))


def refine(indptr, neighbours, order, candidates, logarithmic, max_degree, max_rounds):
    """Rounds of deterministic reservations (Blelloch, Fineman, Gibbons & Shun 2012).

    A swap is completed when it comes first in all rows that it changes. This gives the result of completing
    the swaps one by one.
    """
    n, count = order.size, candidates.size
    order, rank = order.copy(), cupy.empty_like(order)
    rank[order] = cupy.arange(n, dtype=order.dtype)
    positions = sorted_positions(indptr, neighbours, order)
    partners, pending = cupy.empty(count, np.int32), cupy.empty((2, count), np.int32)
    owners = cupy.full(n, NO_OWNER, np.uint64)
    counts, swaps, barrier = cupy.zeros(3, np.uint64), cupy.zeros(1, np.uint64), cupy.zeros(1, np.uint32)
    refinement = REFINEMENT(
        indptr=indptr, neighbours=neighbours, positions=positions, rank=rank, order=order,
        candidates=candidates, partners=partners, owners=owners, pending=pending, counts=counts, swaps=swaps,
        vertices=n, candidate_count=count, max_degree=max_degree, max_rounds=max_rounds,
    )  # fmt: skip
    program = PROGRAM(LOGARITHMIC=int(logarithmic))
    launch(program.desire_swaps, (refinement,), items=count * LANES)
    launch(program.complete_swaps, (refinement, barrier), items=count * LANES)
    return order, int(swaps[0])  # stall: the number of swaps
