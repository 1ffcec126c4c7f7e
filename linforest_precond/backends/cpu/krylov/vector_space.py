"""The vector space of Krylov solvers on the CPU: vectors by name, scalars and their recurrences."""

import math
import time
from cmath import isfinite

import numpy as np

from linforest_precond.backends.krylov_codes import UPDATES, ScalarStep, VectorUpdate
from linforest_precond.backends.returns import Report

from .minres_steps import MinresScalars, MinresSteps
from .statuses import CONVERGED, DIVERGED, HALF, INDEFINITE, LIMIT, NONFINITE, OMEGA, RHO, RUNNING, root, size
from .updates import COEFFICIENTS, LANES, ROWS_AT_ONCE, kernels_for


class KrylovSpace(MinresSteps):
    """The vectors and scalars of k systems of n rows that are iterated together.

    The methods are those of `solvers.vector_space.VectorSpace`. Columns that are not running do not change.
    They converge at the norms `targets`, diverge when the norm of the residual grows by more than
    `largest_growth`, and end after `most_iterations`. `names` are the work vectors besides "x" and "r",
    `inner` the inner product of two (n,) arrays, and `x_true` the solution, where errors are recorded.
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
        self.x_true = None if x_true is None else np.asarray(x_true).reshape(n, columns)
        if x_true is not None:
            self._allocate("error")

        chunks = max(1, -(-self.rows // ROWS_AT_ONCE))
        self.kernels = kernels_for(chunks)
        wide = np.result_type(self.dtype, np.float64)
        self.partials, self.sums = np.empty((chunks, 2, self.width), wide), np.zeros((columns, 2), wide)
        scalars = {name: np.zeros(self.width, wide) for name in ("alpha", "beta", "omega")}
        self.slots = {
            name: [lanes[column::columns] for column in range(columns)] for name, lanes in scalars.items()
        }
        self.active = np.zeros(self.width, bool)
        self.minres = MinresScalars(columns, self.width, self.eps)
        self.coefficients = {**scalars, "active": self.active, **self.minres.coefficients()}

        self.statuses, self.iterations = [CONVERGED] * columns, [0] * columns
        self.rho, self.alpha, self.omega = [0.0] * columns, [0.0] * columns, [0.0] * columns
        self.norm2, self.norm, self.shadow = [0.0] * columns, [0.0] * columns, [0.0] * columns
        self.fresh = [True] * columns  # from a (re)start to the first direction, for which beta is 0
        self.running = ()
        self.iteration = 0  # of the records: that of a column that ran all the time
        self.unmeasured = ()  # columns of the last record that lack their errors
        self.scalar_steps = {
            step: getattr(self, f"_scalar_{step.name.lower()}")
            for step in ScalarStep
            if step not in (ScalarStep.START, ScalarStep.ERROR)  # `start` and `record_error`
        }
        self._clear_records()

    def _allocate(self, name):
        self.lanes[name] = np.zeros((self.rows, self.width), self.dtype)
        self.flat[name] = self.lanes[name].reshape(-1)[: self.n * self.columns]
        self.vectors[name] = self.flat[name].reshape(self.n, self.columns)

    def __getitem__(self, name):
        return self.vectors[name]

    def alias(self, name, other):
        """Make `name` another name of the vector `other`."""
        for views in (self.lanes, self.flat, self.vectors):
            views[name] = views[other]

    # The steps of an iteration

    def start(self, starting):
        """(Re)start the columns that are True in `starting` from the present r."""
        columns = np.flatnonzero(starting).tolist()
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
                self._set_status(column, NONFINITE)
            else:
                self._set_status(column, CONVERGED if norm <= self.targets[column] else RUNNING)

    def dot(self, step, *pairs):
        """Compute the inner products of pairs of vectors, then the scalar step."""
        if self.running:
            lanes, first = self.lanes, pairs[0]
            if len(pairs) == 1 and lanes[first[0]] is lanes[first[1]] is lanes["r"]:
                sums = [(norm2, 0.0) for norm2 in self.norm2]
            else:
                sums = self._sums(pairs, self.running)
            self._take_scalar_step(step, sums)

    def update(self, update):
        """Update vectors, and take the scalar step from the inner products that belong to the update."""
        if update == VectorUpdate.BICGSTAB_STEP and HALF in self.statuses:
            self._add_half_steps()
        if not self.running:
            return
        names, pairs, step = UPDATES[update]
        arguments = [self.lanes[name] for name in names]
        arguments += [self.coefficients[name] for name in COEFFICIENTS[update]]
        if step is None:
            self.kernels[update](*arguments)
            return
        self.kernels[update](*arguments, self.partials, self.sums)
        sums = self._update_sums(*pairs)
        if step == ScalarStep.BICGSTAB_HALF_STEP:
            self._record(self.running, sums, self.iteration + 0.5)
        else:
            self._record_step(sums)
        self._take_scalar_step(step, sums)

    def multiply(self, product, source, target, step=None, *pairs):
        """Write A times a vector into another, then do as `dot` where a step is given."""
        if step is None:
            product.into(self, source, target)
        elif self.running:
            product.into(self, source, target)
            self.dot(step, *pairs)

    def precondition(self, preconditioning, source, target):
        """Write M times a vector into another; where M is the identity, the two names are aliases."""
        if self.running and not preconditioning.is_identity:
            preconditioning.into(self, source, target)

    def records_errors(self):
        """Whether x_true is known."""
        return self.x_true is not None

    def record_error(self, half, name="x"):
        """Add norm(x - x_true) to the last record; x includes the half step where `half`."""
        if self.x_true is None or not self.unmeasured:
            return
        error = self["error"]
        with np.errstate(all="ignore"):
            np.subtract(self[name], self.x_true, out=error, casting="same_kind")
            if half:
                error += np.array(self.alpha) * self["phat"]
        sums = self._sums((("error", "error"),), self.unmeasured)
        for column in self.unmeasured:
            self.errors[-1][column] = root(sums[column][0])
        self.unmeasured = ()

    def batch(self, iterate, capturable, cycle=0, most=None):
        """Make one iteration."""
        iterate()
        return 1

    def close(self):
        """After the last batch: there is no work space to give back."""

    def poll(self, wait):
        """The report since the last call; on the CPU there is nothing to wait for."""
        report = Report(
            np.array(self.statuses),
            np.array(self.iterations),
            np.array(self.steps),
            np.array(self.seconds),
            np.array(self.norms).reshape(-1, self.columns),
            None if self.x_true is None else np.array(self.errors).reshape(-1, self.columns),
        )
        self._clear_records()
        return report

    def _clear_records(self):
        self.steps, self.seconds, self.norms, self.errors = [], [], [], []

    def _add_half_steps(self):
        """Add alpha phat to the x of columns that converged at the half step."""
        for column in range(self.columns):
            if self.statuses[column] == HALF:
                with np.errstate(all="ignore"):
                    # alpha as an array: NumPy would round a scalar to single precision before the product.
                    self["x"][:, column] += np.array([self.alpha[column]]) * self["phat"][:, column]
                self.iterations[column] += 1
                self._set_status(column, CONVERGED)
        if not self.running:
            self.iteration += 1

    # Inner products

    def _sums(self, pairs, columns):
        """Two inner products for each column; the second is 0 where there is one pair."""
        if self.inner:
            return self._inner_sums(pairs, columns)
        lanes, (u, v) = self.lanes, pairs[0]
        if len(pairs) == 1:
            self.kernels["sum_products"](lanes[u], lanes[v], self.partials, self.sums)
        else:
            y, z = pairs[1]
            self.kernels["sum_two_products"](lanes[u], lanes[v], lanes[y], lanes[z], self.partials, self.sums)
        return self.sums.tolist()

    def _update_sums(self, *pairs):
        """The inner products of an update, which its kernel has computed unless `inner` is given."""
        return self._inner_sums(pairs, self.running) if self.inner else self.sums.tolist()

    def _inner_sums(self, pairs, columns):
        number = self.sums.dtype.type
        sums = np.zeros_like(self.sums)
        for column in columns:
            for place, (u, v) in enumerate(pairs):
                sums[column, place] = number(self.inner(self[u][:, column], self[v][:, column]))
        return sums.tolist()

    # Scalar steps

    def _set_status(self, column, status):
        """Set the status of a column; alpha and omega of 0 keep its vectors as they are."""
        self.statuses[column] = status
        self.active[column :: self.columns] = status == RUNNING
        self.slots["alpha"][column].fill(0.0)
        self.slots["omega"][column].fill(0.0)
        self.running = tuple(c for c, status in enumerate(self.statuses) if status == RUNNING)

    def _take_scalar_step(self, step, sums):
        """Compute the scalars and statuses of the running columns from their inner products."""
        recurrence = self.scalar_steps[step]
        for column in self.running:
            first, second = sums[column]
            finite = isfinite(first) and isfinite(second)
            status = recurrence(column, first, second) if finite else NONFINITE
            if status != RUNNING:
                self._set_status(column, status)

    def _record_step(self, sums):
        self.iteration += 1
        for column in self.running:
            self.iterations[column] += 1
        self._record(self.running, sums, self.iteration)

    def _record(self, columns, sums, step):
        """Record the norms of the residuals, whose squares are the first sums."""
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

    def _scalar_cg_rho(self, column, rz, _):
        if rz.real <= 0:
            return INDEFINITE
        return self._set_rho(column, rz, rz / self.rho[column])

    def _scalar_fcg_rho(self, column, rz, qz):
        if rz.real <= 0:
            return INDEFINITE
        return self._set_rho(column, rz, -self.alpha[column] * qz / self.rho[column])

    def _set_rho(self, column, rho, beta):
        self.rho[column] = rho
        if self.fresh[column]:
            self.fresh[column] = False
            beta = 0.0
        return self._set_coefficient("beta", column, beta)

    def _set_coefficient(self, name, column, value):
        """Set alpha, beta or omega of a column; the status is NONFINITE unless it is finite."""
        self.slots[name][column].fill(value)
        return RUNNING if isfinite(value) else NONFINITE

    def _scalar_cg_curvature(self, column, pq, _):
        if pq.real <= 0:
            return INDEFINITE
        self.alpha[column] = self.rho[column] / pq
        return self._set_coefficient("alpha", column, self.alpha[column])

    def _scalar_cg_step(self, column, norm2, _):
        norm = self.norm[column]
        if norm <= self.targets[column]:
            return CONVERGED
        return DIVERGED if norm > self.limits[column] else self._within_limit(column)

    def _scalar_bicgstab_alpha(self, column, product, _):
        if product == 0:
            return OMEGA
        self.alpha[column] = self.rho[column] / product
        return self._set_coefficient("alpha", column, self.alpha[column])

    def _scalar_bicgstab_half_step(self, column, norm2, _):
        return HALF if self.norm[column] <= self.targets[column] else RUNNING

    def _scalar_bicgstab_omega(self, column, tr, tt):
        if tt == 0 or size(tr) <= self.eps * root(tt) * self.norm[column]:
            return OMEGA
        self.omega[column] = tr / tt
        if self.omega[column] == 0:  # it underflowed
            return OMEGA
        return self._set_coefficient("omega", column, self.omega[column])

    def _scalar_bicgstab_step(self, column, norm2, rho):
        norm = self.norm[column]
        if norm <= self.targets[column]:
            return CONVERGED
        if norm > self.limits[column]:
            return DIVERGED
        if size(rho) <= self.eps**2 * self.shadow[column] * norm:
            return RHO
        beta = (rho / self.rho[column]) * (self.alpha[column] / self.omega[column])
        self.rho[column], self.fresh[column] = rho, False
        status = self._set_coefficient("beta", column, beta)
        return self._within_limit(column) if status == RUNNING else status

    def _within_limit(self, column):
        return RUNNING if self.iterations[column] < self.most_iterations else LIMIT
