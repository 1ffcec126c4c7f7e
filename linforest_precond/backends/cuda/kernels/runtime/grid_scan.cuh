// Prefix sums by all blocks of a cooperative launch.

// Calls take(item, before, own) for all items, where `own` is count(item) and `before` the sum over the items before it.
// Each block takes a run of consecutive items: it adds up its own, then, after a grid barrier, the totals of the blocks
// before it. A thread calls count(item) twice before it takes the item, and no other thread does. `totals` has a word for
// each block of the grid; all threads of all blocks must call it.
template <typename Count, typename Take>
DEVICE void grid_scan(i64 items, u64* totals, u32* barrier, u32& generation, Count count, Take take) {
    __shared__ u64 total;
    const i64 run = (items + gridDim.x - 1) / gridDim.x;
    const i64 first = min((i64)blockIdx.x * run, items), end = min(first + run, items);
    u64 own = 0;
    for (i64 i = first + threadIdx.x; i < end; i += blockDim.x) own += count(i);
    block_exclusive_sum(own, &total);
    __syncthreads();
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
    grid_barrier(barrier, generation);
    u64 before = 0;
    for (i64 block = threadIdx.x; block < blockIdx.x; block += blockDim.x) before += totals[block];
    block_exclusive_sum(before, &total);
    __syncthreads();
    u64 sum = total;
    for (i64 base = first; base < end; base += blockDim.x) {
        const i64 i = base + threadIdx.x;
        const u64 value = i < end ? count(i) : 0;
        const u64 place = sum + block_exclusive_sum(value, &total);
        if (i < end) take(i, place, value);
        __syncthreads();
        sum += total;
    }
}
