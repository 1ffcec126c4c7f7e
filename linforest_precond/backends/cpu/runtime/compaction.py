"""Stream compaction of a list of active vertices, in place: those that stay active move to the front.

First every block of BLOCK items is compacted by its own thread, then `compact` closes the gaps between the
blocks. The order is kept.
"""

from .jit import kernel

BLOCK = 2048  # items of the list that one thread processes at a time


# Moves the first `left[block]` items of every block to the front of the list; returns how many there are.
@kernel(parallel=False)
def compact(active, left):
    size = left[0] if left.size else 0
    for block in range(1, left.size):
        start = block * BLOCK
        if size == start:
            size += left[block]
            continue
        for i in range(start, start + left[block]):
            active[size] = active[i]
            size += 1
    return size
