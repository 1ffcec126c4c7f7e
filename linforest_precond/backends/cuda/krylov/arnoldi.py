"""The Arnoldi process of GMRES on the device: an orthonormal basis, and least squares problems."""

import numpy as np

from linforest_precond.backends.krylov_codes import CycleStep

from ..runtime import VALUES, Program, Struct, wide_type
from .basis import Basis

ARNOLDI = Struct("Arnoldi", "krylov/arnoldi.cu")
PROGRAM = Program("krylov/arnoldi", same_bits=False, VALUE=VALUES, WIDE=wide_type, BLOCK=1)


class Arnoldi:
    def __init__(self, space, length, flexible):
        self.space = space
        self._basis = Basis(space, PROGRAM, length + 2, length * (length + 5) + 1 + length + 2)
        self._V = self._basis.stack(length + 1)
        self._Z = self._basis.stack(length) if flexible else None
        self._struct = ARNOLDI(
            basis=self._V, preconditioned=self._Z, work=self._basis.work, partials=self._basis.partials,
            length=length,
        )  # fmt: skip

    def begin(self):
        self._basis.launch("begin_cycle", self._struct, self.space["r"], self.space["v"])

    def extend(self):
        space, basis = self.space, self._basis
        w = space["w"]
        basis.launch("project_on_basis", basis.summed, self._struct, w, space["z"])
        self._take_sums(CycleStep.ARNOLDI_PROJECT)
        basis.launch("orthogonalize", basis.summed, self._struct, w)
        self._take_sums(CycleStep.ARNOLDI_ROTATE)
        basis.launch("extend_basis", self._struct, w, space["v"])

    def _take_sums(self, step):
        """The inner products of a pass by the user's function, where one is given."""
        if self._basis.summed:
            return
        w = self.space["w"]
        if step == CycleStep.ARNOLDI_PROJECT:
            self._count = min(self._basis.position() + 1, len(self._V) - 1)
        vectors = [*self._V[: self._count], w]
        self._basis.sum_by_inner([(u, w) for u in vectors])
        self._scalar_step(step)

    def _scalar_step(self, step):
        self._basis.launch("take_arnoldi_sums", np.int32(step), self._struct, blocks=1)

    def correct(self, target, base):
        self._basis.launch("solve_triangle", self._struct, blocks=1)
        base = 0 if base is None else self.space[base]
        self._basis.launch("combine_basis", self._struct, base, self.space[target])

    def add(self, target):
        self._basis.launch("add_solution", self.space["x"], self.space[target])

    def accept(self, name):
        self._basis.launch("accept_solution", self.space[name], self.space["x"])

    def restart(self):
        space, basis = self.space, self._basis
        basis.launch("restart_cycle", basis.summed, self._struct, space["b"], space["w"], space["r"])
        if not basis.summed:
            basis.sum_by_inner([(space["r"], space["r"])])
            self._scalar_step(CycleStep.ARNOLDI_RESTART)
