"""Inner products with all vectors of a basis, and linear combinations of them, on the CPU.

Vectors are stored in lanes as in `updates`; a basis is a stack of them. Sums have the same order as there.
"""

import numpy as np
from numba import prange

from ..runtime.jit import helper, kernel, serial_version
from .updates import FEW_CHUNKS, ROWS_AT_ONCE, add_chunks, rows_of, sum_chunk


# The inner products of the first `count` vectors of the basis with w, and norm(w)^2; a chunk of w stays in
# cache.
@kernel(parallel=True)
def sum_basis(basis, count, w, partials, sums):
    chunks, columns = partials.shape[0], sums.shape[0]
    for chunk in prange(chunks):
        for i in range(count):
            sum_chunk(chunk, i, basis[i], w, partials, columns)
        sum_chunk(chunk, count, w, w, partials, columns)
    for i in range(count + 1):
        add_chunks(i, partials, sums)


# out = copy = scale source + the combination of the basis, in double precision; `source` is not read where
# its scale is 0. Lanes that are not active do not change.
@kernel(parallel=True)
def combine(out, copy, scale, source, basis, first, end, coefficients, active, partials):
    for chunk in prange(partials.shape[0]):
        combine_chunk(
            chunk, out, copy, scale, source, basis, first, end, coefficients, active, partials[chunk, 0]
        )


@helper
def combine_chunk(chunk, out, copy, scale, source, basis, first, end, coefficients, active, totals):
    width = active.size
    for row in rows_of(chunk, out):
        for lane in range(width):
            totals[lane] = scale[lane] * source[row, lane] if scale[lane] != 0 else 0
        for i in range(first, end):
            for lane in range(width):
                totals[lane] += coefficients[i, lane] * basis[i, row, lane]
        for lane in range(width):
            if active[lane]:
                out[row, lane] = totals[lane]
                copy[row, lane] = totals[lane]


class BasisProducts:
    """The two operations for the vectors of a `KrylovSpace`, with bases of at most `length` vectors."""

    def __init__(self, space, length):
        self.space = space
        chunks = -(-space.rows // ROWS_AT_ONCE)
        wide = space.sums.dtype
        functions = (sum_basis, combine)
        self._sum_basis, self._combine = (
            functions if chunks > FEW_CHUNKS else (serial_version(function) for function in functions)
        )
        self._partials = np.empty((chunks, length + 1, space.width), wide)
        self._sums = np.zeros((space.columns, length + 1), wide)
        self._coefficients, self._scale = np.zeros((length, space.width), wide), np.zeros(space.width, wide)

    def stack(self, length):
        """A basis of zero vectors."""
        space = self.space
        return np.zeros((length, space.rows, space.width), space.dtype)

    def vectors(self, basis, i):
        """A vector of a basis as an (n, k) array."""
        space = self.space
        return basis[i].reshape(-1)[: space.n * space.columns].reshape(space.n, space.columns)

    def sums(self, basis, count, name):
        """For each running column the inner products with a vector, and then the square of its norm."""
        space = self.space
        if space.inner is None:
            self._sum_basis(basis, count, space.lanes[name], self._partials, self._sums)
            return self._sums[:, : count + 1].tolist()
        sums, w = np.zeros_like(self._sums), space[name]
        for column in space.running:
            for i in range(count + 1):
                u = w if i == count else self.vectors(basis, i)
                sums[column, i] = space.inner(u[:, column], w[:, column])
        return sums[:, : count + 1].tolist()

    def combine(self, out, source, scales, basis, weights, first=0, copy=None, active=None):
        """out = scale source + the combination of a basis, for the columns that are keys of `scales`.

        `scales` and `weights` have a number and a list of numbers for each column; the first weight belongs
        to vector `first` of the basis.
        """
        columns, end = self.space.columns, first
        self._coefficients[:] = 0
        self._scale[:] = 0
        for column, scale in scales.items():
            own = weights[column]
            end = max(end, first + len(own))
            self._scale[column::columns] = scale
            for i, weight in enumerate(own, start=first):
                self._coefficients[i, column::columns] = weight
        active = self.space.active if active is None else active
        copy = out if copy is None else copy
        self._combine(
            out, copy, self._scale, source, basis, first, end, self._coefficients, active, self._partials
        )

    def lanes_of(self, columns):
        """A mask of the lanes of some columns."""
        mask = np.zeros(self.space.width, bool)
        for column in columns:
            mask[column :: self.space.columns] = True
        return mask
