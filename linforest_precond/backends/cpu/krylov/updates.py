"""Fused vector updates and inner products of Krylov solvers on the CPU.

A vector of k columns is stored in rows of `width` lanes, k times a power of two; lane l belongs to column
l % k. One loop over the lanes, which the compiler vectorizes, then serves any number of columns. The last row
is padded with zeros, which all updates preserve.

The order of a sum does not depend on the number of threads: each lane of a chunk by itself, then a pairwise
reduction of the lanes, then the chunks from first to last.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.krylov_codes import VectorUpdate

from ..runtime.jit import helper, kernel, serial_version

LANES = 64  # lanes of a row, at least
ROWS_AT_ONCE = 64  # rows of a chunk, the unit of work of a thread
FEW_CHUNKS = 4  # up to this many, one thread is faster than several


# Inner products


@helper
def rows_of(chunk, vector):
    return range(chunk * ROWS_AT_ONCE, min((chunk + 1) * ROWS_AT_ONCE, vector.shape[0]))


# Sum conj(u) * v over one chunk, in double precision: lane by lane, then by halving down to the columns.
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
    for chunk in prange(chunks):
        sum_chunk(chunk, 0, u, v, partials, columns)
    add_chunks(0, partials, sums)


@kernel(parallel=True)
def sum_two_products(u, v, y, z, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    for chunk in prange(chunks):
        sum_chunk(chunk, 0, u, v, partials, columns)
        sum_chunk(chunk, 1, y, z, partials, columns)
    add_chunks(0, partials, sums)
    add_chunks(1, partials, sums)


# Updates, in double precision. Columns that are not running do not change: their alpha and omega are 0.


# p = z + beta p; where beta is 0, p is z even if the old p is not finite.
@kernel(parallel=True)
def cg_direction(z, p, beta, active):
    for chunk in prange(-(-p.shape[0] // ROWS_AT_ONCE)):
        cg_direction_chunk(chunk, p, z, beta, active)


@helper
def cg_direction_chunk(chunk, p, z, beta, active):
    width = beta.size
    for row in rows_of(chunk, p):
        for lane in range(width):
            new = z[row, lane] + beta[lane] * p[row, lane] if beta[lane] != 0 else z[row, lane]
            p[row, lane] = new if active[lane] else p[row, lane]


# x += alpha p and r -= alpha q, and norm(r)^2.
@kernel(parallel=True)
def cg_step(x, r, p, q, alpha, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
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


# p = r + beta (p - omega v); where beta is 0, p is r.
@kernel(parallel=True)
def bicgstab_direction(r, p, v, beta, omega, active):
    for chunk in prange(-(-p.shape[0] // ROWS_AT_ONCE)):
        bicgstab_direction_chunk(chunk, p, r, v, beta, omega, active)


@helper
def bicgstab_direction_chunk(chunk, p, r, v, beta, omega, active):
    width = beta.size
    for row in rows_of(chunk, p):
        for lane in range(width):
            more = beta[lane] * (p[row, lane] - omega[lane] * v[row, lane])
            new = r[row, lane] + more if beta[lane] != 0 else r[row, lane]
            p[row, lane] = new if active[lane] else p[row, lane]


# s = r - alpha v, in place of r, and norm(s)^2.
@kernel(parallel=True)
def bicgstab_half_step(r, v, alpha, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    for chunk in prange(chunks):
        bicgstab_half_step_chunk(chunk, r, v, alpha)
        sum_chunk(chunk, 0, r, r, partials, columns)
    add_chunks(0, partials, sums)


@helper
def bicgstab_half_step_chunk(chunk, r, v, alpha):
    width = alpha.size
    for row in rows_of(chunk, r):
        for lane in range(width):
            new = r[row, lane] - alpha[lane] * v[row, lane]
            r[row, lane] = new if alpha[lane] != 0 else r[row, lane]


# x += alpha phat + omega shat and r -= omega t, and norm(r)^2 and conj(shadow) r; shat may alias r.
@kernel(parallel=True)
def bicgstab_step(x, r, t, phat, shat, shadow, alpha, omega, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    for chunk in prange(chunks):
        bicgstab_step_chunk(chunk, x, r, phat, shat, t, alpha, omega)
        sum_chunk(chunk, 0, r, r, partials, columns)
        sum_chunk(chunk, 1, shadow, r, partials, columns)
    add_chunks(0, partials, sums)
    add_chunks(1, partials, sums)


@helper
def bicgstab_step_chunk(chunk, x, r, phat, shat, t, alpha, omega):
    width = alpha.size
    for row in rows_of(chunk, x):
        for lane in range(width):
            new = x[row, lane] + (alpha[lane] * phat[row, lane] + omega[lane] * shat[row, lane])
            x[row, lane] = new if omega[lane] != 0 else x[row, lane]
        for lane in range(width):
            new = r[row, lane] - omega[lane] * t[row, lane]
            r[row, lane] = new if omega[lane] != 0 else r[row, lane]


# v = z / beta; the Lanczos vector and the directions before it are 0.
@kernel(parallel=True)
def minres_begin(z, v, r1, w1, w2, inverse_beta, active):
    for chunk in prange(-(-z.shape[0] // ROWS_AT_ONCE)):
        minres_begin_chunk(chunk, z, v, r1, w1, w2, inverse_beta, active)


@helper
def minres_begin_chunk(chunk, z, v, r1, w1, w2, inverse_beta, active):
    for row in rows_of(chunk, z):
        for lane in range(active.size):
            if active[lane]:
                v[row, lane] = z[row, lane] * inverse_beta[lane]
                r1[row, lane] = 0
                w1[row, lane] = 0
                w2[row, lane] = 0


# The next Lanczos vector, before M and without its norm; r1 is the one before it.
@kernel(parallel=True)
def minres_lanczos(q, r1, r2, from_r1, from_r2, active):
    for chunk in prange(-(-q.shape[0] // ROWS_AT_ONCE)):
        minres_lanczos_chunk(chunk, q, r1, r2, from_r1, from_r2, active)


@helper
def minres_lanczos_chunk(chunk, q, r1, r2, from_r1, from_r2, active):
    for row in rows_of(chunk, q):
        for lane in range(active.size):
            new = q[row, lane] - (from_r1[lane] * r1[row, lane] + from_r2[lane] * r2[row, lane])
            r1[row, lane] = r2[row, lane] if active[lane] else r1[row, lane]
            r2[row, lane] = new if active[lane] else r2[row, lane]


# The next direction w = (v - from_w1 w1 - from_w2 w2) from_v, x += phi w, r = kept r - tau r2 and norm(r)^2,
# and the next v = z / beta. These coefficients are the rows of `factors`, in this order; z may alias r2.
@kernel(parallel=True)
def minres_step(x, r, r2, z, v, w1, w2, factors, active, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    for chunk in prange(chunks):
        minres_step_chunk(chunk, x, r, r2, z, v, w1, w2, factors, active)
        sum_chunk(chunk, 0, r, r, partials, columns)
    add_chunks(0, partials, sums)


@helper
def minres_step_chunk(chunk, x, r, r2, z, v, w1, w2, factors, active):
    from_w1, from_w2, from_v, phi = factors[0], factors[1], factors[2], factors[3]
    kept, tau, inverse_beta = factors[4], factors[5], factors[6]
    for row in rows_of(chunk, x):
        for lane in range(active.size):
            if active[lane]:
                earlier = from_w1[lane] * w1[row, lane] + from_w2[lane] * w2[row, lane]
                new = (v[row, lane] - earlier) * from_v[lane]
                w1[row, lane] = w2[row, lane]
                w2[row, lane] = new
                x[row, lane] += phi[lane] * new
                r[row, lane] = kept[lane] * r[row, lane] - tau[lane] * r2[row, lane]
                v[row, lane] = z[row, lane] * inverse_beta[lane]


# The coefficients that the kernel of an update takes after its vectors, and the mask of the running columns.
COEFFICIENTS = {
    VectorUpdate.CG_DIRECTION: ("beta", "active"),
    VectorUpdate.CG_STEP: ("alpha",),
    VectorUpdate.BICGSTAB_DIRECTION: ("beta", "omega", "active"),
    VectorUpdate.BICGSTAB_HALF_STEP: ("alpha",),
    VectorUpdate.BICGSTAB_STEP: ("alpha", "omega"),
    VectorUpdate.MINRES_BEGIN: ("inverse_beta", "active"),
    VectorUpdate.MINRES_LANCZOS: ("from_r1", "from_r2", "active"),
    VectorUpdate.MINRES_STEP: ("factors", "active"),
}
KERNELS = {
    function.__name__: function
    for function in (
        sum_products,
        sum_two_products,
        cg_direction,
        cg_step,
        bicgstab_direction,
        bicgstab_half_step,
        bicgstab_step,
        minres_begin,
        minres_lanczos,
        minres_step,
    )
}


def kernels_for(chunks):
    """The functions above by their names: compiled without threads for few chunks."""
    if chunks > FEW_CHUNKS:
        return KERNELS
    return {name: serial_version(function) for name, function in KERNELS.items()}
