#include "common.cuh"
#include "arithmetic.cuh"
#include "krylov.cuh"

// Products of a sparse matrix with the vectors of Krylov solvers.

// y = A x for one column: a block takes THREADS rows at a time, multiplies their entries side by side into shared
// memory, ENTRIES at a time, and every thread adds up those of its row in order. PAIRS: what is summed besides,
// <w, y>, or <y, w> and <y, y>.
#define ENTRIES (sizeof(VALUE) > 8 ? 1024 : 2048)
template <int PAIRS>
__device__ __forceinline__ void multiply(const Space& space, const INDEX* __restrict__ indptr,
                                         const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                                         const VALUE* __restrict__ x, VALUE* __restrict__ y, const VALUE* __restrict__ w,
                                         int logic) {
    __shared__ VALUE products[ENTRIES];
    __shared__ INDEX starts[THREADS + 1];
    Scalar sums[PAIRS ? PAIRS : 1] = {};
    for (i64 first = (i64)blockIdx.x * THREADS; first < space.rows; first += (i64)gridDim.x * THREADS) {
        const int rows = (int)min((i64)THREADS, space.rows - first);
        for (int i = threadIdx.x; i <= rows; i += THREADS) starts[i] = indptr[first + i];
        __syncthreads();
        const i64 begin = starts[0], end = starts[rows];
        const int row = min((int)threadIdx.x, rows - 1);
        const i64 own_begin = starts[row], own_end = threadIdx.x < rows ? (i64)starts[row + 1] : own_begin;
        VALUE sum = VALUE{};
        for (i64 base = begin; base < end; base += ENTRIES) {
            EACH(i, (int)(ENTRIES / THREADS)) {
                const i64 at = base + i * THREADS + threadIdx.x;
                if (at < end) products[i * THREADS + threadIdx.x] = data[at] * x[indices[at]];
            }
            __syncthreads();
            const i64 last = min(own_end, base + ENTRIES);
            for (i64 at = max(own_begin, base); at < last; ++at) sum = sum + products[at - base];
            __syncthreads();
        }
        if (threadIdx.x < rows) {
            y[first + threadIdx.x] = sum;
            if (PAIRS == 1) add_product(sums[0], w[first + threadIdx.x], sum);
            if (PAIRS == 2) {
                add_product(sums[0], sum, w[first + threadIdx.x]);
                add_product(sums[PAIRS == 2], sum, sum);
            }
        }
        __syncthreads();
    }
    if (PAIRS) finish(space, (Logic)logic, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS) multiply_plain(Space space, const INDEX* indptr, const INDEX* indices,
                                                                     const VALUE* data, const VALUE* x, VALUE* y) {
    multiply<0>(space, indptr, indices, data, x, y, nullptr, 0);
}
extern "C" __global__ void __launch_bounds__(THREADS) multiply_one(Space space, const INDEX* indptr, const INDEX* indices,
                                                                   const VALUE* data, const VALUE* x, VALUE* y,
                                                                   const VALUE* w, int logic) {
    if (space.is_active()) multiply<1>(space, indptr, indices, data, x, y, w, logic);
}
extern "C" __global__ void __launch_bounds__(THREADS) multiply_two(Space space, const INDEX* indptr, const INDEX* indices,
                                                                   const VALUE* data, const VALUE* x, VALUE* y,
                                                                   const VALUE* w, int logic) {
    if (space.is_active()) multiply<2>(space, indptr, indices, data, x, y, w, logic);
}

// Y = A X for several columns: a thread to an entry of Y.
extern "C" __global__ void __launch_bounds__(THREADS) multiply_columns(Space space, const INDEX* __restrict__ indptr,
                                                                       const INDEX* __restrict__ indices,
                                                                       const VALUE* __restrict__ data,
                                                                       const VALUE* __restrict__ x, VALUE* __restrict__ y) {
    const Walk walk(space);
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        const i64 row = e / space.columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at) sum = sum + data[at] * x[(i64)indices[at] * space.columns + walk.column];
        y[e] = sum;
    }
}
