"""The coarsest level: its dense inverse."""

import numpy as np

from linforest_precond.backends.flags import all_set

from ..runtime import INDICES, VALUES, Program, Struct, cupy, launch, wide_type

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8
# Matrices with more rows are inverted by cuSOLVER.
MOST_ROWS = 1024
# Rows of a tile, and threads (dense_inverse.cu).
TILE = 32
THREADS = 256

INVERSION = Struct("Inversion", "multigrid/dense_inverse.cu")
MATRIX = Program("multigrid/dense_matrix", VALUE=VALUES, WIDE=wide_type, INDEX=INDICES)
INVERSE = Program(
    "multigrid/dense_inverse",
    [{"VALUE": wide_type(stored), "RESULT": stored} for stored in VALUES],
    cooperative=True,
    same_bits=False,
)


def dense_matrix(csr):
    value = csr.data.dtype.type
    program = MATRIX(VALUE=value, INDEX=csr.indices)
    dense = cupy.empty((csr.n, csr.n), wide_type(value))
    launch(program.scatter_rows, (csr.indptr, csr.indices, csr.data, csr.n, dense), items=32 * csr.n)
    return dense


def definite_inverse(matrix, stored):
    return (inverse_by_sweeps if len(matrix) <= MOST_ROWS else inverse_by_cusolver)(matrix, stored)


def inverse_by_sweeps(matrix, stored):
    """By the sweep operator in tiles, all sweeps in one launch."""
    n, value = len(matrix), matrix.dtype.type
    program = INVERSE(VALUE=value, RESULT=np.dtype(stored).type)
    side = -(-n // TILE)
    count = side * (side + 1) // 2
    inverse, words = cupy.empty((n, n), stored), cupy.zeros(2, np.uint32)
    space = cupy.empty((count + 2 * side + 2, TILE * TILE), value)
    inversion = INVERSION(
        matrix=matrix, inverse=inverse, tiles=space, panels=space[count:], factors=space[count + 2 * side :],
        failed=words, small_pivot=SMALL_PIVOT, n=n,
    )  # fmt: skip
    # The last word is the barrier.
    launch(program.invert_definite, (inversion, words[1:]), block=THREADS, items=count * THREADS)
    return None if words.get()[0] else inverse  # stall: decides how to invert


def inverse_by_cusolver(matrix, stored):
    import cupyx

    try:
        with cupyx.errstate(linalg="raise"):
            pivots = cupy.diagonal(cupy.linalg.cholesky(matrix)).real ** 2
    except np.linalg.LinAlgError:
        return None
    inverse = cupy.linalg.inv(matrix)
    inverse = ((inverse + inverse.conj().T) / 2).astype(stored)
    are_large = pivots > SMALL_PIVOT * cupy.diagonal(matrix).real
    # stall: decides how to invert
    return inverse if all_set(are_large) and all_set(cupy.isfinite(inverse)) else None


def definite_factor(csr, stored):
    """None: a product with the dense inverse is one launch, substitutions go from row to row."""
    return None


regular_factors = definite_factor
