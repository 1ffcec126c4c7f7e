// Collective operations of warps and blocks: shuffles, reductions, scans, stream compaction.

// Warp shuffle: the value of another lane.
DEVICE float from_lane(float a, int lane) { return __shfl_sync(FULL_WARP, a, lane); }
DEVICE double from_lane(double a, int lane) { return __shfl_sync(FULL_WARP, a, lane); }
template <typename Complex>
DEVICE Complex from_lane(Complex a, int lane) {
    return {from_lane(a.re, lane), from_lane(a.im, lane)};
}

// Warp reduction (butterfly shuffles): every lane gets the sum.
DEVICE u64 warp_sum(u64 value) {
    for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
    return value;
}

// The same for the maximum.
template <typename T>
DEVICE T warp_max(T value) {
    for (int half = 16; half > 0; half /= 2) value = max(value, __shfl_xor_sync(FULL_WARP, value, half));
    return value;
}

// Block-wide exclusive scan: the sum of `value` over the threads before this one. The sum over all threads goes to
// *total, in shared memory. The caller synchronizes the block before it reads *total, and before the next call.
template <typename Sum, typename Value>
DEVICE Sum block_exclusive_sum(Value value, Sum* total) {
    __shared__ Sum warp_sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Sum sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const Sum other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    Sum before = sum - value;
    for (int i = 0; i < warp; ++i) before += warp_sums[i];
    if (threadIdx.x == blockDim.x - 1) *total = before + value;
    return before;
}

// Items per thread of append_places.
#define AT_ONCE 4

// Stream compaction, block-aggregated: reserves places at the end of a list of length *length for those of every
// thread's AT_ONCE items whose bits are set in `wanted`. The places are ordered by item, then by thread. One atomic
// operation for a block of at most 1024 threads; all of its threads must call it.
DEVICE void append_places(u32 wanted, u64* length, u64 (&places)[AT_ONCE]) {
    __shared__ u64 warp_counts[32];
    __shared__ u64 block_counts, first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // Four 16-bit counters in one word, one for each of the AT_ONCE items: a single scan serves all.
    const u64 own =
        (wanted & 1) | (u64)(wanted >> 1 & 1) << 16 | (u64)(wanted >> 2 & 1) << 32 | (u64)(wanted >> 3) << 48;
    u64 before = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, before, step);
        if (lane >= step) before += other;
    }
    if (lane == 31) warp_counts[warp] = before;
    before -= own;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 counts = 0;
        for (int i = 0; i < (int)blockDim.x / 32; ++i) {
            const u64 count = warp_counts[i];
            warp_counts[i] = counts;
            counts += count;
        }
        const u64 total = (counts & 0xffff) + (counts >> 16 & 0xffff) + (counts >> 32 & 0xffff) + (counts >> 48);
        block_counts = counts;
        first = total ? atomicAdd(length, total) : 0;
    }
    __syncthreads();
    before += warp_counts[warp];
    u64 place = first;
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
        places[i] = place + (before >> 16 * i & 0xffff);
        place += block_counts >> 16 * i & 0xffff;
    }
    __syncthreads();
}
