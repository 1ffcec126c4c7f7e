#include "runtime/common.cuh"
#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"
#include "matrix/row_products.cuh"

// Products of a sparse matrix with the vectors of Krylov solvers.

// y = A x for one column. PAIRS: what is summed besides, <w, y>, or <y, w> and <y, y>.
template <int PAIRS>
__device__ __forceinline__ void multiply(const Space& space, const INDEX* __restrict__ indptr,
                                         const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                                         const VALUE* __restrict__ x, VALUE* __restrict__ y,
                                         const VALUE* __restrict__ w, int logic) {
    Scalar sums[PAIRS ? PAIRS : 1] = {};
    each_product(indptr, indices, data, space.rows, x, [&](i64 row, VALUE sum) {
        y[row] = sum;
        if (PAIRS == 1) add_product(sums[0], w[row], sum);
        if (PAIRS == 2) {
            add_product(sums[0], sum, w[row]);
            add_product(sums[PAIRS == 2], sum, sum);
        }
    });
    if (PAIRS) finish(space, (Logic)logic, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_plain(Space space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x,
                   VALUE* y) {
    multiply<0>(space, indptr, indices, data, x, y, nullptr, 0);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_one(Space space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x, VALUE* y,
                 const VALUE* w, int logic) {
    if (space.is_active()) multiply<1>(space, indptr, indices, data, x, y, w, logic);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_two(Space space, const INDEX* indptr, const INDEX* indices, const VALUE* data, const VALUE* x, VALUE* y,
                 const VALUE* w, int logic) {
    if (space.is_active()) multiply<2>(space, indptr, indices, data, x, y, w, logic);
}

// Y = A X for several columns: a thread to an entry of Y.
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_columns(Space space, const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                     const VALUE* __restrict__ data, const VALUE* __restrict__ x, VALUE* __restrict__ y) {
    const Walk walk(space);
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        const i64 row = e / space.columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at)
            sum = sum + data[at] * x[(i64)indices[at] * space.columns + walk.column];
        y[e] = sum;
    }
}
