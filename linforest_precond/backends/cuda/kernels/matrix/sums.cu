#include "runtime/common.cuh"

// One level of the fixed-shape sum: a block sums one chunk of a row of `count` values. Run again on the chunk sums
// until one is left.
extern "C" __global__ void tree_level(const VALUE* __restrict__ values, i64 count, double scale,
                                      double* __restrict__ chunk_sums) {
    __shared__ double lanes[LANES];
    const i64 chunks = (count + CHUNK - 1) / CHUNK, row = blockIdx.x / chunks;
    const i64 first = blockIdx.x % chunks * CHUNK + threadIdx.x;
    double sum[1] = {0.0};
#pragma unroll
    for (int j = 0; j < CHUNK; j += LANES)
        if (first + j < count) sum[0] += magnitude(widened(values[row * count + first + j])) * scale;
    const double total = fold_lanes(sum, lanes);
    if (threadIdx.x == 0) chunk_sums[blockIdx.x] = total;
}
