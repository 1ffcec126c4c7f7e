#include "runtime/common.cuh"

// Lanes per row.
#define LANES_PER_ROW 8

__device__ __forceinline__ float real_value(float a) { return a; }
__device__ __forceinline__ double real_value(double a) { return a; }
__device__ __forceinline__ Complex64 real_value(Complex64 a) { return {a.re, 0}; }
__device__ __forceinline__ Complex128 real_value(Complex128 a) { return {a.re, 0}; }

// Makes a nearly Hermitian matrix Hermitian: copies the conjugates of the entries above the diagonal below it, and
// makes the diagonal real; a team of lanes per row.
extern "C" __global__ void copy_upper(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, i64 rows,
                                      VALUE* data) {
    const i64 teams = (i64)gridDim.x * blockDim.x / LANES_PER_ROW;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES_PER_ROW; row < rows; row += teams)
        for (i64 slot = (i64)indptr[row] + threadIdx.x % LANES_PER_ROW; slot < indptr[row + 1] && indices[slot] <= row;
             slot += LANES_PER_ROW) {
            const i64 column = indices[slot];
            if (column == row) {
                data[slot] = real_value(data[slot]);
                continue;
            }
            const i64 mirror = find_column(indices, indptr[column], indptr[column + 1], (INDEX)row);
            if (mirror >= 0) data[slot] = conjugate(data[mirror]);
        }
}
