"""Factored tridiagonal systems, scalar and of small blocks: their pivots and the sweeps that solve them."""

import numpy as np

from linforest_precond.backends.returns import Finding

from ..runtime.launch import BLOCK, launch, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address
from . import tiles
from .refinement import backward_error
from .strided_vectors import vectors
from .tiles import block_size

# Rows of a group, and the most rows of the coarsest level (pivots.cu).
GROUP = 16
TOP = 64
GROUPS_OF_BLOCK = 128
# What is left of a carry behind a halo, in units of machine epsilon, where it counts as nothing.
NEGLIGIBLE = 2.0**-6
# Sweeps whose products of couplings stay below the first keep their digits. Those that grow beyond the second
# do not; in between they are tried out, and may be so many roundings off. (Inverses of blocks that lose some
# digits are common among preconditioners, and harmless there.)
SMALL_GROWTH = {1: 1 + 2.0**-12, 2: 4096.0, 4: 4096.0}
LARGEST_GROWTH = {1: 2.0**30, 2: 4096.0, 4: 4096.0}
SMALL_ERROR = 1.0

# The struct in pivots.cu, and those in sweeps.cu.
ENDS = Struct("Ends", "tridiagonal/pivots.cu", pivots="P", before="P", upper="P", inverses="P")
SYSTEM = Struct("System", "tridiagonal/sweeps.cu", lower="P", inverse="P", upper="P", count="q")
CARRIES = Struct("Carries", "tridiagonal/sweeps.cu", z="P", x="P", tiles="q")


