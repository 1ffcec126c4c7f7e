"""Tridiagonal systems to test on: the literature's matrix types, LAPACK, errors in extended precision."""

import functools

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

# Sizes around the powers of two that groups, tiles and levels are made of.
SMALL_SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
SIZES = (*SMALL_SIZES, 511, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 65537)


def uniform(rng, n):
    return rng.uniform(-1, 1, n)


def ones(n):
    return np.ones(n)


# The first 20 types are those of table 1 in Klein & Strzodka, "Tridiagonal GPU solver with scaled partial
# pivoting at maximum bandwidth" (2021), who extend the set of Venetis et al., "A direct tridiagonal solver
# based on Givens rotations for GPU architectures" (2015). Each gives lower (n - 1), diagonal (n) and upper
# (n - 1). `tiny` is 1e-8 in double precision, and the condition number 1e15 there, both scaled for single
# precision.


def random(rng, n, tiny):
    return uniform(rng, n - 1), uniform(rng, n), uniform(rng, n - 1)


def huge_diagonal(rng, n, tiny):
    return uniform(rng, n - 1), ones(n) / tiny, uniform(rng, n - 1)


def lesp(rng, n, tiny):
    i = np.arange(2, n + 1)
    return 1.0 / i, -(2.0 * np.arange(1, n + 1) + 3), 1.0 * i


