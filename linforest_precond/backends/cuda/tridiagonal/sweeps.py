"""Forward and backward substitution of factored (block) tridiagonal systems, tile by tile.

And the vector update of the Chebyshev iteration, in which sweeps are the preconditioner.
"""

import itertools

import numpy as np

from linforest_precond.backends.workspaces import Workspaces

from ..runtime import VALUES, Program, Struct, address, cupy, launch, launch_blocks
from ..runtime.reports import Report
from ..runtime.streams import current
from . import tiles
from .refinement import backward_error, vectors
from .tiles import aligned, block_size

SYMMETRIC_BANDS = 2  # that a sweep of a symmetric system reads
# A carry is negligible when a halo damps it to this multiple of machine epsilon.
NEGLIGIBLE = 2.0**-6
# Sweeps whose products of couplings stay below the first bound are accurate, those above the second are not;
# between the two, the backward error of a trial solve decides. (Block inverses that lose some digits are
# common in preconditioners, and harmless there.) Bounds by block size.
SMALL_GROWTH = {1: 1 + 2.0**-12, 2: 4096.0, 4: 4096.0}
LARGEST_GROWTH = {1: 2.0**30, 2: 4096.0, 4: 4096.0}
SMALL_ERROR = 1.0

SYSTEM = Struct("System", "tridiagonal/sweeps.cu")
BOUNDARIES = Struct("Boundaries", "tridiagonal/sweeps.cu")
CARRIES = Struct("Carries", "tridiagonal/sweeps.cu")
PROGRAM = Program(
    "tridiagonal/sweeps",
    [tiles.macros(*each) for each in itertools.product(VALUES, tiles.BLOCK_SIZES, tiles.KINDS)],
    same_bits=False,
)
EXTRAPOLATION = Program("tridiagonal/extrapolation", VALUE=VALUES, BLOCK=1)


class Sweeps:
    """The factors of a (block) tridiagonal matrix, for solves with it and with its transpose.

    The constructor only starts to measure, without a stall: `settle` comes before the first solve. What is
    measured is read together with `report`, where there is one.
    """

    def __init__(self, lower, inverse, upper, symmetric, report=None):
        bands = self._lower, _, self._upper = tuple(aligned(band) for band in (lower, inverse, upper))
        report = Report() if report is None else report
        self._forward = _Direction(*bands, tiles.SYMMETRIC if symmetric else tiles.PLAIN, report)
        self._transposed = self._forward if symmetric else _Direction(*bands, tiles.TRANSPOSED, report)

    def settle(self):
        """Read what was measured, and decide how the systems are solved."""
        for direction in {self._forward, self._transposed}:
            direction.settle()

    def keep_digits(self, diagonal):
        """Settles."""
        self.settle()
        bands, block = (self._lower, diagonal, self._upper), block_size(diagonal)
        # A dict: the two directions of a symmetric system are one object.
        for direction, transpose in {self._transposed: True, self._forward: False}.items():
            if direction.growth <= SMALL_GROWTH[block]:
                continue
            if (
                direction.growth > LARGEST_GROWTH[block]
                or backward_error(self, bands, transpose) > SMALL_ERROR
            ):
                return False
        return True

    @property
    def nbytes_extra(self):
        return sum(direction.nbytes for direction in {self._forward, self._transposed})

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        (self._transposed if transpose else self._forward).solve(b, x, order)


