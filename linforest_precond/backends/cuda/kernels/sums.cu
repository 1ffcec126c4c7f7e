#include "common.cuh"

// Adds each chunk of values by the fixed tree; run again on the chunk sums until one is left.
extern "C" __global__ void tree_level(const VALUE* __restrict__ values, i64 count, double scale,
                                      double* __restrict__ chunk_sums) {
    __shared__ double lanes[LANES];
    const i64 base = (i64)blockIdx.x * CHUNK + threadIdx.x;
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < CHUNK; j += LANES)
        if (base + j < count) sum += magnitude(widened(values[base + j])) * scale;
    sum = fold_lanes(sum, lanes);
    if (threadIdx.x == 0) chunk_sums[blockIdx.x] = sum;
}