def cut_in_the_middle(rng, n, tiny):
    lower, diagonal, upper = random(rng, n, tiny)
    lower[n // 2 : n // 2 + 1] *= 1e-50
    return lower, diagonal, upper


def half_the_couplings(rng, n, tiny):
    lower, diagonal, upper = random(rng, n, tiny)
    return lower * rng.integers(0, 2, n - 1), diagonal, upper * rng.integers(0, 2, n - 1)


def strong_diagonal(rng, n, tiny):
    return uniform(rng, n - 1), 64 * ones(n), uniform(rng, n - 1)


def inverse_kms(rng, n, tiny):
    diagonal = 1.25 * ones(n)
    diagonal[[0, -1]] = 1
    return (
        -0.5 * ones(n - 1) / 0.75,
        (diagonal if n > 1 else 0.75 * ones(1)) / 0.75,
        -0.5 * ones(n - 1) / 0.75,
    )


def with_singular_values(mode):
    """Given singular values, as in MATLAB's gallery("randsvd", n, 1e15, mode, 1, 1)."""

    def build(rng, n, tiny):
        condition = 0.1 / tiny**2
        steps = np.arange(n) / max(n - 1, 1)
        values = {
            1: np.where(np.arange(n) == 0, 1, 1 / condition),
            2: np.where(np.arange(n) == n - 1, 1 / condition, 1),
            3: condition**-steps,
            4: 1 - (1 - 1 / condition) * steps,
        }[mode]
        signs = rng.choice([-1.0, 1.0], (2, n))
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        T = scipy.linalg.hessenberg((Q * (values * signs[0])) @ Q.T)
        T *= signs[1][:, None]
        return np.diag(T, -1).copy(), np.diag(T).copy(), np.diag(T, 1).copy()

    return build


def tiny_lower(rng, n, tiny):
    lower, diagonal, upper = random(rng, n, tiny)
    return lower * 1e-50, diagonal, upper


def dorr(rng, n, tiny, theta=1e-4):
    i, h = np.arange(1, n + 1), 1 / (n + 1)
    first = i <= (n + 1) // 2
    weak, slope = -theta / h**2 * ones(n), (0.5 - i * h) / h
    below, above = np.where(first, weak, weak + slope), np.where(first, weak - slope, weak)
    return below[1:], -(below + above), above[:-1]


def tiny_diagonal(rng, n, tiny):
    return uniform(rng, n - 1), tiny * ones(n), uniform(rng, n - 1)


def zero_diagonal(rng, n, tiny):
    return uniform(rng, n - 1), 0 * ones(n), uniform(rng, n - 1)


def toeplitz(lower, diagonal, upper):
    def build(rng, n, tiny):
        return lower * ones(n - 1), diagonal(tiny) * ones(n), upper * ones(n - 1)

    return build


def skew_with_random_upper(rng, n, tiny):
    return -ones(n - 1), 4 * ones(n), uniform(rng, n - 1)


# Further types, on which solvers differ.


def alternating_diagonal(rng, n, tiny):
    return uniform(rng, n - 1), np.where(np.arange(n) % 2, 1 / tiny, tiny), uniform(rng, n - 1)


def graded(rng, n, tiny):
    lower, diagonal, upper = random(rng, n, tiny)
    scale = tiny ** (np.arange(n) / max(n - 1, 1))
    return lower * scale[1:], diagonal * scale, upper * scale[:-1]


def zero_diagonal_unit_couplings(rng, n, tiny):
    return rng.choice([-1.0, 1.0], n - 1), 0 * ones(n), rng.choice([-1.0, 1.0], n - 1)


def row_dominant(rng, n, tiny):
    lower, _, upper = random(rng, n, tiny)
    return lower, np.append(0, abs(lower)) + np.append(abs(upper), 0) + 1e-3 * rng.random(n), upper


def column_dominant(rng, n, tiny):
    lower, diagonal, upper = row_dominant(rng, n, tiny)
    return upper, diagonal, lower


def drifts_to_wells(rng, n, tiny):
    """A random walk with drift to every 64th row: weakly dominant, and almost decoupled in between."""
    forward = np.where((np.arange(n) - 15) % 64 < 32, 0.9, 0.1)
    return -(1 - forward)[1:], ones(n), -forward[:-1]


def jumping_diffusion(rng, n, tiny):
    flow = tiny ** rng.uniform(-0.5, 0.5, n + 1)
    return -flow[1:-1], flow[:-1] + flow[1:], -flow[1:-1]


TYPES = {
    "random": random,
    "huge diagonal": huge_diagonal,
    "lesp": lesp,
    "cut in the middle": cut_in_the_middle,
    "half the couplings": half_the_couplings,
    "strong diagonal": strong_diagonal,
    "inverse kms": inverse_kms,
    "one small singular value": with_singular_values(2),
    "geometric singular values": with_singular_values(3),
    "one large singular value": with_singular_values(1),
    "arithmetic singular values": with_singular_values(4),
    "tiny lower": tiny_lower,
    "dorr": dorr,
    "tiny diagonal": tiny_diagonal,
    "zero diagonal": zero_diagonal,
    "toeplitz tiny": toeplitz(1, lambda tiny: tiny, 1),
    "toeplitz huge": toeplitz(1, lambda tiny: 1 / tiny, 1),
    "toeplitz -1 4 -1": toeplitz(-1, lambda tiny: 4, -1),
    "toeplitz -1 4 1": toeplitz(-1, lambda tiny: 4, 1),
    "skew with random upper": skew_with_random_upper,
    "toeplitz -1 2 -1": toeplitz(-1, lambda tiny: 2, -1),
    "alternating diagonal": alternating_diagonal,
    "graded": graded,
    "zero diagonal, unit couplings": zero_diagonal_unit_couplings,
    "row dominant": row_dominant,
    "column dominant": column_dominant,
    "drifts to wells": drifts_to_wells,
    "jumping diffusion": jumping_diffusion,
}
LARGEST_DENSE = 257


# Their solutions grow exponentially with n.
EXPONENTIAL = ("tiny lower", "tiny diagonal", "zero diagonal")


def sizes_of(name):
    """The sizes of a type: even for zero diagonals, small where singular values cost n**3."""
    sizes = SMALL_SIZES if "singular" in name or name in EXPONENTIAL else SIZES
    return tuple(n for n in sizes if n % 2 == 0) if "zero diagonal" in name else sizes


@functools.cache
def system(name, n, dtype):
    """Bands of length n as in `Bands`; complex ones have every row and column multiplied by a phase."""
    rng = np.random.default_rng(n + 7919 * list(TYPES).index(name))
    dtype = np.dtype(dtype)
    tiny = (
        1e-8 if np.finfo(dtype).bits == 64 else 1e-8 ** (np.log(np.finfo(np.float32).eps) / np.log(2.0**-52))
    )
    lower, diagonal, upper = TYPES[name](rng, n, tiny)
    lower, upper = np.append(0, lower), np.append(upper, 0)
    if dtype.kind == "c":
        rows, columns = np.exp(2j * np.pi * rng.random((2, n)))
        lower, diagonal, upper = (
            band * rows * np.roll(columns, shift) for band, shift in ((lower, 1), (diagonal, 0), (upper, -1))
        )
    return tuple(band.astype(dtype) for band in (lower, diagonal, upper))


def wide(*arrays):
    """The same numbers in extended precision."""
    return [array.astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble) for array in arrays]


