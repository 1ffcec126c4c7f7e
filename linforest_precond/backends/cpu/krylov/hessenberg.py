"""The least squares problem of GMRES: a Hessenberg matrix, reduced to triangular form by Givens rotations."""

import math
from cmath import isfinite


class Hessenberg:
    """The problem of one column: norms of residuals, and the inner products of the last Gram-Schmidt pass."""

    def __init__(self, eps):
        self.eps = eps
        self.clear()

    @property
    def size(self):
        """The columns so far: steps of the cycle."""
        return len(self.triangle)

    def clear(self):
        """There is no cycle."""
        self.triangle, self.rotations, self.right = [], [], [0.0]
        self.last, self.below, self.norm, self.start, self.length = [], 0.0, 0.0, 0.0, 0.0

    def begin(self, norm):
        """A cycle begins with the norm of its residual."""
        self.clear()
        self.right, self.norm, self.start = [norm], norm, norm

    def has_drifted(self, norm):
        """Whether the true residual has not halved in a cycle that quartered the recursive one."""
        return self.norm < 0.25 * self.start and norm > 0.5 * self.start

    def project(self, sums):
        """Take the first inner products, and the square of the norm; False where one is not finite."""
        *self.last, square = sums
        self.first, self.length = self.last, math.sqrt(abs(square.real))
        return all(map(isfinite, sums))

    def rotate(self, sums):
        """Take those of the second pass, and append the column.

        True, or False where the column depends on those before it: A or M is singular. None where a number is
        not finite.
        """
        *self.last, square = sums
        if not all(map(isfinite, sums)):
            return None
        rest = square.real - sum(square_of(number) for number in self.last)
        below = math.sqrt(rest) if rest > 0 else 0.0
        if below <= self.eps * self.length:
            below = 0.0
        column = [one + other for one, other in zip(self.first, self.last)]
        for i, (cosine, sine) in enumerate(self.rotations):
            upper, lower = column[i], column[i + 1]
            column[i] = cosine * upper + sine * lower
            column[i + 1] = cosine * lower - sine.conjugate() * upper
        return self._append(column, below)

    def _append(self, column, below):
        pivot = column[-1]
        size = math.hypot(pivot.real, pivot.imag)
        length = math.hypot(size, below)
        if length <= self.eps * self.length:
            return False
        phase = pivot / size if size else 1.0
        cosine, sine = size / length, phase * (below / length)
        column[-1] = phase * length
        self.triangle.append(column)
        self.rotations.append((cosine, sine))
        last = self.right[-1]
        self.right[-1:] = cosine * last, -sine.conjugate() * last
        self.below, self.norm = below, math.hypot(self.right[-1].real, self.right[-1].imag)
        return True

    def solution(self):
        """The coefficients of the basis vectors in the correction of x, by back substitution."""
        y = self.right[: self.size]
        for i in reversed(range(self.size)):
            y[i] = y[i] / self.triangle[i][i]
            for row in range(i):
                y[row] -= self.triangle[i][row] * y[i]
        return y


def square_of(number):
    return number.real * number.real + number.imag * number.imag
