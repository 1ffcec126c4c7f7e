"""The weight of a matching: values of matched edges, augmentations that raise it, offers that bound it."""

import numpy as np

from ..matrix.entries import lanes_for
from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch

VALUES = Program("matching/matched_edge_values", VALUE=WEIGHTS, INDEX=INDICES)
OFFERS = Program("matching/vertex_duals", WEIGHT=WEIGHTS, INDEX=INDICES)
# Where a row is longer than this, a warp reads each row.
LONG_ROW = 1024
MATCHED = Struct("Matched", "matching/augmentations.cu")
AUGMENTATIONS = Struct("Augmentations", "matching/augmentations.cu")
PROGRAM = Program("matching/augmentations", WEIGHT=WEIGHTS, INDEX=INDICES)


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


def augment(graph, mate, tie_key, limit):
    n, index, tie_key = graph.n, graph.indices.dtype, np.uint32(tie_key)
    program = PROGRAM(WEIGHT=graph.values, INDEX=index)
    mate_weights, gains, arms = cupy.empty(n), cupy.zeros(n), cupy.empty((2, n), index)
    (claims, ties), (dirty, changed) = cupy.zeros((2, n), np.uint64), cupy.zeros((2, n), np.uint8)
    dirty.fill(1)
    matched = MATCHED(
        indptr=graph.indptr,
        indices=graph.indices,
        values=graph.values,
        mate=mate,
        mate_weights=mate_weights,
        scale=graph.scale,
    )
    found = AUGMENTATIONS(
        gains=gains, arms=arms, claims=claims, ties=ties, dirty=dirty, changed=changed, vertices=n
    )
    launch(program.weigh_mates, (matched, n))
    rounds = 0
    while True:
        launch(program.find_augmentations, (matched, found, tie_key))
        is_open = cupy.zeros(1, np.uint32)
        launch(program.claim_by_gain, (mate, found, is_open))
        left = bool(is_open.item())  # stall: whether another round follows
        if not left or rounds == limit:
            return (rounds, not left), mate_weights
        launch(program.claim_by_tie, (mate, found, tie_key))
        launch(program.apply_best, (matched, found, tie_key))
        launch(program.mark_dirty, (matched, found))
        rounds += 1
