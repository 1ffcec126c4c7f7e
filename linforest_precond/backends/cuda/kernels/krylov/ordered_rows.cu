#include "runtime/common.cuh"
#include "runtime/arithmetic.cuh"

// Y = A X for rows of a matrix that need not be square: a thread per entry of Y sums its row in stored order, so that
// the sum does not depend on which other rows there are.
extern "C" __global__ void multiply_rows(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                         const VALUE* __restrict__ data, const VALUE* __restrict__ x, i64 columns,
                                         i64 entries, VALUE* __restrict__ y) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < entries; e += (i64)gridDim.x * blockDim.x) {
        const i64 row = e / columns, column = e % columns, end = indptr[row + 1];
        VALUE sum = VALUE{};
        for (i64 at = indptr[row]; at < end; ++at) sum = sum + data[at] * x[(i64)indices[at] * columns + column];
        y[e] = sum;
    }
}
