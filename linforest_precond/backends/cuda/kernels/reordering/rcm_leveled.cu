#include "runtime/common.cuh"
#include "csgraph/sorted_neighbors.cuh"
#include "csgraph/frontier.cuh"

// Rows longer than this are marked by all blocks together, after a meeting of their own.
#define DEFER 1024

struct Traversal {
    const Span* spans;
    const u32* neighbours;
    const int* starts;
    // The lowest position of a parent so far; -1 for the starts.
    int* marks;
    int* order;
    // The items of the levels with even and with odd numbers.
    Item *even, *odd;
    // Two words a block for the totals, two for the meetings.
    u64* totals;
    u64* meetings;
    HandOver* hand_over;
    int start_count;
};

__device__ __forceinline__ Item* items_at(const Traversal& t, u32 level) { return level % 2 ? t.odd : t.even; }

// A child that this lane has found: its word among the neighbours and its own row.
struct Child {
    u32 word;
    Span span;
};

// The items of level 0 are pieces of the list of starts.
__device__ __forceinline__ u32 start_word(const Traversal& t, u32 item) {
    const i64 place = (i64)item * WIDTH + threadIdx.x % WIDTH;
    if (place >= t.start_count) return EMPTY;
    const u32 start = (u32)t.starts[place];
    return with_flags(start, load_span(t.spans, start).length) & ~LEAF;
}

// The children of a parent are the neighbours whose lowest parent it is.
__device__ __forceinline__ u32 child_word(const Traversal& t, const Level& level, u32 item) {
    if (level.number == 0) return start_word(t, item);
    const Item piece = load_item(items_at(t, level.number) + item);
    const u32 lane = threadIdx.x % WIDTH;
    if (lane >= (piece.length & ~DEFERRED)) return EMPTY;
    const u32 word = __ldg(t.neighbours + piece.begin + lane);
    return __ldcg(t.marks + (word & VERTEX)) == piece.position ? word : EMPTY;
}

__device__ __forceinline__ Child find_child(const Traversal& t, const Level& level, u32 item, u32 end) {
    Child child = {EMPTY, {0, 0}};
    if (item < end) child.word = child_word(t, level, item);
    if (child.word != EMPTY) child.span = load_span(t.spans, child.word & VERTEX);
    return child;
}

__device__ __forceinline__ bool is_long(const Child& child) { return child.word != EMPTY && child.word & LONG; }
// The only neighbour of a leaf is its parent: nothing comes of it.
__device__ __forceinline__ bool is_short(const Child& child) { return !(child.word & (LONG | LEAF)); }

__device__ __forceinline__ u64 counts_of(const Child& child) {
    if (child.word == EMPTY) return 0;
    if (is_long(child)) return CHILD + pieces(child.span.length);
    return is_short(child) ? CHILD + 1 : CHILD;
}

// By the first warp: tells the other blocks this block's sum, and adds up theirs. Returns that of the lower blocks.
__device__ __forceinline__ u64 exchange(const Traversal& t, const Level& level, Sums& sums, u64 own) {
    const u32 time = level.number + 1, lane = threadIdx.x, flag = sums.deferred ? DEFERRED : 0;
    if (lane < 2) tell(t.totals + 2 * blockIdx.x + lane, time, lane ? items_of(own) : children_of(own) | flag);
    u64 before = 0, all = 0;
    bool deferred = false;
    for (u32 block = lane; block < gridDim.x; block += 32) {
        const u32 children = hear(t.totals + 2 * block, time), items = hear(t.totals + 2 * block + 1, time);
        const u64 sum = (u64)(children & ~DEFERRED) << 32 | items;
        all += sum;
        if (block < blockIdx.x) before += sum;
        deferred |= children & DEFERRED;
    }
    before = warp_sum(before);
    all = warp_sum(all);
    deferred = __any_sync(FULL_WARP, deferred);
    __syncwarp();  // all lanes have read the flag
    if (lane == 0) {
        sums.level = all;
        sums.deferred = deferred;
    }
    return before;
}

__device__ __forceinline__ void mark(const Traversal& t, i64 place, int position) {
    atomicMin(t.marks + (__ldg(t.neighbours + place) & VERTEX), position);
}

