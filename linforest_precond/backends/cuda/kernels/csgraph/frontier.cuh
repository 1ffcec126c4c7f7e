// What the traversals share that go level by level in one cooperative launch: the items of a front, and blocks that
// meet. WIDTH lanes work on an item.

// A piece of a row with at most WIDTH entries, and the position of the vertex it belongs to; `length` carries a flag.
struct __align__(16) Item {
    i64 begin;
    int position;
    u32 length;
};
#define DEFERRED 0x80000000u

// Items pass from block to block, through L2.
__device__ __forceinline__ Item load_item(const Item* items) {
    const longlong2 words = __ldcg((const longlong2*)items);
    return {words.x, (int)(u32)words.y, (u32)((u64)words.y >> 32)};
}
__device__ __forceinline__ void store_item(Item* place, i64 begin, int position, u32 length) {
    longlong2 words;
    words.x = begin;
    words.y = (i64)((u64)length << 32 | (u32)position);
    __stcg((longlong2*)place, words);
}

// The item number `piece` of a row.
__device__ __forceinline__ void store_piece(Item* first, u32 piece, i64 begin, i64 length, int position, u32 flag) {
    const i64 done = (i64)piece * WIDTH;
    store_item(first + piece, begin + done, position, (u32)min((i64)WIDTH, length - done) | flag);
}
__device__ __forceinline__ u32 pieces(i64 length) { return (u32)((length + WIDTH - 1) / WIDTH); }

// What all blocks know of a level: its items, the positions given so far, its number, and how often blocks have met.
struct Level {
    u32 items;
    int placed;
    u32 number, meetings;
};

// A block's share of `count` items.
__device__ __forceinline__ u32 share_begin(u32 count, u32 block, u32 blocks) {
    return (u32)((u64)count * block / blocks);
}

// A word that is its own flag: the time in the upper half tells whether the number below is the one waited for.
__device__ __forceinline__ void tell(u64* word, u32 time, u32 number) {
    *(volatile u64*)word = (u64)time << 32 | number;
}
__device__ __forceinline__ u32 hear(const u64* word, u32 time) {
    for (;;) {
        const u64 seen = *(const volatile u64*)word;
        if ((u32)(seen >> 32) == time) return (u32)seen;
        __nanosleep(20);
    }
}

__device__ __forceinline__ u32 warp_sum32(u32 value) {
    for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
    return value;
}

// Vertices that were found, children, and the items of their rows, counted side by side.
#define CHILD (1ull << 32)

__device__ __forceinline__ u32 children_of(u64 counts) { return (u32)(counts >> 32); }
__device__ __forceinline__ u32 items_of(u64 counts) { return (u32)counts; }

// The counts of the lanes before this one and, for all lanes, of the warp.
__device__ __forceinline__ u64 counts_before(u64 counts, u64& total) {
    const u32 lane = threadIdx.x % 32;
    if (!__any_sync(FULL_WARP, items_of(counts) > 1 || children_of(counts) > 1)) {
        const u32 children = __ballot_sync(FULL_WARP, counts != 0),
                  items = __ballot_sync(FULL_WARP, items_of(counts) != 0);
        const u32 lower = (1u << lane) - 1;
        total = (u64)__popc(children) << 32 | __popc(items);
        return (u64)__popc(children & lower) << 32 | __popc(items & lower);
    }
    u64 sum = counts;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    total = __shfl_sync(FULL_WARP, sum, 31);
    return sum - counts;
}

// A level's sums, in shared memory: of each warp and before it, of all blocks together, and whether rows are deferred.
struct Sums {
    u64 warps[32], before[32];
    u64 level;
    u32 deferred;
};

// By the first warp: `base` and the warps before each warp; returns the block's sum.
__device__ __forceinline__ u64 sum_warps(Sums& sums, u64 base) {
    const u32 lane = threadIdx.x;
    const u64 own = lane < blockDim.x / 32 ? sums.warps[lane] : 0;
    u64 sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    sums.before[lane] = base + sum - own;
    return __shfl_sync(FULL_WARP, sum, 31);
}

// A hint: the line will be read soon.
__device__ __forceinline__ void prefetch(const void* place) { asm volatile("prefetch.global.L1 [%0];" ::"l"(place)); }

// Waits for all blocks and returns the sum of their numbers; thread 0 gives its block's. What blocks wrote before is
// visible to all after. A block has two words, used in turn: one that is ahead by a meeting overwrites nothing that
// others still wait for. Times are never 0.
__device__ __forceinline__ u32 meet(u64* words, u32& meetings, u32 number) {
    __shared__ u32 total;
    ++meetings;
    __syncthreads();
    if (threadIdx.x < 32) {
        u64* const round = words + meetings % 2 * gridDim.x;
        if (threadIdx.x == 0) {
            __threadfence();
            tell(round + blockIdx.x, meetings, number);
        }
        u32 sum = 0;
        for (u32 block = threadIdx.x; block < gridDim.x; block += 32) sum += hear(round + block, meetings);
        __threadfence();
        sum = warp_sum32(sum);
        if (threadIdx.x == 0) total = sum;
    }
    __syncthreads();
    return total;
}

// The first block goes on alone on narrow fronts, while the others sleep; then it hands the level over to them.
struct HandOver {
    u32 turn;
    Level level;
};

__device__ __forceinline__ void hand_over(HandOver* word, const Level& level, u32 turn) {
    __syncthreads();
    if (threadIdx.x) return;
    volatile u32* const fields = (volatile u32*)&word->level;
    fields[0] = level.items;
    fields[1] = (u32)level.placed;
    fields[2] = level.number;
    __threadfence();
    *(volatile u32*)&word->turn = turn;
}

__device__ __forceinline__ void take_over(const HandOver* word, Level& level, u32 turn) {
    __shared__ u32 taken[3];
    __syncthreads();
    if (threadIdx.x == 0) {
        while (*(const volatile u32*)&word->turn != turn) __nanosleep(200);
        __threadfence();
        for (int i = 0; i < 3; ++i) taken[i] = ((const volatile u32*)&word->level)[i];
    }
    __syncthreads();
    level.items = taken[0];
    level.placed = (int)taken[1];
    level.number = taken[2];
}

// When the first block is alone: fronts of at most `narrow` items; it keeps them up to `wide` items.
struct Widths {
    u32 narrow, wide;
};

// Goes through all levels: `advance(level, blocks, block)` makes the next one of one level.
template <typename Advance>
__device__ __forceinline__ void traverse_levels(Level& level, const Widths& widths, HandOver* word, Advance advance) {
    u32 turn = 0;
    bool alone = false;
    while (level.items) {
        if (!alone && level.items <= widths.narrow) {
            alone = blockIdx.x == 0;
            ++turn;
            if (!alone) {
                take_over(word, level, turn);
                continue;
            }
        }
        advance(level, alone ? 1u : gridDim.x, blockIdx.x);
        if (alone && (!level.items || level.items > widths.wide)) {
            hand_over(word, level, turn);
            alone = false;
        }
    }
}
