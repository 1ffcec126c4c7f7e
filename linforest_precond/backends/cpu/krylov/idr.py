"""IDR(s) on the CPU: the bases G = A U, the shadow vectors P, and the small systems of each column."""

import math
from cmath import isfinite

import numpy as np

from ..runtime.hashing import GOLDEN, VERTEX_STRIDE, mix64
from .basis_products import BasisProducts
from .statuses import NONFINITE, OMEGA, RHO, RUNNING

# The least cosine of the angle between g and r; below it, omega is enlarged (maintaining the convergence:
# Sleijpen & van der Vorst 1995, doi:10.1007/BF02141261).
LEAST_COSINE = 0.7


class IdrScalars:
    """The lower triangular matrix P* G, f = P* r, omega, and the coefficients c (`weights`) of a step.

    `projections` are minus the coefficients of the basis vectors before the present one. The last `position`
    of a cycle is the step for omega.
    """

    def __init__(self, count):
        self.count = count

    def begin(self, f):
        """The state before the first cycle."""
        count = self.count
        self.matrix = [[float(i == j) for j in range(count)] for i in range(count)]
        self.f, self.omega, self.position, self.length = list(f), 1.0, 0, 0.0
        self._solve()

    @property
    def factor(self):
        """Of the preconditioned vector in u."""
        return self.omega if self.position < self.count else 1.0

    def _solve(self):
        """c solves M c = f for the rows and columns from the present one on."""
        start, c = self.position, []
        for i in range(start, self.count):
            rest = self.f[i] - sum(self.matrix[i][start + j] * weight for j, weight in enumerate(c))
            c.append(rest / self.matrix[i][i])
        self.weights = c

    def project(self, sums):
        """From P* g, the coefficients that make g orthogonal to the shadow vectors before it.

        The length of the step, 0 where it is undefined and None where a number is not finite.
        """
        k, matrix = self.position, self.matrix
        alphas = []
        for i in range(k):
            rest = sums[i] - sum(matrix[i][j] * alpha for j, alpha in enumerate(alphas))
            alphas.append(rest / matrix[i][i])
        for i in range(k, self.count):
            matrix[i][k] = sums[i] - sum(matrix[i][j] * alpha for j, alpha in enumerate(alphas))
        self.projections = [-alpha for alpha in alphas]
        if not all(map(isfinite, (*sums, *alphas, matrix[k][k]))):
            return None
        self.length = self.f[k] / matrix[k][k] if matrix[k][k] != 0 else 0.0
        return self.length if isfinite(self.length) else None

    def take_omega(self, product, square, norm):
        """omega from g* r, g* g and norm(r): 0 where g is 0 and None where a number is not finite."""
        if not (isfinite(product) and isfinite(square)):
            return None
        if square.real == 0:
            return 0.0
        length = math.sqrt(abs(square.real))
        size = math.hypot(product.real, product.imag)
        if size < LEAST_COSINE * length * norm:
            phase = product / size if size else 1.0
            self.omega = phase * (LEAST_COSINE * norm / length)
        else:
            self.omega = product / square
        self.length = self.omega
        return self.omega if isfinite(self.omega) else None

    def advance(self, shadow_sums):
        """The next step, of a new cycle where f = P* r is given."""
        if shadow_sums is None:
            k = self.position
            for i in range(k + 1, self.count):
                self.f[i] -= self.length * self.matrix[i][k]
            self.position += 1
        else:
            self.f, self.position = list(shadow_sums), 0
        self._solve()


mix_words = getattr(mix64, "py_func", mix64)  # of whole arrays, by NumPy


def shadow_values(n, count, seed):
    """Pseudorandom numbers in [-1, 1), a (count, n) array: the same on every backend."""
    with np.errstate(over="ignore"):
        keys = mix_words(np.uint64(seed) + GOLDEN * np.arange(1, count + 1, dtype=np.uint64))
        words = mix_words(keys[:, None] + VERTEX_STRIDE * np.arange(n, dtype=np.uint64))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


