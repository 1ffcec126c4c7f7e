// Synchronization and timing of all blocks of a grid.

// The global timer of the device.
__device__ __forceinline__ u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Grid barrier of a cooperative launch, by a central counter: `arrivals` starts at zero and belongs to this launch
// alone, `generation` counts the barriers passed. Writes before the barrier are visible to all blocks after it.
__device__ __forceinline__ void grid_barrier(u32* arrivals, u32& generation) {
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
