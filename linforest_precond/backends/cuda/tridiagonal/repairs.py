"""Repairs of (block) tridiagonal systems: clipped couplings, perturbed singular segments."""

import numpy as np

from ..matrix.diagonal_blocks import invert
from ..runtime import VALUES, Program, cupy, launch
from ..runtime.grid_sums import add_up
from . import pivots
from .tiles import BLOCK_SIZES, block_size

# The words of the sums over a segment, as in repairs.cu.
SEGMENT_WORDS = 2
PROGRAM = Program("tridiagonal/repairs", VALUE=VALUES, BLOCK=BLOCK_SIZES)


def rows_to_repair(lower, diagonal, upper, inverse, magnitudes, order=None):
    """No stall."""
    rows, program = diagonal.shape[0], _program(diagonal)
    segments = _segments(lower, upper, rows, program, both_ways=False)
    sums, repaired = cupy.zeros((rows, SEGMENT_WORDS), np.int64), cupy.empty(rows, bool)
    wide = np.int32(order is not None and order.dtype.itemsize == 8)
    of_rows = magnitudes, 0 if order is None else order, wide
    arguments = lower, diagonal, upper, inverse, *of_rows, rows, segments, sums
    launch(program.count_rows, arguments, items=rows)
    launch(program.mark_paths, (segments, sums, rows, repaired), items=rows)
    return repaired


def clip_paths(lower, diagonal, upper, rows):
    inverse = invert(diagonal if diagonal.ndim == 3 else diagonal.reshape(-1, 1, 1))[0]
    clipped, report = [cupy.empty_like(band) for band in (lower, upper)], cupy.zeros(2, np.int64)
    arguments = lower, upper, inverse, rows, rows.size, *clipped, report
    launch(_program(diagonal).clip_paths, arguments, items=rows.size)
    return *clipped, *report.tolist()  # stall: decides whether bands are factored again


def perturb_singular(lower, diagonal, upper, inverse):
    """Perturb the last entries of singular segments; the diagonal, and the number of these on the device."""
    rows, program = diagonal.size, _program(diagonal)
    segments = _segments(lower, upper, rows, program, both_ways=True)
    flags, perturbed = cupy.zeros(rows + 1, np.uint32), cupy.empty_like(diagonal)  # flags, and the count
    launch(program.flag_segments, (diagonal, rows, segments, flags), items=rows)
    arguments = lower, diagonal, upper, inverse, rows, segments, flags, perturbed
    launch(program.perturb_segments, arguments, items=rows)
    return perturbed, flags[-1:]


def _segments(lower, upper, rows, program, both_ways):
    """The number of each (block) row's segment, from 1; a segment ends where couplings (both ways) end."""
    numbers = cupy.empty(rows, np.int32)
    launch(program.mark_first_rows, (lower, upper, rows, np.int32(both_ways), numbers), items=rows)
    return add_up(numbers)


def _program(diagonal):
    return PROGRAM(VALUE=diagonal, BLOCK=block_size(diagonal))


def clip(lower, diagonal, upper):
    program = pivots.PROGRAM(VALUE=diagonal, BLOCK=block_size(diagonal))
    clipped = [cupy.empty_like(diagonal) for _ in range(3)]
    launch(program.clip_couplings, (diagonal, upper, diagonal.shape[0], *clipped))
    return tuple(clipped)
