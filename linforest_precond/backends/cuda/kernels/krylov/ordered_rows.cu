#include "runtime/arithmetic.cuh"

// Y = A X for rows of a matrix that need not be square: a thread per entry of Y sums its row in stored order, so that
// the sum does not depend on which other rows there are.
KERNEL multiply_rows(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> x, i64 columns, i64 entries,
                     VALUE* __restrict__ y) {
    GRID_STRIDE (i64, e, entries) {
        const i64 row = e / columns, column = e % columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at) sum = sum + data[at] * x[(i64)indices[at] * columns + column];
        y[e] = sum;
    }
}
