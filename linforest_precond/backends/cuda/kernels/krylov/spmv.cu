#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"
#include "matrix/long_row_split.cuh"
#include "matrix/row_products.cuh"

// Sparse matrix-vector products (SpMV) of Krylov solvers, fused with the inner products that follow them. `indices` may
// be the user's own, which a callback can change: columns are clamped.

// The sum over 32 lanes, by butterfly shuffles.
DEVICE VALUE warp_sum(VALUE sum) {
    for (int half = 16; half > 0; half /= 2) sum = sum + from_lane(sum, threadIdx.x % 32 ^ half);
    return sum;
}

// The sums of the pieces of long rows, a warp per piece: a lane sums every 32nd product.
KERNEL __launch_bounds__(THREADS)
    multiply_pieces(KrylovSpace space, In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, LongRows long_rows,
                    In<VALUE> x, VALUE* __restrict__ partials) {
    const u32 pieces = piece_count(long_rows), warps = gridDim.x * THREADS / 32;
    for (u32 piece = (blockIdx.x * THREADS + threadIdx.x) / 32; piece < pieces; piece += warps) {
        const Part part = piece_of(indptr, long_rows, piece);
        VALUE sum = VALUE{};
        EACH (i, PIECE / 32) {
            const int place = i * 32 + threadIdx.x % 32;
            if (place < part.length) {
                const i64 at = part.begin + place;
                sum = sum + data[at] * x[clamped(indices[at], space.rows)];
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) partials[piece] = sum;
    }
}

// The products of long rows, a warp per row: a lane sums the products of every 32nd piece.
KERNEL __launch_bounds__(THREADS)
    sum_pieces(In<INDEX> indptr, LongRows long_rows, In<VALUE> partials, VALUE* __restrict__ y) {
    const u32 rows = row_count(long_rows), warps = gridDim.x * THREADS / 32;
    for (u32 place = (blockIdx.x * THREADS + threadIdx.x) / 32; place < rows; place += warps) {
        const int row = long_rows.rows[place];
        const VALUE* const own = partials + long_rows.first[place];
        const u32 pieces = pieces_in((i64)indptr[row + 1] - indptr[row]);
        VALUE sum = VALUE{};
        for (u32 piece = threadIdx.x % 32; piece < pieces; piece += 32) sum = sum + own[piece];
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) y[row] = sum;
    }
}

// y = A x for one column, and PAIRS inner products: <w, y>, or <y, w> and <y, y>. The products of long rows are in y.
template <int PAIRS>
DEVICE void multiply(const KrylovSpace& space, In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> x,
                     VALUE* __restrict__ y, In<VALUE> w, int step) {
    Scalar sums[PAIRS ? PAIRS : 1] = {};
    const auto from_x = [&](i64 column) { return x[column]; };
    each_product(indptr, indices, data, space.rows, from_x, [&](i64 row, VALUE sum, bool is_long) {
        if (is_long) sum = y[row];
        else y[row] = sum;
        if (PAIRS == 1) add_product(sums[0], w[row], sum);
        if (PAIRS == 2) {
            add_product(sums[0], sum, w[row]);
            add_product(sums[PAIRS == 2], sum, sum);
        }
    });
    if (PAIRS) finish(space, (ScalarStep)step, sums);
}

KERNEL __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    multiply_plain(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                   VALUE* y) {
    multiply<0>(space, indptr, indices, data, x, y, nullptr, 0);
}
KERNEL __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    multiply_one(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                 VALUE* y, const VALUE* w, int step) {
    if (space.is_active()) multiply<1>(space, indptr, indices, data, x, y, w, step);
}
KERNEL __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    multiply_two(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                 VALUE* y, const VALUE* w, int step) {
    if (space.is_active()) multiply<2>(space, indptr, indices, data, x, y, w, step);
}

// Y = A X for several columns: a thread per entry of Y.
KERNEL __launch_bounds__(THREADS) multiply_columns(KrylovSpace space, In<INDEX> indptr, In<INDEX> indices,
                                                   In<VALUE> data, In<VALUE> x, VALUE* __restrict__ y) {
    const Walk walk(space);
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        const i64 row = e / space.columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at)
            sum = sum + data[at] * x[(i64)clamped(indices[at], space.rows) * space.columns + walk.column];
        y[e] = sum;
    }
}
