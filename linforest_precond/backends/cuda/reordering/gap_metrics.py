"""Gap metrics of an ordering: sorted neighbourhoods, sums of logarithms in fixed point, and a refinement.

The refinement completes swaps along edges that lower a metric in conflict-free rounds.
"""

import numpy as np

from ..runtime import Program, Struct, cupy, launch

# As in the CPU backend, and in fixed_logarithm.cuh.
UNIT = 2**32
PROGRAM = Program("reordering/gap_metrics", INDEX=np.int32)
REFINEMENT = Struct("Refinement", "reordering/refinement.cu")
# No swap has reserved the row.
NO_OWNER = 2**64 - 1
LANES = 32
REFINEMENT_PROGRAM = Program("reordering/refinement", cooperative=True, LOGARITHMIC=(0, 1))


def sorted_positions(indptr, neighbours, order):
    n = order.size
    rank = cupy.empty(n, np.int64)
    rank[order] = cupy.arange(n)
    rows = cupy.searchsorted(indptr, cupy.arange(neighbours.size), side="right") - 1
    return (cupy.sort(rows * n + rank[neighbours]) % max(n, 1)).astype(np.int32)


def log_sum(numbers):
    sums = cupy.zeros(2, np.uint64)
    launch(PROGRAM(INDEX=numbers).sum_logarithms, (numbers, numbers.size, sums), items=numbers.size)
    whole, fraction = sums.tolist()  # stall: the answer
    return whole * UNIT + fraction


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
    program = REFINEMENT_PROGRAM(LOGARITHMIC=int(logarithmic))
    launch(program.desire_swaps, (refinement,), items=count * LANES)
    launch(program.complete_swaps, (refinement, barrier), items=count * LANES)
    return order, int(swaps[0])  # stall: the number of swaps
