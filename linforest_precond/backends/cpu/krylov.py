"""The vectors and scalars of Krylov solvers: fused updates and sums on the CPU.

A vector of k columns is kept in rows of `width` lanes, k times a power of two; lane l is of column l % k.
So one loop over the lanes, which the compiler can vectorize, serves one column and many. The last row is
filled up with zeros, which all updates keep.

Sums have a fixed order, for any number of threads: each lane of a chunk by itself, then the lanes in halves,
then the chunks one after the other.
"""

import math
import time
from cmath import isfinite
from typing import NamedTuple

import numpy as np
from numba import prange
from scipy.sparse.linalg import LinearOperator

from linforest_precond.records import CSR, Running

from .entries import readonly
from .jit import helper, kernel

LANES = 64  # a row has at least so many
ROWS_AT_ONCE = 64  # rows of a chunk
FEW_CHUNKS = 4  # so many are not worth waking up threads
ENTRIES_AT_ONCE = 16384  # entries of a matrix, about, that one thread takes at a time

RUNNING, HALF, LIMIT = (float(state) for state in Running)
# How a column ends: the codes of `solvers.Status`.
CONVERGED, RHO, OMEGA, INDEFINITE, DIVERGED, NONFINITE = 0.0, -10.0, -11.0, -12.0, -14.0, -15.0


class Report(NamedTuple):
    """Where the columns stand, and what was recorded since the last report."""

    statuses: np.ndarray  # (k,)
    iterations: np.ndarray  # (k,)
    steps: np.ndarray  # (m,) iteration numbers, with halves
    seconds: np.ndarray  # (m,)
    norms: np.ndarray  # (m, k) of the residuals, NaN where a column had stopped
    errors: np.ndarray | None  # (m, k)


class Operator:
    """How a matrix is multiplied with the columns of a vector: anything that knows `@`."""

    capturable = False

    def __init__(self, name, matrix):
        self.name = name
        self.matrix = np.asarray(matrix) if isinstance(matrix, np.ndarray) else matrix

    def into(self, space, source, target):
        """Write the product with vector `source` into vector `target`; both are given by name."""
        source, target = space[source], space[target]
        columns = target.shape[1]
        # Functions of users often know one-dimensional vectors alone.
        source = source[:, 0] if columns == 1 else source
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # ends as a status
                result = np.asarray(self.matrix @ source)
        except ValueError as error:
            self._explain(source, error)
            raise
        if columns == 1 and result.ndim == 1:
            result = result.reshape(-1, 1)
        self._require(result.shape, target.shape)
        if result.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"{self.name} must give real vectors for a real system, got {result.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            target[...] = result

    def _explain(self, source, error):
        """Name the shapes where it was the result's that a LinearOperator stumbled over."""
        if isinstance(self.matrix, LinearOperator):
            n = source.shape[0]
            shape = np.shape(self.matrix._matvec(source.reshape(n, -1)[:, 0]))
            self._require((n, 1) if shape == (n,) else shape, (n, 1), error)

    def _require(self, shape, expected, cause=None):
        if shape != expected:
            columns = expected[1]
            shapes = f"({expected[0]},)" if columns == 1 else str(expected)
            shape = shape[:1] if columns == 1 and shape[1:] == (1,) else shape
            raise ValueError(
                f"{self.name} must give a result of shape {shapes} for a vector of that shape, got {shape}"
            ) from cause