class Idr:
    """Cycles of IDR(s) for the columns of a `KrylovSpace`: s steps that extend the bases, and one for omega.

    The (s, n) array `shadows` holds the orthonormal rows of P*.
    """

    def __init__(self, space, shadows):
        self.space, self.count = space, len(shadows)
        self.products = BasisProducts(space, max(self.count, 2))
        self.G, self.U, self.P = (self.products.stack(self.count) for _ in range(3))
        for i, shadow in enumerate(shadows):
            self.products.vectors(self.P, i)[...] = shadow[:, None]
        self.systems = [IdrScalars(self.count) for _ in range(space.columns)]

    def begin(self):
        """Start with empty bases and f = P* r."""
        space = self.space
        if not space.running:
            return
        sums = self.products.sums(self.P, self.count, "r")
        for column in space.running:
            self.systems[column].begin(sums[column][:-1])
            self.G[:, :, column :: space.columns] = self.U[:, :, column :: space.columns] = 0

    def direction(self):
        """v = r - G c, or r in the step for omega."""
        self._combine("v", "r", 1.0, self.G, -1.0)

    def extend(self):
        """u = omega vhat + U c, or vhat in the step for omega."""
        self._combine("u", "vhat", None, self.U, 1.0)

    def _combine(self, target, source, scale, basis, sign):
        space = self.space
        if not space.running:
            return
        scales, weights = {}, {}
        for column in space.running:
            system = self.systems[column]
            weights[column] = [sign * weight for weight in system.weights]
            scales[column] = system.factor if scale is None else scale
        self.products.combine(
            space.lanes[target], space.lanes[source], scales, basis, weights, first=self._position()
        )

    def _position(self):
        """The step of the cycle, which all running columns share; s is the step for omega."""
        return self.systems[self.space.running[0]].position

    def step(self):
        """From g = A u: make it biorthogonal to the shadow vectors, step along u, and take norm(r)."""
        space = self.space
        if not space.running:
            return
        position = self._position()
        self._take_length(position)
        if not space.running:
            return
        if position < self.count:
            for name, basis in (("g", self.G), ("u", self.U)):
                weights = {column: self.systems[column].projections for column in space.running}
                lanes = space.lanes[name]
                scales = dict.fromkeys(weights, 1.0)
                self.products.combine(lanes, lanes, scales, basis, weights, copy=basis[position])
        v = (space.lanes[name] for name in ("x", "r", "u", "g"))
        space.kernels["cg_step"](*v, space.coefficients["alpha"], space.partials, space.sums)
        sums = space._update_sums(("r", "r"))
        space._record_step(sums)
        shadow_sums = self.products.sums(self.P, self.count, "r") if position == self.count else None
        for column in space.running:
            self._end_step(column, shadow_sums)

    def _take_length(self, position):
        """The length of the step along u, from inner products of g."""
        space = self.space
        if position < self.count:
            sums = self.products.sums(self.P, self.count, "g")
        else:
            sums = space._sums((("g", "r"), ("g", "g")), space.running)
        for column in space.running:
            system = self.systems[column]
            if position < self.count:
                length, breakdown = system.project(sums[column][:-1]), RHO
            else:
                length, breakdown = system.take_omega(*sums[column], space.norm[column]), OMEGA
            if length is None:
                space._set_status(column, NONFINITE)
            elif length == 0:
                space._set_status(column, breakdown)
            else:
                space._set_coefficient("alpha", column, length)

    def _end_step(self, column, shadow_sums):
        space, system = self.space, self.systems[column]
        status = space._scalar_cg_step(column, None, None)
        if not space.norm2[column] < float("inf"):
            status = NONFINITE
        elif status == RUNNING:
            system.advance(None if shadow_sums is None else shadow_sums[column][:-1])
        if status != RUNNING:
            space._set_status(column, status)