def factor(lower, diagonal, upper):
    """The inverse pivots, and the counters of `records.Finding`."""
    program = kernels("tridiagonal/pivots", VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    report = cupy.zeros(len(Finding), np.int64)
    inverse = cupy.empty_like(diagonal)
    if diagonal.size:
        bands = tuple(map(_aligned, (lower, diagonal, upper)))
        _factor_level(program, bands, inverse, report, finest=True)
    return inverse, report


def _factor_level(program, bands, inverse, report, finest):
    """Reduce each group to its last row, factor these, and find the pivots in between."""
    count = bands[1].shape[0]
    if count <= TOP:
        launch_blocks(program.pivots_of_top, 1, (*bands, count, np.int32(finest), inverse, report), block=32)
        return
    shape = -(-count // GROUP), *bands[1].shape[1:]
    empty = (cupy.empty(shape, inverse.dtype) for _ in range(7))
    pivots, lower, change, after, diagonal, upper, coarse = empty
    _launch_groups(program.reduce_groups, count, (*bands, count, pivots, lower, change, after))
    _launch_groups(program.join_groups, count, (bands[2], count, pivots, change, after, diagonal, upper))
    _factor_level(program, (lower, diagonal, upper), coarse, report, finest=False)
    ends = ENDS(pivots=pivots, before=lower, upper=upper, inverses=coarse)
    kernel = program.pivots_of_rows if finest else program.pivots_of_groups
    _launch_groups(kernel, count, (*bands, count, ends, inverse, report))


def _launch_groups(kernel, count, arguments):
    """A thread to a group."""
    blocks = -(-count // (GROUP * GROUPS_OF_BLOCK))
    launch_blocks(kernel, blocks, arguments, block=GROUPS_OF_BLOCK)


def clip(lower, diagonal, upper):
    """Couplings (and those inside of blocks that are not definite) shrunk until the matrix is definite."""
    program = kernels("tridiagonal/pivots", VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    clipped = [cupy.empty_like(diagonal) for _ in range(3)]
    launch(program.clip_couplings, (diagonal, upper, diagonal.shape[0], *clipped))
    return tuple(clipped)


class Sweeps:
    """Forward and backward sweeps with inverse pivots, on as many threads as the device holds."""

    def __init__(self, lower, inverse, upper, symmetric):
        bands = self._lower, _, self._upper = tuple(_aligned(band) for band in (lower, inverse, upper))
        self._forward = _Direction(*bands, tiles.SYMMETRIC if symmetric else tiles.PLAIN)
        self._transposed = self._forward if symmetric else _Direction(*bands, tiles.TRANSPOSED)

    def keep_digits(self, diagonal):
        """Whether the sweeps' answers are about as good as those of elimination with pivoting."""
        bands, block = (self._lower, diagonal, self._upper), block_size(diagonal)
        # A symmetric system's two ways are one.
        for way, transpose in {self._transposed: True, self._forward: False}.items():
            if way.growth <= SMALL_GROWTH[block]:
                continue
            if way.growth > LARGEST_GROWTH[block] or backward_error(self, bands, transpose) > SMALL_ERROR:
                return False
        return True

    @property
    def nbytes_extra(self):
        return sum({id(way): way.nbytes for way in (self._forward, self._transposed)}.values())

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        (self._transposed if transpose else self._forward).solve(b, x, order)


def _aligned(band):
    """Copies go in units of 16 bytes."""
    return band if band.data.ptr % 16 == 0 else band.copy()


class _Direction:
    """The sweeps of one system, plain, symmetric or transposed.

    Tiles overlap by halos where what enters a halo has decayed at its other end. Where it has not, the
    system is swept three times: for what z enters each tile, for what x does, and for the solution.
    """

    def __init__(self, lower, inverse, upper, kind):
        self._bands = lower, inverse, upper
        self._kind, self._block, self._dtype = kind, block_size(inverse), inverse.dtype
        self._count = inverse.shape[0]
        self._threads = tiles.threads(self._dtype, self._block)
        self._rows, self._rows_of_many = tiles.rows_of_thread(self._dtype, self._block)
        self._program = kernels("tridiagonal/sweeps", **tiles.macros(self._dtype, self._block, kind))
        self._system = SYSTEM(lower=lower, inverse=inverse, upper=upper, count=self._count)
        self._halo = tiles.halo(self._dtype, self._block)
        self._through, self._carries = (None,) * 2, None
        # How much a rounding error may grow on its way.
        self._side_by_side, self.growth = False, 0.0
        if self._count:
            self._measure()

    @property
    def nbytes(self):
        arrays = (*self._through, *(self._carries or ()))
        return sum(array.nbytes for array in arrays if array is not None)

    def _measure(self):
        """Find out whether carries decay in the halos, and how they grow."""
        real = self._dtype.type(0).real.dtype
        found = cupy.zeros(3)
        growth, still_open = found[:1].view(real)[:1], found[1:].view(np.uint32)
        self._count_open_halos(self._rows, still_open[:1])
        self._count_open_halos(self._rows_of_many, still_open[2:3])
        self._launch_measure(self._halo, growth)
        numbers = found.get()  # stall: decides how the system is solved
        one_open, _, many_open, _ = numbers[1:].view(np.uint32)
        memory = self._shared_memory(self._rows_of_many, tiles.COLUMNS)
        self._side_by_side = not (one_open or many_open) and memory <= tiles.LARGEST_SHARED_MEMORY
        if one_open:
            self._halo = 0
            shape = self._tiles(0, self._rows), self._block, self._block
            self._through = tuple(cupy.empty(shape, self._dtype) for _ in range(2))
            self._carries = tuple(cupy.empty(shape[:2], self._dtype) for _ in range(3))
            self._launch_measure(0, growth)
            numbers = found.get()  # stall: as above, where carries do not decay
        self.growth = float(numbers[:1].view(real)[0])

    def _count_open_halos(self, rows, still_open):
        """Count the boundaries, of tiles of so many rows a thread, that carries cross."""
        real = self._dtype.type(0).real.dtype
        step = self._threads * rows - 2 * self._halo
        least = real.type(NEGLIGIBLE * np.finfo(real).eps)
        arguments = self._system, step, self._halo, least, still_open
        launch_blocks(self._program.measure_halos, -(-self._count // (BLOCK * step)), arguments)

    def _launch_measure(self, halo, growth):
        arguments = self._system, halo, *map(address, self._through), growth
        memory = self._shared_memory(self._rows, 0)
        count = self._tiles(halo, self._rows)
        launch_blocks(self._program.measure, count, arguments, shared_memory=memory, block=self._threads)

    def _tiles(self, halo, rows):
        return -(-self._count // (self._threads * rows - 2 * halo))

    def _shared_memory(self, rows, columns):
        return tiles.shared_memory(self._dtype, self._block, self._kind, rows, columns)

    def solve(self, b, x, order):
        columns = b.shape[1]
        if self._count == 0 or columns == 0:
            return
        both = vectors(b, x, order, self._dtype)
        carries = CARRIES(z=None, x=None, tiles=0) if self._halo else self._found_carries(both, columns)
        rows, kernel, panels, width = self._rows, self._program.sweep_one, columns, 1
        if columns > 1 and self._side_by_side:
            rows, kernel, width = self._rows_of_many, self._program.sweep_many, tiles.COLUMNS
            panels = -(-columns // width)
        blocks, memory = panels * self._tiles(self._halo, rows), self._shared_memory(rows, width)
        arguments = self._system, both, self._halo, carries
        launch_blocks(kernel, blocks, arguments, shared_memory=memory, block=self._threads)

    def _found_carries(self, both, columns):
        """What enters each tile, for every column."""
        count, program = self._tiles(0, self._rows), self._program
        leaving, z, x = (
            self._carries
            if columns == 1
            else [cupy.empty((columns, *array.shape), self._dtype) for array in self._carries]
        )
        options = {"shared_memory": self._shared_memory(self._rows, 1), "block": self._threads}
        known = None
        finds = program.find_z_carries, program.find_x_carries
        for find, through, carries in zip(finds, self._through, (z, x)):
            arguments = self._system, both, count, address(known), leaving
            launch_blocks(program.reduce, columns * count, arguments, **options)
            arguments = through, leaving, count, carries
            launch_blocks(find, columns, arguments, block=tiles.carry_threads(self._block))
            known = carries
        return CARRIES(z=z, x=x, tiles=count)