class Product(Operator):
    """How A is multiplied: a `CSR` record, or anything that knows `@`."""

    def __init__(self, A, dtype):
        super().__init__("A", A)
        if isinstance(A, CSR):
            parts = -(-A.nnz // ENTRIES_AT_ONCE)
            shares = np.arange(1, parts) * (A.nnz // max(parts, 1))
            starts = [0, *np.searchsorted(A.indptr, shares), A.n]
            arrays = np.array(starts, np.int64), A.indptr, A.indices, A.data
            self.arrays = tuple(readonly(array) for array in arrays)
            self.kernels = SERIAL if parts <= 1 else PARALLEL
            self.into = self._multiply

    def _multiply(self, space, source, target):
        multiply = self.kernels["multiply_column" if space.columns == 1 else "multiply_columns"]
        multiply(*self.arrays, space.flat[source], space.flat[target], space.columns)


class Preconditioning(Operator):
    """How M is multiplied: an operator of this package, anything that knows `@`, or None."""

    def __init__(self, M, dtype):
        super().__init__("M", M)
        self.is_identity = M is None
        ours = type(M).__module__.startswith("linforest_precond") and hasattr(M, "_solve")
        if ours and not (M.dtype.kind == "c" and np.dtype(dtype).kind != "c"):
            self.into = self._solve

    def _solve(self, space, source, target):
        self.matrix._solve(space[source], space[target], False)


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


# Chunks and their sums


@helper
def rows_of(chunk, vector):
    return range(chunk * ROWS_AT_ONCE, min((chunk + 1) * ROWS_AT_ONCE, vector.shape[0]))


# Sum conj(u) * v over one chunk, in double precision; lane by lane, then in halves down to the columns.
@helper
def sum_chunk(chunk, which, u, v, partials, columns):
    wide = partials.dtype.type
    width = partials.shape[2]
    lanes = partials[chunk, which]
    lanes[:] = 0
    for row in rows_of(chunk, u):
        for lane in range(width):
            lanes[lane] += np.conj(wide(u[row, lane])) * wide(v[row, lane])
    half = width // 2
    while half >= columns:
        for lane in range(half):
            lanes[lane] += lanes[lane + half]
        half //= 2


@helper
def add_chunks(which, partials, sums):
    for column in range(sums.shape[0]):
        total = partials[0, which, column]
        for chunk in range(1, partials.shape[0]):
            total += partials[chunk, which, column]
        sums[column, which] = total
        sums[column, which + 1 :] = 0


@kernel(parallel=True)
def sum_products(u, v, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            sum_chunk(chunk, 0, u, v, partials, columns)
    else:
        for chunk in prange(chunks):
            sum_chunk(chunk, 0, u, v, partials, columns)
    add_chunks(0, partials, sums)


@kernel(parallel=True)
def sum_two_products(u, v, y, z, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            sum_chunk(chunk, 0, u, v, partials, columns)
            sum_chunk(chunk, 1, y, z, partials, columns)
    else:
        for chunk in prange(chunks):
            sum_chunk(chunk, 0, u, v, partials, columns)
            sum_chunk(chunk, 1, y, z, partials, columns)
    add_chunks(0, partials, sums)
    add_chunks(1, partials, sums)


# Updates, in double precision. Lanes of columns that do not run are left alone: their alpha and omega are 0.


# p = z + beta p, and z where beta is 0, whatever p was.
@kernel(parallel=True)
def cg_direction(p, z, beta, active):
    chunks = -(-p.shape[0] // ROWS_AT_ONCE)
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            cg_direction_chunk(chunk, p, z, beta, active)
    else:
        for chunk in prange(chunks):
            cg_direction_chunk(chunk, p, z, beta, active)


@helper
def cg_direction_chunk(chunk, p, z, beta, active):
    width = beta.size
    for row in rows_of(chunk, p):
        for lane in range(width):
            new = z[row, lane] + beta[lane] * p[row, lane] if beta[lane] != 0 else z[row, lane]
            p[row, lane] = new if active[lane] else p[row, lane]


# x += alpha p and r -= alpha q, with the sum of |r|^2.
@kernel(parallel=True)
def cg_step(x, r, p, q, alpha, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            cg_step_chunk(chunk, x, r, p, q, alpha)
            sum_chunk(chunk, 0, r, r, partials, columns)
    else:
        for chunk in prange(chunks):
            cg_step_chunk(chunk, x, r, p, q, alpha)
            sum_chunk(chunk, 0, r, r, partials, columns)
    add_chunks(0, partials, sums)


@helper
def cg_step_chunk(chunk, x, r, p, q, alpha):
    width = alpha.size
    for row in rows_of(chunk, x):
        for lane in range(width):
            new = x[row, lane] + alpha[lane] * p[row, lane]
            x[row, lane] = new if alpha[lane] != 0 else x[row, lane]
        for lane in range(width):
            new = r[row, lane] - alpha[lane] * q[row, lane]
            r[row, lane] = new if alpha[lane] != 0 else r[row, lane]


# p = r + beta (p - omega v), and r where beta is 0.
@kernel(parallel=True)
def bi_direction(p, r, v, beta, omega, active):
    chunks = -(-p.shape[0] // ROWS_AT_ONCE)
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            bi_direction_chunk(chunk, p, r, v, beta, omega, active)
    else:
        for chunk in prange(chunks):
            bi_direction_chunk(chunk, p, r, v, beta, omega, active)


@helper
def bi_direction_chunk(chunk, p, r, v, beta, omega, active):
    width = beta.size
    for row in rows_of(chunk, p):
        for lane in range(width):
            more = beta[lane] * (p[row, lane] - omega[lane] * v[row, lane])
            new = r[row, lane] + more if beta[lane] != 0 else r[row, lane]
            p[row, lane] = new if active[lane] else p[row, lane]


# r -= alpha v, with the sum of |r|^2.
@kernel(parallel=True)
def bi_half(r, v, alpha, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            bi_half_chunk(chunk, r, v, alpha)
            sum_chunk(chunk, 0, r, r, partials, columns)
    else:
        for chunk in prange(chunks):
            bi_half_chunk(chunk, r, v, alpha)
            sum_chunk(chunk, 0, r, r, partials, columns)
    add_chunks(0, partials, sums)


@helper
def bi_half_chunk(chunk, r, v, alpha):
    width = alpha.size
    for row in rows_of(chunk, r):
        for lane in range(width):
            new = r[row, lane] - alpha[lane] * v[row, lane]
            r[row, lane] = new if alpha[lane] != 0 else r[row, lane]


# x += alpha phat + omega shat and r -= omega t, with the sums of |r|^2 and conj(shadow) r; shat may be r.
@kernel(parallel=True)
def bi_step(x, r, phat, shat, t, shadow, alpha, omega, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    if chunks <= FEW_CHUNKS:
        for chunk in range(chunks):
            bi_step_chunk(chunk, x, r, phat, shat, t, alpha, omega)
            sum_chunk(chunk, 0, r, r, partials, columns)
            sum_chunk(chunk, 1, shadow, r, partials, columns)
    else:
        for chunk in prange(chunks):
            bi_step_chunk(chunk, x, r, phat, shat, t, alpha, omega)
            sum_chunk(chunk, 0, r, r, partials, columns)
            sum_chunk(chunk, 1, shadow, r, partials, columns)
    add_chunks(0, partials, sums)
    add_chunks(1, partials, sums)


@helper
def bi_step_chunk(chunk, x, r, phat, shat, t, alpha, omega):
    width = alpha.size
    for row in rows_of(chunk, x):
        for lane in range(width):
            new = x[row, lane] + (alpha[lane] * phat[row, lane] + omega[lane] * shat[row, lane])
            x[row, lane] = new if omega[lane] != 0 else x[row, lane]
        for lane in range(width):
            new = r[row, lane] - omega[lane] * t[row, lane]
            r[row, lane] = new if omega[lane] != 0 else r[row, lane]


# The product of a matrix and a vector; a thread takes rows with about so many entries.
@kernel(parallel=True)
def multiply_column(starts, indptr, indices, data, source, target, columns):
    parts = starts.size - 1
    if parts == 1:
        multiply_column_rows(0, starts[1], indptr, indices, data, source, target)
    else:
        for part in prange(parts):
            multiply_column_rows(starts[part], starts[part + 1], indptr, indices, data, source, target)


# Four entries at a time. Unsigned indices: the compiler need not ask whether they are negative.
@helper
def multiply_column_rows(first, end, indptr, indices, data, source, target):
    ends, target = indptr[first + 1 : end + 1], target[first:end]
    entry = np.uint64(indptr[first])
    for row in range(target.size):
        last = np.uint64(ends[row])
        total = target.dtype.type(0)
        while entry + np.uint64(4) <= last:
            total += (
                entry_product(indices, data, entry, source)
                + entry_product(indices, data, entry + np.uint64(1), source)
            ) + (
                entry_product(indices, data, entry + np.uint64(2), source)
                + entry_product(indices, data, entry + np.uint64(3), source)
            )
            entry += np.uint64(4)
        while entry < last:
            total += entry_product(indices, data, entry, source)
            entry += np.uint64(1)
        target[row] = total


@helper
def entry_product(indices, data, entry, source):
    return data[entry] * source[np.uint64(indices[entry])]


# The same for all columns of a vector.
@kernel(parallel=True)
def multiply_columns(starts, indptr, indices, data, source, target, columns):
    parts = starts.size - 1
    if parts == 1:
        multiply_columns_rows(0, starts[1], indptr, indices, data, source, target, columns)
    else:
        for part in prange(parts):
            multiply_columns_rows(
                starts[part], starts[part + 1], indptr, indices, data, source, target, columns
            )


@helper
def multiply_columns_rows(first, end, indptr, indices, data, source, target, columns):
    source, target = source.reshape(-1, columns), target.reshape(-1, columns)
    entry = np.uint64(indptr[first])
    for row in range(first, end):
        last = np.uint64(indptr[row + 1])
        target[row] = 0
        while entry < last:
            value, other = data[entry], np.uint64(indices[entry])
            for column in range(columns):
                target[row, column] += value * source[other, column]
            entry += np.uint64(1)


PARALLEL = {
    function.__name__: function
    for function in (
        sum_products,
        sum_two_products,
        cg_direction,
        cg_step,
        bi_direction,
        bi_half,
        bi_step,
        multiply_column,
        multiply_columns,
    )
}
# The same without what guards threads, for vectors so short that none are woken.
SERIAL = {name: getattr(function, "dispatcher", function) for name, function in PARALLEL.items()}
