// What kernels that merge rows into those of a coarser matrix share.

// Threads of a block.
#define THREADS 256

// Sorts words in shared memory, as many as a power of two, by the whole block.
__device__ __forceinline__ void sort_words(u64* words, int count) {
    for (int size = 2; size <= count; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int i = threadIdx.x; i < count / 2; i += THREADS) {
                const int low = 2 * i - (i & (stride - 1)), high = low + stride;
                const u64 a = words[low], b = words[high];
                if ((a > b) == !(low & size)) {
                    words[low] = b;
                    words[high] = a;
                }
            }
            __syncthreads();
        }
}

// A tile's post for the tiles after it: the number of its own entries, later of all entries up to its end.
#define OWN (1ull << 62)
#define ALL (1ull << 63)

// The entries of all tiles before this one, found by the first warp from their posts, which are zero at first.
// Tiles are taken in turn, so those before this one are done or under way.
__device__ __forceinline__ u64 entries_before(u64* posts, i64 tile, u64 own) {
    const int lane = threadIdx.x;
    u64 before = 0;
    bool known = tile == 0;
    if (lane == 0) atomicExch(posts + tile, own | (known ? ALL : OWN));
    for (i64 last = tile - 1; !known; last -= 32) {
        u64 post = ALL;  // as good as a tile before the first
        if (last >= lane)
            while (!(post = *(volatile u64*)(posts + (last - lane)))) __nanosleep(20);
        const u32 knowing = __ballot_sync(FULL_WARP, (post & ALL) != 0);
        known = knowing != 0;
        const int nearest = known ? __ffs(knowing) - 1 : 31;
        before += warp_sum(lane <= nearest ? post & (OWN - 1) : 0);
    }
    if (lane == 0 && tile > 0) atomicExch(posts + tile, (before + own) | ALL);
    return before;
}
