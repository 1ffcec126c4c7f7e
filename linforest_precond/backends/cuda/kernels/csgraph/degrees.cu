#include "runtime/common.cuh"

// Thread per row: counts the off-diagonal entries.
extern "C" __global__ void count_neighbors(const INDEX* __restrict__ indptr, const int* __restrict__ indices, i64 n,
                                           int* __restrict__ counts) {
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
        int count = 0;
        for (INDEX slot = indptr[row]; slot < indptr[row + 1]; ++slot) count += indices[slot] != row;
        counts[row] = count;
    }
}
