// Synchronization and timing of all blocks of a grid.

// The global timer of the device.
DEVICE u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Grid barrier of a cooperative launch, by a central counter: `arrivals` starts at zero and belongs to this launch
// alone, `generation` counts the barriers passed. Writes before the barrier are visible to all blocks after it.
DEVICE void grid_barrier(u32* arrivals, u32& generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrivals, 1u);
        const u32 target = ++generation * gridDim.x;
        // Correct when the counter wraps around, too.
        while ((int)(*(volatile u32*)arrivals - target) < 0) __nanosleep(32);
        __threadfence();
    }
    __syncthreads();
}

// Whether the other `blocks - 1` have arrived here before: what they have written is visible. `arrived` starts at zero.
// All threads of a block must call it.
DEVICE bool is_last_block(u64* arrived, i64 blocks) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(arrived, (u64)1) == (u64)blocks - 1;
    __syncthreads();
    return is_last;
}
