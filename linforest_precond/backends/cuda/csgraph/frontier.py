"""Cooperative launches that expand one frontier after the other: their sizes and shared words."""

import functools

import numpy as np

from ..runtime import Struct, cupy, launch_blocks

# Threads of a block, blocks of a launch, and the limits of single-block mode (see `SingleBlockLimits` in
# frontier.cuh), in multiples of the items that a block processes at once.
BLOCK = 512
BLOCKS = 64
NARROW, WIDE = 2, 4

# sizeof(Item).
ITEM_BYTES = 16
# 64-bit words of the struct Handoff and of the two 32-bit tails of the queue.
HANDOFF_WORDS, TAIL_WORDS = 3, 1

SINGLE_BLOCK_LIMITS = Struct("SingleBlockLimits", "csgraph/frontier.cuh")


class FrontierLaunch:
    """The size of one cooperative launch, and the words that its blocks share, zero at first."""

    def __init__(self, width, blocks=None, block=None, narrow=None, wide=None):
        self.block = block or BLOCK
        self.blocks = min(blocks or BLOCKS, _multiprocessors(cupy.cuda.Device().id))
        at_once = self.block // width
        self.narrow = NARROW * at_once if narrow is None else narrow
        self.wide = max(WIDE * at_once if wide is None else wide, self.narrow)
        if self.blocks == 1:
            self.narrow = self.wide = 2**32 - 1
        self.words = cupy.zeros(HANDOFF_WORDS + TAIL_WORDS + 4 * self.blocks, np.uint64)
        self.handoff = self.words
        self.tails = self.words[HANDOFF_WORDS:]
        self.sum_words = self.tails[TAIL_WORDS:]
        self.totals = self.sum_words[2 * self.blocks :]

    def launch(self, kernel, arguments):
        """Launch a cooperative kernel whose last argument is the limits."""
        limits = SINGLE_BLOCK_LIMITS(narrow=self.narrow, wide=self.wide)
        launch_blocks(kernel, self.blocks, (arguments, limits), block=self.block)


@functools.cache
def _multiprocessors(device):
    # One block per multiprocessor is always co-resident.
    return cupy.cuda.Device(device).attributes["MultiProcessorCount"]
