"""The vectors of Krylov solvers: fused updates and sums on the CPU.

A vector of k columns is kept in rows of `width` lanes, k times a power of two; lane l is of column l % k.
So one loop over the lanes, which the compiler can vectorize, serves one column and many. The last row is
filled up with zeros, which all updates keep.

Sums have a fixed order, for any number of threads: each lane of a chunk by itself, then the lanes in halves,
then the chunks one after the other.
"""

import numpy as np
from numba import prange

from ..runtime.jit import helper, kernel

LANES = 64  # a row has at least so many
ROWS_AT_ONCE = 64  # rows of a chunk
FEW_CHUNKS = 4  # so many are not worth waking up threads


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
    )
}
# The same without what guards threads, for vectors so short that none are woken.
SERIAL = {name: getattr(function, "dispatcher", function) for name, function in PARALLEL.items()}
