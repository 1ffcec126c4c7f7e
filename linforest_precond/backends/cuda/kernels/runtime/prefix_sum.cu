#include "runtime/common.cuh"
#include "runtime/look_back.cuh"

// Threads of a block, and the consecutive numbers that each takes.
#define THREADS 256
#define AT_A_TIME 16

// Replaces numbers by their inclusive prefix sums, in one launch with a block per tile. `words` are the number of tiles
// taken, and the state of each tile for the look-back; zero at first.
extern "C" __global__ void __launch_bounds__(THREADS) add_up(INDEX* numbers, i64 count, u64* words) {
    __shared__ u64 tile, own_total, before_tile;
    if (threadIdx.x == 0) tile = atomicAdd(words, 1ull);
    __syncthreads();
    const i64 first = ((i64)tile * THREADS + threadIdx.x) * AT_A_TIME;
    u64 sums[AT_A_TIME], sum = 0;
#pragma unroll
    for (int i = 0; i < AT_A_TIME; ++i) {
        if (first + i < count) sum += numbers[first + i];
        sums[i] = sum;
    }
    const u64 before = block_exclusive_sum(sum, &own_total);
    __syncthreads();
    if (threadIdx.x < 32) {
        const u64 found = look_back(words + 1, (i64)tile, own_total);
        if (threadIdx.x == 0) before_tile = found;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < AT_A_TIME; ++i)
        if (first + i < count) numbers[first + i] = (INDEX)(before_tile + before + sums[i]);
}
