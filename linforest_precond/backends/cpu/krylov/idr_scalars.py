"""The small systems of IDR(s) for one column of right-hand sides."""

import math
from cmath import isfinite

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
