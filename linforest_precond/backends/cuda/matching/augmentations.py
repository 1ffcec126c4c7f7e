"""Augmentations of a matching that add two edges at most: Pettie & Sanders (2004), in parallel rounds."""

import numpy as np

from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch

MATCHED = Struct("Matched", "matching/augmentations.cu")
AUGMENTATIONS = Struct("Augmentations", "matching/augmentations.cu")
PROGRAM = Program("matching/augmentations", WEIGHT=WEIGHTS, INDEX=INDICES)


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
