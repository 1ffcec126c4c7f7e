#include "matrix/sum_sizes.cuh"

// Some arrays, and the number of chunks of each.
struct Summands {
    const VALUE* values[MOST_SUMS];
    i64 counts[MOST_SUMS];
    i64 chunks[MOST_SUMS];
};

// The sum of one chunk of values by the fixed tree; the first thread of the block gets it.
template <typename Load>
DEVICE double sum_of_chunk(i64 chunk, i64 count, const Load& load) {
    __shared__ double lanes[LANES];
    const i64 first = chunk * CHUNK + threadIdx.x;
    double sum[1] = {0.0};
#pragma unroll
    for (int j = 0; j < CHUNK; j += LANES)
        if (first + j < count) sum[0] += load(first + j);
    const double total = fold_lanes(sum, lanes);
    __syncthreads();
    return total;
}

// The fixed-shape sums of the magnitudes of arrays, each times `scale`. A block sums one chunk; the last block of an
// array sums the chunk sums by the same rule until one is left. `arrived` has a zeroed counter for each array.
KERNEL tree_sums(Summands arrays, double scale, u64* arrived, double* chunk_sums, double* sums) {
    i64 block = blockIdx.x;
    int number = 0;
    for (; block >= arrays.chunks[number]; ++number) {
        block -= arrays.chunks[number];
        chunk_sums += arrays.chunks[number];
    }
    const VALUE* const values = arrays.values[number];
    const i64 chunks = arrays.chunks[number];
    const double own =
        sum_of_chunk(block, arrays.counts[number], [=](i64 i) { return magnitude(widened(values[i])) * scale; });
    if (threadIdx.x == 0) chunk_sums[block] = own;
    if (!is_last_block(arrived + number, chunks)) return;
    for (i64 count = chunks; count > 1; count = (count + CHUNK - 1) / CHUNK)
        for (i64 chunk = 0; chunk * CHUNK < count; ++chunk) {
            // In place: this chunk begins at or after the place of its sum.
            const double sum = sum_of_chunk(chunk, count, [=](i64 i) { return __ldcg(chunk_sums + i); });
            if (threadIdx.x == 0) chunk_sums[chunk] = sum;
            __syncthreads();
        }
    if (threadIdx.x == 0) sums[number] = chunk_sums[0];
}
