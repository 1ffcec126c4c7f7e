// Summation in a tree of fixed shape, the same bits as in the CPU backend (matrix/sums.py): a chunk of 2048 values is
// distributed cyclically to 256 lanes; a lane adds its eight values in order, then halves of the lanes are added.
#define CHUNK 2048
#define LANES 256

// Block reduction of COUNT values per thread; a block has 256 threads. The first thread of warp i gets the i-th sum.
// `lanes` is shared memory for COUNT times 256 doubles; the caller synchronizes the block between two uses of it.
template <int COUNT>
DEVICE double fold_lanes(const double (&values)[COUNT], double* lanes) {
    const int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) lanes[LANES * i + t] = values[i];
    __syncthreads();
    if (t >= 32 * COUNT) return 0.0;
    const double* own = lanes + t / 32 * LANES + t % 32;
    const double quarter0 = (own[0] + own[128]) + (own[64] + own[192]);
    const double quarter1 = (own[32] + own[160]) + (own[96] + own[224]);
    double sum = quarter0 + quarter1;
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(FULL_WARP, sum, half);
    return sum;
}

// The sums of both rows of at most CHUNK values, chunk sums that other blocks have written, by one block.
DEVICE void add_chunks(const double* chunk_sums, i64 chunks, u64* totals) {
    __shared__ double lanes[2 * LANES];
    const int t = threadIdx.x;
    double sums[2] = {0.0, 0.0};
    for (int j = t; j < CHUNK; j += LANES) {
        if (j >= chunks) break;
        sums[0] += fabs(__ldcg(chunk_sums + j));
        sums[1] += fabs(__ldcg(chunk_sums + chunks + j));
    }
    const double sum = fold_lanes(sums, lanes);
    if (t % 32 == 0 && t < 64) totals[t / 32] = (u64)__double_as_longlong(sum);
}
