"""The Arnoldi process of GMRES on the CPU: an orthonormal basis, and each column's least squares problem."""

import math
from cmath import isfinite

from .basis_products import BasisProducts
from .statuses import CONVERGED, DIVERGED, HALF, LIMIT, NONFINITE, RUNNING, SINGULAR, root


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


class Arnoldi:
    """Cycles of GMRES for the columns of a `KrylovSpace`; `flexible` ones keep the vectors "z".

    All columns that run are at the same of `length` steps of their cycle. A column whose cycle ends gets the
    state HALF, and `restart` gives it its outcome: RUNNING where the cycle was full.
    """

    def __init__(self, space, length, flexible):
        self.space, self.length = space, length
        self.products = BasisProducts(space, length + 1)
        self.V = self.products.stack(length + 1)
        self.Z = self.products.stack(length) if flexible else self.V
        self.flexible = flexible
        self.systems = [Hessenberg(space.eps) for _ in range(space.columns)]
        self.outcomes = [RUNNING] * space.columns

    def begin(self):
        """The first vector of a cycle, v = r / norm(r)."""
        space = self.space
        scales = {column: 1 / space.norm[column] for column in space.running}
        if not scales:
            return
        for column in scales:
            self.systems[column].begin(space.norm[column])
        self._combine(self.V[0], "r", scales, dict.fromkeys(scales, ()), copy=space.lanes["v"])

    def extend(self):
        """The next basis vector v from w = A z, by classical Gram-Schmidt twice, and norm(r).

        Both passes together give the column of the Hessenberg matrix; the norm of the result follows from
        those of the last inner products (Pythagoras), without another pass.
        """
        space, systems = self.space, self.systems
        if not space.running:
            return
        position = max(systems[column].size for column in space.running)
        if self.flexible:
            scales = dict.fromkeys(space.running, 1.0)
            self._combine(self.Z[position], "z", scales, dict.fromkeys(scales, ()))
        self._project(position)
        if space.running:
            self._correct(position)
        if space.running:
            scales = {column: 1 / systems[column].below for column in space.running}
            weights = {
                column: [-scale * weight for weight in systems[column].last]
                for column, scale in scales.items()
            }
            self._combine(self.V[position + 1], "w", scales, weights, copy=space.lanes["v"])

    def _project(self, position):
        """w -= V h for h = V* w."""
        space = self.space
        sums = self.products.sums(self.V, position + 1, "w")
        for column in space.running:
            if not self.systems[column].project(sums[column]):
                self._end(column, NONFINITE)
        weights = {column: [-weight for weight in self.systems[column].last] for column in space.running}
        self._combine(space.lanes["w"], "w", dict.fromkeys(weights, 1.0), weights)

    def _correct(self, position):
        """The second pass of inner products, the rotations, and their outcomes."""
        space = self.space
        sums, outcomes = self.products.sums(self.V, position + 1, "w"), {}
        for column in space.running:
            outcomes[column] = self._rotated(column, sums[column])
        for column, outcome in outcomes.items():
            if outcome in (NONFINITE, SINGULAR):
                self._end(column, outcome)
        if not space.running:
            return
        squares = {
            column: (self.systems[column].norm * self.systems[column].norm,) for column in space.running
        }
        space._record_step(squares)
        for column in space.running:
            outcome = self._outcome(column)
            if outcome is not None:
                self._end(column, outcome)

    def _rotated(self, column, sums):
        found = self.systems[column].rotate(sums)
        return {None: NONFINITE, False: SINGULAR, True: RUNNING}[found]

    def _outcome(self, column):
        """How a cycle ends after the present step; None where it goes on."""
        space = self.space
        if space.norm[column] <= space.targets[column]:
            return CONVERGED
        if space.iterations[column] >= space.most_iterations:
            return LIMIT
        return RUNNING if self.systems[column].size == self.length else None

    def _end(self, column, outcome):
        self.outcomes[column] = outcome
        self.space._set_status(column, HALF)

    def correct(self, target, base):
        """target = base + Z y with the minimizer y; base None is 0, and Z is V unless flexible."""
        space = self.space
        weights = {column: system.solution() for column, system in enumerate(self.systems)}
        scales = dict.fromkeys(weights, 0.0 if base is None else 1.0)
        mask = self.products.lanes_of(weights)
        lanes = space.lanes[target]
        self.products.combine(lanes, space.lanes[base or target], scales, self.Z, weights, active=mask)

    def add(self, target):
        """target += x."""
        target, x = self.space[target], self.space["x"]
        target += x

    def accept(self, name):
        """x becomes the vector `name` where a cycle has ended."""
        ended = self._ended()
        self._combine_vectors("x", name, ended)

    def restart(self):
        """r = b - w, where w = A x, and the outcomes of cycles that have ended."""
        space, ended = self.space, self._ended()
        if not ended:
            return
        self._combine_vectors("r", "b", ended, minus="w")
        sums = space._sums((("r", "r"),), ended)
        for column in ended:
            space.norm2[column], space.norm[column] = sums[column][0].real, root(sums[column][0])
            space._set_status(column, self._restarted(column))
            self.systems[column].clear()

    def _restarted(self, column):
        space, outcome, norm = self.space, self.outcomes[column], self.space.norm[column]
        if outcome != RUNNING:
            return outcome
        if not norm < float("inf"):
            return NONFINITE
        # Rounding errors limit a residual that has drifted: the driver verifies it as a converged one.
        if norm <= space.targets[column] or self.systems[column].has_drifted(norm):
            return CONVERGED
        return DIVERGED if norm > space.limits[column] else RUNNING

    def _ended(self):
        return [c for c, status in enumerate(self.space.statuses) if status == HALF]

    def _combine(self, out, source, scales, weights, copy=None):
        self.products.combine(out, self.space.lanes[source], scales, self.V, weights, copy=copy)

    def _combine_vectors(self, target, source, columns, minus=None):
        """target = source - minus for some columns."""
        lanes, scales = self.space.lanes, dict.fromkeys(columns, 1.0)
        basis = lanes[minus or source][None]
        weights = dict.fromkeys(columns, (-1.0,) if minus else ())
        mask = self.products.lanes_of(columns)
        self.products.combine(lanes[target], lanes[source], scales, basis, weights, active=mask)