def multiply(bands, x, transpose=False):
    """The matrix times vectors."""
    lower, diagonal, upper = (band.reshape(-1, *(1,) * (x.ndim - 1)) for band in bands)
    below, above = (upper[:-1], lower[1:]) if transpose else (lower[1:], upper[:-1])
    product = diagonal * x
    product[1:] += below * x[:-1]
    product[:-1] += above * x[1:]
    return product


def norm(bands, transpose=False):
    """The infinity norm: the largest sum of magnitudes in a row."""
    return multiply([abs(band) for band in bands], np.ones(bands[1].shape), transpose).max()


def backward_error(bands, x, b, transpose=False):
    """The normwise backward error of x."""
    bands, x, b = wide(*bands), *wide(x, b)
    scale = norm(bands, transpose) * abs(x).max() + abs(b).max()
    return float(abs(b - multiply(bands, x, transpose)).max() / scale)


def padded(rows, count, value):
    """Padded by rows of one value; the type stays."""
    return np.concatenate([rows, np.full(count, value, rows.dtype)])


def relative_error(x, wanted):
    return float(abs(x - wanted).max() / abs(wanted).max())


def gtsv(bands, b, transpose=False):
    """LAPACK's solution. Its wrapper needs two rows at least, so a decoupled row is added."""
    lower, diagonal, upper = bands
    below, above = (upper[:-1], lower[1:]) if transpose else (lower[1:], upper[:-1])
    bands = padded(below, 1, 0), padded(diagonal, 1, 1), padded(above, 1, 0)
    (solve,) = get_lapack_funcs(("gtsv",), bands)
    x, info = solve(*bands, padded(b, 1, 0))[3:]
    assert info == 0 and x.dtype == diagonal.dtype, "the case is singular"
    return x[:-1]


def condition(bands):
    """LAPACK's estimate of the condition number, in double precision; infinity for singular matrices."""
    lower, diagonal, upper = (band.astype(np.promote_types(band.dtype, np.float64)) for band in bands)
    size, missing = norm((lower, diagonal, upper)), max(0, 3 - diagonal.size)
    bands = padded(lower[1:], missing, 0), padded(diagonal, missing, size), padded(upper[:-1], missing, 0)
    factorize, estimate = get_lapack_funcs(("gttrf", "gtcon"), bands)
    *factors, info = factorize(*bands)
    reciprocal = estimate(*factors, size, norm="I")[0] if info == 0 else 0
    return 1 / reciprocal if reciprocal else np.inf


def dense(bands):
    """The dense matrix of (block) bands."""
    lower, diagonal, upper = bands
    if diagonal.ndim == 1:
        return np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    n, b = diagonal.shape[:2]
    A = np.zeros((n, b, n, b), diagonal.dtype)
    for i in range(n):
        A[i, :, i] = diagonal[i]
        if i > 0:
            A[i, :, i - 1], A[i - 1, :, i] = lower[i], upper[i - 1]
    return A.reshape(n * b, n * b)


def random_values(rng, shape, dtype):
    """Random numbers of magnitude about one; complex ones have random phases."""
    x = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        x = x * np.exp(2j * np.pi * rng.random(shape))
    return x.astype(dtype)
