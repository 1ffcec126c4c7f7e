"""What the traversals need that go level by level in one cooperative launch."""

import functools

import numpy as np

from ..runtime.launch import launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.structs import Struct

# Threads of a block, blocks of a launch, and the fronts that one block keeps to itself, in multiples of the
# items it looks at in one go: see `Widths` in fronts.cuh.
BLOCK = 512
BLOCKS = 64
NARROW, WIDE = 2, 4

ITEM_BYTES = 16
# Words at the front of those that a launch starts with at zero: the level handed over, the queue's two
# tails. What blocks tell each other follows.
HAND_OVER_WORDS, TAIL_WORDS = 3, 1

WIDTHS = Struct("Widths", "csgraph/frontier.cuh", narrow="I", wide="I")


class Meeting:
    """The words through which the blocks of one launch meet, and its size."""

    def __init__(self, width, blocks=None, block=None, narrow=None, wide=None):
        self.block = block or BLOCK
        self.blocks = min(blocks or BLOCKS, _multiprocessors(cupy.cuda.Device().id))
        at_once = self.block // width
        self.narrow = NARROW * at_once if narrow is None else narrow
        self.wide = max(WIDE * at_once if wide is None else wide, self.narrow)
        if self.blocks == 1:
            self.narrow = self.wide = 2**32 - 1
        self.words = cupy.zeros(HAND_OVER_WORDS + TAIL_WORDS + 4 * self.blocks, np.uint64)
        self.hand_over = self.words
        self.tail = self.words[HAND_OVER_WORDS:]
        self.meetings = self.tail[TAIL_WORDS:]
        self.totals = self.meetings[2 * self.blocks :]

    def launch(self, kernel, arguments):
        """Launch a cooperative kernel that takes the widths last."""
        widths = WIDTHS(narrow=self.narrow, wide=self.wide)
        launch_blocks(kernel, self.blocks, (arguments, widths), block=self.block)


@functools.cache
def _multiprocessors(device):
    # One block to each is always resident.
    return cupy.cuda.Device(device).attributes["MultiProcessorCount"]
