#include "runtime/look_back.cuh"

// Threads of a block, and the consecutive numbers that each takes.
#define THREADS 256
#define AT_A_TIME 16

// The inclusive prefix sums of numbers, which may be replaced by them, in one launch with a block per tile. `words` are
// the number of tiles taken, and the state of each tile for the look-back; zero at first.
KERNEL __launch_bounds__(THREADS) add_up(const INDEX* numbers, i64 count, INDEX* sums, u64* words) {
    // A word of padding after those of a thread: no bank conflicts.
    __shared__ INDEX staged[THREADS * (AT_A_TIME + 1)];
    __shared__ u64 tile, own_total, before_tile;
    const int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(words, 1ull);
    __syncthreads();
    const i64 first = (i64)tile * THREADS * AT_A_TIME;
#pragma unroll
    for (int i = t; i < THREADS * AT_A_TIME; i += THREADS)
        staged[i + i / AT_A_TIME] = first + i < count ? numbers[first + i] : 0;
    __syncthreads();
    INDEX* const own = staged + t * (AT_A_TIME + 1);
    u64 sum = 0;
#pragma unroll
    for (int i = 0; i < AT_A_TIME; ++i) sum += own[i];
    const u64 before = block_exclusive_sum(sum, &own_total);
    __syncthreads();
    if (t < 32) {
        const u64 found = look_back(words + 1, (i64)tile, own_total);
        if (t == 0) before_tile = found;
    }
    __syncthreads();
    sum = before_tile + before;
#pragma unroll
    for (int i = 0; i < AT_A_TIME; ++i) own[i] = (INDEX)(sum += own[i]);
    __syncthreads();
#pragma unroll
    for (int i = t; i < THREADS * AT_A_TIME; i += THREADS)
        if (first + i < count) sums[first + i] = staged[i + i / AT_A_TIME];
}
