"""IDR(s) on the device: the bases G = A U, the shadow vectors P, and the small systems of each column."""

import numpy as np

from linforest_precond.backends.krylov_codes import CycleStep

from ..runtime import VALUES, Program, Struct, cupy, launch, wide_type
from .basis import Basis

IDR = Struct("Idr", "krylov/idr.cu")
PROGRAM = Program("krylov/idr", same_bits=False, VALUE=VALUES, WIDE=wide_type, BLOCK=1)


def shadow_values(n, count, seed):
    values = cupy.empty((count, n))
    program = PROGRAM(VALUE=np.float64)
    launch(program.shadow_values, (n, count, np.uint64(seed), values), items=max(values.size, 1))
    return values


class Idr:
    def __init__(self, space, shadows):
        self.space, self._count = space, len(shadows)
        count = self._count
        self._basis = Basis(space, PROGRAM, count + 2, count * (count + 3) + count + 2)
        self._G, self._U, self._P = (self._basis.stack(count) for _ in range(3))
        self._P[...] = shadows[:, :, None]
        self._struct = IDR(
            images=self._G, directions=self._U, shadows=self._P, work=self._basis.work,
            partials=self._basis.partials, count=count,
        )  # fmt: skip

    def begin(self):
        basis, r = self._basis, self.space["r"]
        basis.launch("begin_idr", basis.summed, self._struct, r)
        self._take_sums(CycleStep.IDR_BEGIN, [(u, r) for u in self._P])

    def direction(self):
        self._basis.launch("idr_direction", self._struct, self.space["r"], self.space["v"])

    def extend(self):
        self._basis.launch("idr_extend", self._struct, self.space["vhat"], self.space["u"])

    def step(self):
        space, basis = self.space, self._basis
        x, r, u, g = (space[name] for name in ("x", "r", "u", "g"))
        at_omega = not basis.summed and basis.position() == self._count
        basis.launch("idr_project", basis.summed, self._struct, g, r)
        self._take_sums(CycleStep.IDR_PROJECT, [(g, r), (g, g)] if at_omega else [(p, g) for p in self._P])
        basis.launch("idr_step", basis.summed, self._struct, g, u, x, r)
        self._take_sums(CycleStep.IDR_STEP, [(r, r), *((p, r) for p in self._P if at_omega)])

    def _take_sums(self, step, pairs):
        """The inner products by the user's function, where one is given."""
        if not self._basis.summed:
            self._basis.sum_by_inner(pairs)
            self._basis.launch("take_idr_sums", np.int32(step), self._struct, blocks=1)
