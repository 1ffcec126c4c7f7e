"""MINRES on the CPU: Lanczos coefficients and Givens rotations; updates and scalar steps of `KrylovSpace`."""

import math

import numpy as np

from linforest_precond.backends.krylov_codes import MinresNumber

from .statuses import INDEFINITE, NONFINITE, RUNNING, SINGULAR

N = MinresNumber


class MinresScalars:
    """For each column the numbers of `MinresNumber`, and the same in `lanes` (see `updates`)."""

    def __init__(self, columns, width, eps):
        self.columns, self.least = columns, math.sqrt(eps)
        self.lanes = np.zeros((len(MinresNumber), width))

    def coefficients(self):
        """The numbers that updates take, by name."""
        return {
            "inverse_beta": self.lanes[N.INVERSE_BETA],
            "from_r1": self.lanes[N.FROM_R1],
            "from_r2": self.lanes[N.FROM_R2],
            "factors": self.lanes[N.FROM_W1 :],
        }

    def _numbers(self, column):
        return self.lanes[:, column].tolist()

    def _store(self, column, numbers):
        self.lanes[:, column :: self.columns] = np.array(numbers)[:, None]

    def begin(self, column, rz):
        """The first Lanczos vector, from r* M r."""
        numbers = [0.0] * len(MinresNumber)
        numbers[N.BETA] = numbers[N.PHIBAR] = math.sqrt(rz)
        numbers[N.INVERSE_BETA] = 1 / numbers[N.BETA]
        numbers[N.COSINE] = -1.0
        self._store(column, numbers)

    def take_alpha(self, column, alpha):
        """The diagonal entry of the tridiagonal matrix; False where a coefficient is not finite."""
        numbers = self._numbers(column)
        beta, old = numbers[N.BETA], numbers[N.OLD_BETA]
        numbers[N.ALPHA] = alpha
        numbers[N.FROM_R1] = beta / old if old else 0.0
        numbers[N.FROM_R2] = alpha * numbers[N.INVERSE_BETA]
        self._store(column, numbers)
        return math.isfinite(numbers[N.FROM_R1]) and math.isfinite(numbers[N.FROM_R2])

    def rotate(self, column, rz):
        """The next off-diagonal entry, from r2* M r2, and its rotation; False where A is singular.

        norm(A r) is at most sqrt(eps) norm(A) norm(r) there: r is the residual of a least squares solution,
        and further iterations only add vectors of the null space to x. (SciPy compares it with rtol.)
        """
        numbers = self._numbers(column)
        old, alpha, sine, cosine = (numbers[n] for n in (N.BETA, N.ALPHA, N.SINE, N.COSINE))
        beta, dbar, phibar = math.sqrt(rz), numbers[N.DBAR], numbers[N.PHIBAR]
        above = old if numbers[N.OLD_BETA] else 0.0  # the first beta is no entry of the matrix
        numbers[N.NORM2] += alpha * alpha + beta * beta + above * above
        gbar = sine * dbar - cosine * alpha
        gamma = math.hypot(gbar, beta)
        if math.hypot(gbar, cosine * beta) <= self.least * math.sqrt(numbers[N.NORM2]) or gamma == 0:
            return False
        numbers[N.FROM_W1] = numbers[N.EPSILON]
        numbers[N.FROM_W2] = cosine * dbar + sine * alpha
        numbers[N.FROM_V] = 1 / gamma
        numbers[N.EPSILON], numbers[N.DBAR] = sine * beta, -cosine * beta
        numbers[N.OLD_BETA], numbers[N.BETA] = old, beta
        numbers[N.INVERSE_BETA] = 1 / beta if beta else 0.0
        cosine, sine = gbar / gamma, beta / gamma
        numbers[N.COSINE], numbers[N.SINE] = cosine, sine
        numbers[N.PHI], numbers[N.PHIBAR] = cosine * phibar, sine * phibar
        numbers[N.KEPT] = sine * sine
        numbers[N.TAU] = numbers[N.PHIBAR] * cosine * numbers[N.INVERSE_BETA]
        self._store(column, numbers)
        return True


class MinresSteps:
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
