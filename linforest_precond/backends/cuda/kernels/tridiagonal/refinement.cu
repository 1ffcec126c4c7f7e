#include "runtime/arithmetic.cuh"
#include "tridiagonal/strided_vectors.cuh"

// Iterative refinement of (block) tridiagonal solutions, and the parts of their backward errors.

// One column of a right-hand side in the system's order, 0 for ghost rows.
KERNEL gather(Vectors vectors, i64 column, i64 rows, VALUE* __restrict__ to) {
    GRID_STRIDE (i64, row, rows) {
        const i64 place = place_of(vectors, row);
        to[row] = place < 0 ? VALUE{} : value_at(vectors, place * vectors.source_row + column * vectors.source_column);
    }
}

// Writes a solution in the user's order, without ghost rows.
KERNEL scatter(Vectors vectors, i64 column, i64 rows, In<VALUE> from) {
    GRID_STRIDE (i64, row, rows) {
        const i64 place = place_of(vectors, row);
        if (place >= 0) put(vectors, place * vectors.target_row + column * vectors.target_column, from[row]);
    }
}

DEVICE Block turned(const Block& block, bool transpose) { return transpose ? transposed(block) : block; }

// The residual b - T x of a block tridiagonal system, or of its transpose. `sizes` are raised to the largest entries of
// x and of the residual.
KERNEL residual(In<Block> lower, In<Block> diagonal, In<Block> upper, i64 count, i64 transpose, In<Column> right,
                In<Column> x, Column* __restrict__ remainder, WEIGHT* sizes) {
    WEIGHT largest[2] = {0, 0};
    GRID_STRIDE (i64, i, count) {
        Column rest = right[i] - turned(diagonal[i], transpose) * x[i];
        if (i > 0) rest = rest - turned(transpose ? upper[i - 1] : lower[i], transpose) * x[i - 1];
        if (i + 1 < count) rest = rest - turned(transpose ? lower[i + 1] : upper[i], transpose) * x[i + 1];
        remainder[i] = rest;
        EACH (k, BLOCK) {
            largest[0] = fmax(largest[0], size_of(x[i].at[k]));
            largest[1] = fmax(largest[1], size_of(rest.at[k]));
        }
    }
    EACH (i, 2) raise_over_warp(sizes + i, largest[i]);
}

// Takes the corrected solution where its residual is smaller relative to its norm; `sizes` are the norms of x, its
// residual, the corrected x and its residual.
KERNEL choose(VALUE* __restrict__ x, In<VALUE> corrected, i64 rows, const WEIGHT* sizes) {
    if (!(sizes[3] * sizes[0] < sizes[1] * sizes[2])) return;
    GRID_STRIDE (i64, row, rows) x[row] = corrected[row];
}

// A random vector: magnitudes between one half and three halves, both signs.
KERNEL make_random(i64 rows, VALUE* __restrict__ to) {
    GRID_STRIDE (i64, row, rows) {
        const u64 hash = mix64((u64)row);
        const WEIGHT size = (WEIGHT)0.5 + (WEIGHT)(hash >> 48) / 65536;
        to[row] = from_real(hash & 1 ? -size : size);
    }
}