class _Direction:
    """The sweeps of one system: plain, symmetric or transposed.

    Tiles overlap by halos where carries (the values that enter a tile from its neighbours) decay to nothing
    within a halo. Where they do not, the system is swept three times: for the z that enters each tile, for
    the x that enters it, and for the solution.
    """

    def __init__(self, lower, inverse, upper, kind, report):
        self._bands = lower, inverse, upper
        self._kind, self._block, self._dtype = kind, block_size(inverse), inverse.dtype
        self._count = inverse.shape[0]
        self._threads = tiles.threads(self._dtype, self._block)
        self._rows, self._rows_of_many = tiles.rows_of_thread(self._dtype, self._block)
        self._program = PROGRAM(**tiles.macros(self._dtype, self._block, kind))
        self._system = SYSTEM(lower=lower, inverse=inverse, upper=upper, count=self._count)
        self._halo = tiles.halo(self._dtype, self._block)
        self._through, self._carries = (None,) * 2, Workspaces()
        self.nbytes = 0
        self._side_by_side = False  # whether `sweep_many` solves several columns at once
        self.growth = 0.0  # the largest growth factor of a rounding error
        self._found = None
        if self._count:
            self._found = report.take(2)  # the growth, and two counters of boundaries that carries cross
            self._measure(self._halo)

    def settle(self):
        """Decide whether carries decay within the halos, and how rounding errors grow."""
        if self._found is None:
            return
        numbers = self._found.get()  # stall: decides how the system is solved
        one_open, many_open = numbers[1:].view(np.uint32)
        memory = self._shared_memory(self._rows_of_many, tiles.COLUMNS)
        self._side_by_side = not (one_open or many_open) and memory <= tiles.LARGEST_SHARED_MEMORY
        if one_open:
            self._halo = 0
            shape = self._tiles(0, self._rows), self._block, self._block
            self._through = tuple(cupy.empty(shape, self._dtype) for _ in range(2))
            carries = self._carries.prepare((1, current()), lambda: self._carry_vectors(1))
            self.nbytes = sum(array.nbytes for array in (*self._through, *carries))
            self._measure(0)
            numbers = self._found.get_again()  # stall: as above, where carries do not decay
        self.growth = float(numbers[:1].view(self._dtype.type(0).real.dtype)[0])
        self._found = None

    def _measure(self, halo):
        """Measure the growth in tiles, and count the boundaries of halos that carries cross."""
        real = self._dtype.type(0).real.dtype
        count, boundaries = self._tiles(halo, self._rows), self._boundaries(halo)
        blocks = count + -(-32 * sum(boundaries[1::2]) // self._threads)
        numbered = BOUNDARIES(**dict(zip(BOUNDARIES.fields, boundaries)))
        least = real.type(NEGLIGIBLE * np.finfo(real).eps)
        found = self._found.address
        arguments = (
            self._system, count, halo, numbered, least, *map(address, self._through), found, found + 8
        )  # fmt: skip
        memory = self._shared_memory(self._rows, 0)
        launch_blocks(self._program.measure, blocks, arguments, shared_memory=memory, block=self._threads)

    def _boundaries(self, halo):
        """Step and number of the boundaries between tiles with halos: for one column, and for several."""
        if not halo:
            return 1, 0, 1, 0
        steps = [self._threads * rows - 2 * halo for rows in (self._rows, self._rows_of_many)]
        return [number for step in steps for number in (step, (self._count - 1) // step)]

    def _tiles(self, halo, rows):
        return -(-self._count // (self._threads * rows - 2 * halo))

    def _shared_memory(self, rows, columns):
        return tiles.shared_memory(self._dtype, self._block, self._kind, rows, columns)

    def solve(self, b, x, order):
        columns = b.shape[1]
        if self._count == 0 or columns == 0:
            return
        both = vectors(b, x, order, self._dtype)
        if self._halo:
            self._sweep(both, columns, CARRIES(z=None, x=None, tiles=0))
            return
        loan = self._carries.take((columns, current()), lambda: self._carry_vectors(columns))
        self._sweep(both, columns, self._found_carries(both, columns, *loan.workspace))
        self._carries.give_back(loan)

    def _sweep(self, both, columns, carries):
        """Write the solution, from the carries that enter each tile where there are no halos."""
        rows, kernel, panels, width = self._rows, self._program.sweep_one, columns, 1
        if columns > 1 and self._side_by_side:
            rows, kernel, width = self._rows_of_many, self._program.sweep_many, tiles.COLUMNS
            panels = -(-columns // width)
        blocks, memory = panels * self._tiles(self._halo, rows), self._shared_memory(rows, width)
        arguments = self._system, both, self._halo, carries
        launch_blocks(kernel, blocks, arguments, shared_memory=memory, block=self._threads)

    def _carry_vectors(self, columns):
        """Work space for the values that leave and enter each tile."""
        shape = columns, self._tiles(0, self._rows), self._block
        return tuple(cupy.empty(shape, self._dtype) for _ in range(3))

    def _found_carries(self, both, columns, leaving, z, x):
        """The values that enter each tile, for every column."""
        count, program = self._tiles(0, self._rows), self._program
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


def extrapolate(x, z, y, momentum, factor):
    launch(
        EXTRAPOLATION(VALUE=y).extrapolate, (x, z, y, y.size, float(momentum), float(factor)), items=y.size
    )
