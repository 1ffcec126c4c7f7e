"""Krylov solvers on the CPU: their vectors by name, their scalars, and what follows from these."""

import math
import time
from cmath import isfinite

import numpy as np

from linforest_precond.backends.returns import Report, Running

from .updates import FEW_CHUNKS, LANES, PARALLEL, ROWS_AT_ONCE, SERIAL

RUNNING, HALF, LIMIT = (float(state) for state in Running)
# How a column ends: the codes of `solvers.Status`.
CONVERGED, RHO, OMEGA, INDEFINITE, DIVERGED, NONFINITE = 0.0, -10.0, -11.0, -12.0, -14.0, -15.0


class Space:
    """The vectors of k systems of n rows that are iterated together, and their scalars.

    Columns that are not running are left alone.

    Parameters
    ----------
    names
        Of the work vectors besides "x" and "r".
    targets
        Norms of the residual, per column, from which on a column has converged.
    largest_growth
        A column diverges where its residual grows so many times.
    most_iterations
        After which a column stops.
    inner
        A function of two (n,) arrays that gives the sum of conj(u) * v, in place of the one here.
    x_true
        What `record_error` compares x with.
    """

    def __init__(
        self, n, columns, dtype, names, *, targets, largest_growth, most_iterations, inner=None, x_true=None
    ):
        self.began = time.perf_counter()
        self.n, self.columns, self.dtype = n, columns, np.dtype(dtype)
        self.targets, self.limits = targets.tolist(), [0.0] * columns
        self.largest_growth = largest_growth
        self.most_iterations, self.inner = most_iterations, inner
        self.eps = float(np.finfo(self.dtype).eps)

        self.width = columns
        while self.width < LANES:
            self.width *= 2
        self.rows = -(-n * columns // self.width)
        self.lanes, self.flat, self.vectors = {}, {}, {}
        for name in ("x", "r", *names):
            self._allocate(name)
        self.x_true = None if x_true is None else np.asarray(x_true).reshape(n, -1)
        if x_true is not None:
            self._allocate("error")

        chunks = -(-self.rows // ROWS_AT_ONCE)
        self.kernels = SERIAL if chunks <= FEW_CHUNKS else PARALLEL
        wide = np.result_type(self.dtype, np.float64)
        self.partials, self.sums = np.empty((chunks, 2, self.width), wide), np.zeros((columns, 2), wide)
        self.coefficients = {name: np.zeros(self.width, wide) for name in ("alpha", "beta", "omega")}
        self.slots = {
            name: [lanes[column::columns] for column in range(columns)]
            for name, lanes in self.coefficients.items()
        }
        self.active = np.zeros(self.width, bool)

        self.statuses, self.iterations = [CONVERGED] * columns, [0] * columns
        self.rho, self.alpha, self.omega = [0.0] * columns, [0.0] * columns, [0.0] * columns
        self.norm2, self.norm, self.shadow = [0.0] * columns, [0.0] * columns, [0.0] * columns
        self.fresh = [True] * columns
        self.running = ()
        self.iteration = 0  # of the records: that of a column that ran all the time
        self.unmeasured = ()  # columns of the last record whose error was not asked for yet
        updates = "cg_direction", "cg_step", "bi_direction", "bi_half", "bi_step"
        self.updates = {name: getattr(self, "_" + name) for name in updates}
        logics = "cg_rho", "fcg_rho", "cg_curvature", "cg_step", "bi_alpha", "bi_half", "bi_omega", "bi_step"
        self.logics = {name: getattr(self, "_after_" + name) for name in logics}
        self._forget()

    def _allocate(self, name):
        self.lanes[name] = np.zeros((self.rows, self.width), self.dtype)
        self.flat[name] = self.lanes[name].reshape(-1)[: self.n * self.columns]
        self.vectors[name] = self.flat[name].reshape(self.n, self.columns)

    def __getitem__(self, name):
        return self.vectors[name]

    def alias(self, name, other):
        """Let `name` mean the vector `other`."""
        for views in (self.lanes, self.flat, self.vectors):
            views[name] = views[other]

    # What an iteration consists of

    def start(self, fresh):
        """Let the columns that are True in `fresh` begin with r as it is now."""
        columns = np.flatnonzero(fresh).tolist()
        sums = self._sums((("r", "r"),), columns)
        self._record(columns, sums, self.iteration)
        self.record_error(half=False)
        for column in columns:
            self.slots["beta"][column].fill(0.0)
            self.fresh[column] = True
            self.rho[column], norm = self.norm2[column], self.norm[column]
            self.shadow[column] = norm
            self.limits[column] = max(self.limits[column], self.largest_growth * norm)
            if not isfinite(sums[column][0]):
                self._stop(column, NONFINITE)
            else:
                self._stop(column, CONVERGED if norm <= self.targets[column] else RUNNING)

    def dot(self, logic, *pairs):
        """Sum conj(u) * v for the pairs (u, v) of vectors, and go on with that as `logic` says."""
        if self.running:
            lanes, first = self.lanes, pairs[0]
            if len(pairs) == 1 and lanes[first[0]] is lanes[first[1]] is lanes["r"]:
                sums = [(norm2, 0.0) for norm2 in self.norm2]
            else:
                sums = self._sums(pairs, self.running)
            self._decide(logic, sums)

    def update(self, name):
        """Update vectors, and go on with the sums that belong to them."""
        if name == "bi_step" and HALF in self.statuses:
            self._take_half_steps()
        if self.running:
            self.updates[name]()

    def multiply(self, product, source, target, logic=None, *pairs):
        """Multiply one vector into another, then do as `dot` where a logic is given."""
        if logic is None:
            product.into(self, source, target)
        elif self.running:
            product.into(self, source, target)
            self.dot(logic, *pairs)

    def precondition(self, preconditioning, source, target):
        """Multiply with M; without one nothing is done, and both names should mean one vector."""
        if self.running and not preconditioning.is_identity:
            preconditioning.into(self, source, target)

    def record_error(self, half):
        """Add the error of x, or of x after the half step, to the last record."""
        if self.x_true is None or not self.unmeasured:
            return
        error = self["error"]
        np.subtract(self["x"], self.x_true, out=error, casting="same_kind")
        if half:
            error += np.array(self.alpha) * self["phat"]
        sums = self._sums((("error", "error"),), self.unmeasured)
        for column in self.unmeasured:
            self.errors[-1][column] = root(sums[column][0])
        self.unmeasured = ()

    def batch(self, iterate, capturable):
        """Iterate, once."""
        iterate()

    def poll(self, wait):
        """Tell what is new."""
        report = Report(
            np.array(self.statuses),
            np.array(self.iterations),
            np.array(self.steps),
            np.array(self.seconds),
            np.array(self.norms).reshape(-1, self.columns),
            None if self.x_true is None else np.array(self.errors).reshape(-1, self.columns),
        )
        self._forget()
        return report

    def _forget(self):
        self.steps, self.seconds, self.norms, self.errors = [], [], [], []

    # Updates

    def _cg_direction(self):
        v = self.lanes
        self.kernels["cg_direction"](v["p"], v["z"], self.coefficients["beta"], self.active)

    def _cg_step(self):
        v = self.lanes
        alpha = self.coefficients["alpha"]
        self.kernels["cg_step"](v["x"], v["r"], v["p"], v["q"], alpha, self.partials, self.sums)
        sums = self._sums_found(("r", "r"))
        self._record_step(sums)
        self._decide("cg_step", sums)

    def _bi_direction(self):
        v, c = self.lanes, self.coefficients
        self.kernels["bi_direction"](v["p"], v["r"], v["v"], c["beta"], c["omega"], self.active)

    def _bi_half(self):
        v = self.lanes
        self.kernels["bi_half"](v["r"], v["v"], self.coefficients["alpha"], self.partials, self.sums)
        sums = self._sums_found(("r", "r"))
        self._record(self.running, sums, self.iteration + 0.5)
        self._decide("bi_half", sums)

    def _bi_step(self):
        v, c = self.lanes, self.coefficients
        vectors = (v[name] for name in ("x", "r", "phat", "shat", "t", "shadow"))
        self.kernels["bi_step"](*vectors, c["alpha"], c["omega"], self.partials, self.sums)
        sums = self._sums_found(("r", "r"), ("shadow", "r"))
        self._record_step(sums)
        self._decide("bi_step", sums)

    def _take_half_steps(self):
        for column in range(self.columns):
            if self.statuses[column] == HALF:
                # The number as an array: a scalar would be rounded to single precision before the product.
                self["x"][:, column] += np.array([self.alpha[column]]) * self["phat"][:, column]
                self.iterations[column] += 1
                self._stop(column, CONVERGED)
        if not self.running:
            self.iteration += 1

    # Sums

    def _sums(self, pairs, columns):
        """Two numbers for each column: the sums of the pairs, and 0 where there is one pair."""
        if self.inner:
            return self._inner_sums(pairs, columns)
        lanes, (u, v) = self.lanes, pairs[0]
        if len(pairs) == 1:
            self.kernels["sum_products"](lanes[u], lanes[v], self.partials, self.sums)
        else:
            y, z = pairs[1]
            self.kernels["sum_two_products"](lanes[u], lanes[v], lanes[y], lanes[z], self.partials, self.sums)
        return self.sums.tolist()

    def _sums_found(self, *pairs):
        """The same after an update that has found them on its way."""
        return self._inner_sums(pairs, self.running) if self.inner else self.sums.tolist()

    def _inner_sums(self, pairs, columns):
        number = self.sums.dtype.type
        sums = np.zeros_like(self.sums)
        for column in columns:
            for place, (u, v) in enumerate(pairs):
                sums[column, place] = number(self.inner(self[u][:, column], self[v][:, column]))
        return sums.tolist()

    # Scalars

    def _stop(self, column, status):
        """Set the status of a column."""
        self.statuses[column] = status
        self.active[column :: self.columns] = status == RUNNING
        self.slots["alpha"][column].fill(0.0)
        self.slots["omega"][column].fill(0.0)
        self.running = tuple(c for c, status in enumerate(self.statuses) if status == RUNNING)

    def _decide(self, logic, sums):
        """Go on with the sums of the running columns: scalars and statuses."""
        after = self.logics[logic]
        for column in self.running:
            first, second = sums[column]
            finite = isfinite(first) and isfinite(second)
            status = after(column, first, second) if finite else NONFINITE
            if status != RUNNING:
                self._stop(column, status)

    def _record_step(self, sums):
        self.iteration += 1
        for column in self.running:
            self.iterations[column] += 1
        self._record(self.running, sums, self.iteration)

    def _record(self, columns, sums, step):
        """Note the norms of the residuals, whose squares come first in the sums."""
        self.seconds.append(time.perf_counter() - self.began)
        self.steps.append(float(step))
        norms = [math.nan] * self.columns
        for column in columns:
            norm2 = sums[column][0]
            self.norm2[column] = norm2.real
            norms[column] = self.norm[column] = root(norm2)
        self.norms.append(norms)
        if self.x_true is not None:
            self.errors.append([math.nan] * self.columns)
            self.unmeasured = columns

    def _after_cg_rho(self, column, rz, _):
        if rz.real <= 0:
            return INDEFINITE
        return self._take_rho(column, rz, rz / self.rho[column])

    def _after_fcg_rho(self, column, rz, qz):
        if rz.real <= 0:
            return INDEFINITE
        return self._take_rho(column, rz, -self.alpha[column] * qz / self.rho[column])

    def _take_rho(self, column, rho, beta):
        self.rho[column] = rho
        if self.fresh[column]:
            self.fresh[column] = False
            beta = 0.0
        return self._take("beta", column, beta)

    def _take(self, name, column, value):
        """Set a coefficient, which must be finite."""
        self.slots[name][column].fill(value)
        return RUNNING if isfinite(value) else NONFINITE

    def _after_cg_curvature(self, column, pq, _):
        if pq.real <= 0:
            return INDEFINITE
        self.alpha[column] = self.rho[column] / pq
        return self._take("alpha", column, self.alpha[column])

    def _after_cg_step(self, column, norm2, _):
        norm = self.norm[column]
        if norm <= self.targets[column]:
            return CONVERGED
        return DIVERGED if norm > self.limits[column] else self._within_limit(column)

    def _after_bi_alpha(self, column, product, _):
        if product == 0:
            return OMEGA
        self.alpha[column] = self.rho[column] / product
        return self._take("alpha", column, self.alpha[column])

    def _after_bi_half(self, column, norm2, _):
        return HALF if self.norm[column] <= self.targets[column] else RUNNING

    def _after_bi_omega(self, column, tr, tt):
        if tt == 0 or size(tr) <= self.eps * root(tt) * self.norm[column]:
            return OMEGA
        self.omega[column] = tr / tt
        return self._take("omega", column, self.omega[column])

    def _after_bi_step(self, column, norm2, rho):
        norm = self.norm[column]
        if norm <= self.targets[column]:
            return CONVERGED
        if norm > self.limits[column]:
            return DIVERGED
        if size(rho) <= self.eps**2 * self.shadow[column] * norm:
            return RHO
        beta = (rho / self.rho[column]) * (self.alpha[column] / self.omega[column])
        self.rho[column], self.fresh[column] = rho, False
        status = self._take("beta", column, beta)
        return self._within_limit(column) if status == RUNNING else status

    def _within_limit(self, column):
        return RUNNING if self.iterations[column] < self.most_iterations else LIMIT


def root(square):
    return math.sqrt(abs(square.real))  # rounding may take what another product gives below 0


def size(number):
    return math.hypot(number.real, number.imag)  # abs() raises an exception where it overflows
