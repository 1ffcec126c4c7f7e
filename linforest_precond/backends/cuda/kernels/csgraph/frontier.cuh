// Level-synchronous traversals in one cooperative launch: the work items of a frontier, a grid-wide sum as the barrier,
// and a single-block mode for narrow frontiers. WIDTH lanes process an item.

// A piece of at most WIDTH entries of a row, and the position (or the index) of its vertex; `length` may carry a flag.
struct __align__(16) Item {
    i64 begin;
    int position;
    u32 length;
};
#define DEFERRED 0x80000000u

// Blocks exchange items through L2.
DEVICE Item load_item(const Item* items) {
    const longlong2 words = __ldcg((const longlong2*)items);
    return {words.x, (int)(u32)words.y, (u32)((u64)words.y >> 32)};
}
DEVICE void store_item(Item* place, i64 begin, int position, u32 length) {
    longlong2 words;
    words.x = begin;
    words.y = (i64)((u64)length << 32 | (u32)position);
    __stcg((longlong2*)place, words);
}

// Stores item number `piece` of a row.
DEVICE void store_piece(Item* first, u32 piece, i64 begin, i64 length, int position, u32 flag) {
    const i64 offset = (i64)piece * WIDTH;
    store_item(first + piece, begin + offset, position, (u32)min((i64)WIDTH, length - offset) | flag);
}
DEVICE u32 pieces(i64 length) { return (u32)((length + WIDTH - 1) / WIDTH); }

// The current frontier, as all blocks know it: its number of items, the items queued before it (breadth-first search)
// or the positions assigned so far (Cuthill-McKee), the depth that its children get, and the number of grid-wide sums.
// The first one is the list of sources, in items of WIDTH, whose "children" they are.
struct Frontier {
    u32 items;
    int placed;
    u32 depth, sums;
};

// Where a block's share of `count` items begins.
DEVICE u32 share_begin(u32 count, u32 block, u32 blocks) { return (u32)((u64)count * block / blocks); }

// A value with a stamp in the upper half of its word: one 64-bit store publishes both, one load sees both.
DEVICE void publish(u64* word, u32 stamp, u32 value) { *(volatile u64*)word = (u64)stamp << 32 | value; }
DEVICE u32 wait_for(const u64* word, u32 stamp) {
    for (;;) {
        const u64 seen = *(const volatile u64*)word;
        if ((u32)(seen >> 32) == stamp) return (u32)seen;
        __nanosleep(20);
    }
}

DEVICE u32 warp_sum32(u32 value) {
    for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
    return value;
}

// Two counts in one word, so that one scan adds both: children (newly found vertices) in the upper half, the items of
// their rows in the lower.
#define CHILD (1ull << 32)

DEVICE u32 children_of(u64 counts) { return (u32)(counts >> 32); }
DEVICE u32 items_of(u64 counts) { return (u32)counts; }

// Exclusive scan of the counts over a warp; `total` is the warp's sum. Ballots suffice where no count exceeds one.
DEVICE u64 warp_scan(u64 counts, u64& total) {
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

// Shared memory of a block's scan: the sum of each warp and its exclusive prefix, the total of all blocks, and whether
// the marks of any row are deferred.
struct ScanStorage {
    u64 warps[32], before[32];
    u64 total;
    u32 deferred;
};

// Exclusive scan of the warps' sums, starting at `base`; by the first warp. Returns the block's sum.
DEVICE u64 scan_warps(ScanStorage& scan, u64 base) {
    const u32 lane = threadIdx.x;
    const u64 own = lane < blockDim.x / 32 ? scan.warps[lane] : 0;
    u64 sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    scan.before[lane] = base + sum - own;
    return __shfl_sync(FULL_WARP, sum, 31);
}

DEVICE void prefetch(const void* place) { asm volatile("prefetch.global.L1 [%0];" ::"l"(place)); }

// A grid barrier that also sums one value per block, given by its thread 0. Writes before it are visible to all blocks
// after it. The words are double-buffered: a block that is one sum ahead does not overwrite a word others still poll.
// Stamps start at 1, so zeroed memory is no published value.
DEVICE u32 grid_sum(u64* words, u32& sums, u32 value) {
    __shared__ u32 total;
    ++sums;
    __syncthreads();
    if (threadIdx.x < 32) {
        u64* const buffer = words + sums % 2 * gridDim.x;
        if (threadIdx.x == 0) {
            __threadfence();
            publish(buffer + blockIdx.x, sums, value);
        }
        u32 sum = 0;
        for (u32 block = threadIdx.x; block < gridDim.x; block += 32) sum += wait_for(buffer + block, sums);
        __threadfence();
        sum = warp_sum32(sum);
        if (threadIdx.x == 0) total = sum;
    }
    __syncthreads();
    return total;
}

// Single-block mode: block 0 alone expands narrow frontiers, without grid barriers, while the others sleep. Then it
// passes the frontier on to them. `phase` counts these phases.
struct Handoff {
    u32 phase;
    Frontier frontier;
};

DEVICE void resume_grid(Handoff* handoff, const Frontier& frontier, u32 phase) {
    __syncthreads();
    if (threadIdx.x) return;
    volatile u32* const fields = (volatile u32*)&handoff->frontier;
    fields[0] = frontier.items;
    fields[1] = (u32)frontier.placed;
    fields[2] = frontier.depth;
    __threadfence();
    *(volatile u32*)&handoff->phase = phase;
}

DEVICE void sleep_until_resumed(const Handoff* handoff, Frontier& frontier, u32 phase) {
    __shared__ u32 fields[3];
    __syncthreads();
    if (threadIdx.x == 0) {
        while (*(const volatile u32*)&handoff->phase != phase) __nanosleep(200);
        __threadfence();
        for (int i = 0; i < 3; ++i) fields[i] = ((const volatile u32*)&handoff->frontier)[i];
    }
    __syncthreads();
    frontier.items = fields[0];
    frontier.placed = (int)fields[1];
    frontier.depth = fields[2];
}

// Single-block mode begins at frontiers of at most `narrow` items and ends above `wide` items (hysteresis).
struct SingleBlockLimits {
    u32 narrow, wide;
};

// Expands frontiers until one is empty: `expand(frontier, blocks, block)` replaces a frontier by the next one.
template <typename Expand>
DEVICE void traverse_frontiers(Frontier& frontier, const SingleBlockLimits& limits, Handoff* handoff, Expand expand) {
    u32 phase = 0;
    bool alone = false;
    while (frontier.items) {
        if (!alone && frontier.items <= limits.narrow) {
            alone = blockIdx.x == 0;
            ++phase;
            if (!alone) {
                sleep_until_resumed(handoff, frontier, phase);
                continue;
            }
        }
        expand(frontier, alone ? 1u : gridDim.x, blockIdx.x);
        if (alone && (!frontier.items || frontier.items > limits.wide)) {
            resume_grid(handoff, frontier, phase);
            alone = false;
        }
    }
}
