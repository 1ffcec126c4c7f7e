"""The updates and scalar steps of MINRES: a part of the CPU's `KrylovSpace`."""

from linforest_precond.backends.krylov_codes import MinresNumber, ScalarStep

from .statuses import INDEFINITE, NONFINITE, RUNNING, SINGULAR


class MinresSteps:
    def _update_minres_begin(self):
        v = (self.lanes[name] for name in ("z", "v", "r1", "w1", "w2"))
        self.kernels["minres_begin"](*v, self.minres.lanes[MinresNumber.INVERSE_BETA], self.active)

    def _update_minres_lanczos(self):
        v = (self.lanes[name] for name in ("q", "r1", "r2"))
        coefficients = (self.minres.lanes[number] for number in (MinresNumber.FROM_R1, MinresNumber.FROM_R2))
        self.kernels["minres_lanczos"](*v, *coefficients, self.active)

    def _update_minres_step(self):
        v = (self.lanes[name] for name in ("x", "r", "r2", "z", "v", "w1", "w2"))
        factors = self.minres.lanes[MinresNumber.FROM_W1 :]
        self.kernels["minres_step"](*v, factors, self.active, self.partials, self.sums)
        sums = self._update_sums(("r", "r"))
        self._record_step(sums)
        self._take_scalar_step(ScalarStep.MINRES_STEP, sums)

    def _scalar_minres_begin(self, column, rz, _):
        if rz.real <= 0:
            return INDEFINITE
        self.minres.begin(column, rz.real)
        return RUNNING

    def _scalar_minres_alpha(self, column, vq, _):
        return RUNNING if self.minres.take_alpha(column, vq.real) else NONFINITE

    def _scalar_minres_beta(self, column, rz, _):
        if rz.real < 0:
            return INDEFINITE
        return RUNNING if self.minres.rotate(column, rz.real) else SINGULAR

    def _scalar_minres_step(self, column, norm2, _):
        return self._scalar_cg_step(column, norm2, _)
