#include "runtime/common.cuh"
#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"
#include "matrix/row_products.cuh"

// Sparse matrix-vector products (SpMV) of Krylov solvers, fused with the inner products that follow them. `indices` may
// be the user's own, which a callback can change: columns are clamped.

// y = A x for one column, and PAIRS inner products: <w, y>, or <y, w> and <y, y>.
template <int PAIRS>
__device__ __forceinline__ void multiply(const KrylovSpace& space, const INDEX* __restrict__ indptr,
                                         const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                                         const VALUE* __restrict__ x, VALUE* __restrict__ y,
                                         const VALUE* __restrict__ w, int step) {
    Scalar sums[PAIRS ? PAIRS : 1] = {};
    const auto from_x = [&](i64 column) { return x[column]; };
    each_product<true>(indptr, indices, data, space.rows, from_x, [&](i64 row, VALUE sum) {
        y[row] = sum;
        if (PAIRS == 1) add_product(sums[0], w[row], sum);
        if (PAIRS == 2) {
            add_product(sums[0], sum, w[row]);
            add_product(sums[PAIRS == 2], sum, sum);
        }
    });
    if (PAIRS) finish(space, (ScalarStep)step, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_plain(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                   VALUE* y) {
    multiply<0>(space, indptr, indices, data, x, y, nullptr, 0);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_one(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                 VALUE* y, const VALUE* w, int step) {
    if (space.is_active()) multiply<1>(space, indptr, indices, data, x, y, w, step);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_two(KrylovSpace space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                 VALUE* y, const VALUE* w, int step) {
    if (space.is_active()) multiply<2>(space, indptr, indices, data, x, y, w, step);
}

// Y = A X for several columns: a thread per entry of Y.
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_columns(KrylovSpace space, const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                     const VALUE* __restrict__ data, const VALUE* __restrict__ x, VALUE* __restrict__ y) {
    const Walk walk(space);
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        const i64 row = e / space.columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at)
            sum = sum + data[at] * x[(i64)clamped(indices[at], space.rows) * space.columns + walk.column];
        y[e] = sum;
    }
}