// Gives the children of a warp their positions, marks their neighbours and lists their items. Rows of at most WIDTH
// entries are marked by a group of lanes each, longer ones by the warp.
__device__ __forceinline__ void place_children(const Traversal& t, const Level& level, const Child& child, u64 counts) {
    const u32 lane = threadIdx.x % WIDTH;
    const int position = level.placed + (int)children_of(counts);
    Item* const items = items_at(t, level.number + 1) + items_of(counts);
    if (child.word != EMPTY) t.order[position] = (int)(child.word & VERTEX);
    if (is_short(child)) store_item(items, child.span.begin, position, (u32)child.span.length);
    u32 group =
        __ballot_sync(FULL_WARP, is_short(child)) >> threadIdx.x % 32 / WIDTH * WIDTH & (0xffffffffu >> (32 - WIDTH));
    while (__any_sync(FULL_WARP, group)) {
        const int source = group ? __ffs(group) - 1 : 0;
        const INDEX begin = __shfl_sync(FULL_WARP, child.span.begin, source, WIDTH);
        const u32 length = __shfl_sync(FULL_WARP, (u32)child.span.length, source, WIDTH);
        const int own = __shfl_sync(FULL_WARP, position, source, WIDTH);
        if (group && lane < length) mark(t, (i64)begin + lane, own);
        group &= group - 1;
    }
    for (u32 left = __ballot_sync(FULL_WARP, is_long(child)); left; left &= left - 1) {
        const int source = __ffs(left) - 1;
        const i64 begin = __shfl_sync(FULL_WARP, child.span.begin, source),
                  length = __shfl_sync(FULL_WARP, child.span.length, source);
        const int own = __shfl_sync(FULL_WARP, position, source);
        Item* const first = (Item*)__shfl_sync(FULL_WARP, (u64)items, source);
        const u32 flag = length > DEFER ? DEFERRED : 0, count = pieces(length);
        for (u32 piece = threadIdx.x % 32; piece < count; piece += 32)
            store_piece(first, piece, begin, length, own, flag);
        if (!flag)
            for (i64 place = threadIdx.x % 32; place < length; place += 32) mark(t, begin + place, own);
    }
}

// The marks of the rows that were deferred, item by item.
__device__ __forceinline__ void mark_deferred(const Traversal& t, const Level& next, u32 blocks, u32 block) {
    const u32 end = share_begin(next.items, block + 1, blocks), lane = threadIdx.x % WIDTH;
    for (u32 item = share_begin(next.items, block, blocks) + threadIdx.x / WIDTH; item < end;
         item += blockDim.x / WIDTH) {
        const Item piece = load_item(items_at(t, next.number) + item);
        if (piece.length & DEFERRED && lane < (piece.length & ~DEFERRED)) mark(t, piece.begin + lane, piece.position);
    }
}

// From one level to the next. Marks of this level are complete, and those made for the next lie above them: so a block
// may go on to the next level's marks while another still looks for children.
__device__ __forceinline__ void advance(const Traversal& t, Sums& sums, Level& level, u32 blocks, u32 block) {
    const u32 first = share_begin(level.items, block, blocks), end = share_begin(level.items, block + 1, blocks);
    const u32 step = blockDim.x / WIDTH, warp = threadIdx.x / 32, slot = threadIdx.x / WIDTH;
    const bool at_once = end - first <= step;

    if (threadIdx.x == 0) sums.deferred = 0;
    Child child = {EMPTY, {0, 0}};
    u64 counts = 0;
    bool deferred = false;
    for (u32 base = first; base < end; base += step) {
        child = find_child(t, level, base + slot, end);
        counts += counts_of(child);
        deferred |= is_long(child) && child.span.length > DEFER;
    }
    u64 warp_total;
    u64 before = counts_before(counts, warp_total);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums.warps[warp] = warp_total;
    if (deferred) sums.deferred = 1;
    __syncthreads();
    // While the blocks exchange their sums, the rows that come next are on their way.
    if (at_once && is_short(child)) prefetch(t.neighbours + child.span.begin);
    if (warp == 0) {
        const u64 own = sum_warps(sums, 0);
        u64 base = 0;
        if (blocks > 1) base = exchange(t, level, sums, own);
        else if (threadIdx.x == 0) sums.level = own;
        sums.before[threadIdx.x] += base;
    }
    __syncthreads();

    const u64 total = sums.level;
    const bool any_deferred = sums.deferred;
    if (at_once) {
        place_children(t, level, child, sums.before[warp] + before);
    } else {
        u64 base = sums.before[0];
        for (u32 begin = first; begin < end; begin += step) {
            child = find_child(t, level, begin + slot, end);
            before = counts_before(counts_of(child), warp_total);
            __syncthreads();
            if (threadIdx.x % 32 == 0) sums.warps[warp] = warp_total;
            __syncthreads();
            if (warp == 0) sum_warps(sums, base);
            __syncthreads();
            place_children(t, level, child, sums.before[warp] + before);
            base = sums.before[blockDim.x / 32 - 1] + sums.warps[blockDim.x / 32 - 1];
        }
    }
    level.items = items_of(total);
    level.placed += (int)children_of(total);
    ++level.number;
    if (blocks > 1) meet(t.meetings, level.meetings, 0);
    else __syncthreads();
    if (!any_deferred) return;
    mark_deferred(t, level, blocks, block);
    if (blocks > 1) meet(t.meetings, level.meetings, 0);
    else __syncthreads();
}

// The order of Cuthill and McKee from all starts at once, level by level: the children of a level's vertices, in the
// order of these, each one's in the order of its row. A cooperative launch.
extern "C" __global__ void __launch_bounds__(1024) traverse(Traversal t, Widths widths) {
    __shared__ Sums sums;
    Level level = {pieces(t.start_count), 0, 0, 0};
    traverse_levels(level, widths, t.hand_over,
                    [&](Level& now, u32 blocks, u32 block) { advance(t, sums, now, blocks, block); });
}
