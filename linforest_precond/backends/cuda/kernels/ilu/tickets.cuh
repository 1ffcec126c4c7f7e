// Dataflow without barriers (Liu et al., "A synchronization-free algorithm for parallel sparse triangular solves",
// Euro-Par 2016): a warp polls what it needs. Work items are numbered so that each depends on lower numbers alone, and
// warps take them in this order: those that a warp polls for are done or running, so the lowest always proceeds.

// The next number of a counter that starts at 0, for the whole warp.
DEVICE i64 next_ticket(u32* counter) {
    u32 ticket = 0;
    if (threadIdx.x % 32 == 0) ticket = atomicAdd(counter, 1u);
    return (i64)__shfl_sync(FULL_WARP, ticket, 0);
}

// Nanoseconds between two polls.
#define PAUSE 20
