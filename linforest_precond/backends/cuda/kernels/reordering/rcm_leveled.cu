#include "csgraph/sorted_neighbors.cuh"
#include "csgraph/frontier.cuh"

// The neighbours of rows longer than this are marked by all blocks together, in an extra pass.
#define DEFER 1024

struct Traversal {
    const Span* spans;
    const u32* neighbours;
    const int* starts;
    // The lowest position of a numbered neighbour so far; -1 for the starts.
    int *marks, *order;
    // The items of frontiers of even and of odd depth.
    Item *even, *odd;
    // Two words per block for the scan over blocks, two for the grid-wide sums.
    u64 *totals, *sum_words;
    Handoff* handoff;
    int start_count;
};

DEVICE Item* items_at(const Traversal& t, u32 depth) { return depth % 2 ? t.odd : t.even; }

// A child that this lane has found: its neighbour word and its row.
struct Child {
    u32 word;
    Span span;
};

// The items of depth 0 are pieces of the list of starts.
DEVICE u32 start_word(const Traversal& t, u32 item) {
    const i64 place = (i64)item * WIDTH + threadIdx.x % WIDTH;
    if (place >= t.start_count) return EMPTY;
    const u32 start = (u32)t.starts[place];
    return with_flags(start, load_span(t.spans, start).length) & ~LEAF;
}

// The children of a position are its neighbours with its mark.
DEVICE u32 child_word(const Traversal& t, const Frontier& frontier, u32 item) {
    if (frontier.depth == 0) return start_word(t, item);
    const Item piece = load_item(items_at(t, frontier.depth) + item);
    const u32 lane = threadIdx.x % WIDTH;
    if (lane >= (piece.length & ~DEFERRED)) return EMPTY;
    const u32 word = __ldg(t.neighbours + piece.begin + lane);
    return __ldcg(t.marks + (word & VERTEX)) == piece.position ? word : EMPTY;
}

DEVICE Child find_child(const Traversal& t, const Frontier& frontier, u32 item, u32 end) {
    Child child = {EMPTY, {0, 0}};
    if (item < end) child.word = child_word(t, frontier, item);
    if (child.word != EMPTY) child.span = load_span(t.spans, child.word & VERTEX);
    return child;
}

DEVICE bool is_long(const Child& child) { return child.word != EMPTY && child.word & LONG; }
// Rows that need an item and fit into one. A leaf needs none: its only neighbour is its parent.
DEVICE bool is_short(const Child& child) { return !(child.word & (LONG | LEAF)); }

DEVICE u64 counts_of(const Child& child) {
    if (child.word == EMPTY) return 0;
    if (is_long(child)) return CHILD + pieces(child.span.length);
    return is_short(child) ? CHILD + 1 : CHILD;
}

// Exclusive scan over the blocks, by the first warp: publishes this block's counts and adds up those of the lower
// blocks. The storage gets the total of all blocks and whether any block has deferred rows.
DEVICE u64 scan_blocks(const Traversal& t, const Frontier& frontier, ScanStorage& scan, u64 own) {
    const u32 stamp = frontier.depth + 1, lane = threadIdx.x, flag = scan.deferred ? DEFERRED : 0;
    if (lane < 2) publish(t.totals + 2 * blockIdx.x + lane, stamp, lane ? items_of(own) : children_of(own) | flag);
    u64 before = 0, all = 0;
    bool deferred = false;
    for (u32 block = lane; block < gridDim.x; block += 32) {
        const u32 children = wait_for(t.totals + 2 * block, stamp), items = wait_for(t.totals + 2 * block + 1, stamp);
        const u64 sum = (u64)(children & ~DEFERRED) << 32 | items;
        all += sum;
        if (block < blockIdx.x) before += sum;
        deferred |= children & DEFERRED;
    }
    before = warp_sum(before);
    all = warp_sum(all);
    deferred = __any_sync(FULL_WARP, deferred);
    __syncwarp();  // all lanes have read the flag before it is overwritten
    if (lane == 0) {
        scan.total = all;
        scan.deferred = deferred;
    }
    return before;
}

DEVICE void mark(const Traversal& t, i64 place, int position) {
    atomicMin(t.marks + (__ldg(t.neighbours + place) & VERTEX), position);
}

// Stores a warp's children at their positions, marks their neighbours and stores their items. Rows of at most WIDTH
// entries are marked by WIDTH lanes each, longer ones by the warp.
DEVICE void place_children(const Traversal& t, const Frontier& frontier, const Child& child, u64 counts) {
    const u32 lane = threadIdx.x % WIDTH;
    const int position = frontier.placed + (int)children_of(counts);
    Item* const items = items_at(t, frontier.depth + 1) + items_of(counts);
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

// Marks the neighbours of the deferred rows, WIDTH lanes per item.
DEVICE void mark_deferred(const Traversal& t, const Frontier& next, u32 blocks, u32 block) {
    const u32 end = share_begin(next.items, block + 1, blocks), lane = threadIdx.x % WIDTH;
    for (u32 item = share_begin(next.items, block, blocks) + threadIdx.x / WIDTH; item < end;
         item += blockDim.x / WIDTH) {
        const Item piece = load_item(items_at(t, next.depth) + item);
        if (piece.length & DEFERRED && lane < (piece.length & ~DEFERRED)) mark(t, piece.begin + lane, piece.position);
    }
}

// Replaces the frontier by the next one. The marks of this frontier are complete, and those for the next are above
// them, so a block may set these while another block is still searching for children.
DEVICE void expand(const Traversal& t, ScanStorage& scan, Frontier& frontier, u32 blocks, u32 block) {
    const u32 first = share_begin(frontier.items, block, blocks), end = share_begin(frontier.items, block + 1, blocks);
    const u32 step = blockDim.x / WIDTH, warp = threadIdx.x / 32, slot = threadIdx.x / WIDTH;
    const bool at_once = end - first <= step;

    if (threadIdx.x == 0) scan.deferred = 0;
    Child child = {EMPTY, {0, 0}};
    u64 counts = 0;
    bool deferred = false;
    for (u32 base = first; base < end; base += step) {
        child = find_child(t, frontier, base + slot, end);
        counts += counts_of(child);
        deferred |= is_long(child) && child.span.length > DEFER;
    }
    u64 warp_total;
    u64 before = warp_scan(counts, warp_total);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scan.warps[warp] = warp_total;
    if (deferred) scan.deferred = 1;
    __syncthreads();
    // Overlaps the scan over the blocks with the loads of the next rows.
    if (at_once && is_short(child)) prefetch(t.neighbours + child.span.begin);
    if (warp == 0) {
        const u64 own = scan_warps(scan, 0);
        u64 base = 0;
        if (blocks > 1) base = scan_blocks(t, frontier, scan, own);
        else if (threadIdx.x == 0) scan.total = own;
        scan.before[threadIdx.x] += base;
    }
    __syncthreads();

    const u64 total = scan.total;
    const bool any_deferred = scan.deferred;
    if (at_once) {
        place_children(t, frontier, child, scan.before[warp] + before);
    } else {
        u64 base = scan.before[0];
        for (u32 begin = first; begin < end; begin += step) {
            child = find_child(t, frontier, begin + slot, end);
            before = warp_scan(counts_of(child), warp_total);
            __syncthreads();
            if (threadIdx.x % 32 == 0) scan.warps[warp] = warp_total;
            __syncthreads();
            if (warp == 0) scan_warps(scan, base);
            __syncthreads();
            place_children(t, frontier, child, scan.before[warp] + before);
            base = scan.before[blockDim.x / 32 - 1] + scan.warps[blockDim.x / 32 - 1];
        }
    }
    frontier.items = items_of(total);
    frontier.placed += (int)children_of(total);
    ++frontier.depth;
    if (blocks > 1) grid_sum(t.sum_words, frontier.sums, 0);
    else __syncthreads();
    if (!any_deferred) return;
    mark_deferred(t, frontier, blocks, block);
    if (blocks > 1) grid_sum(t.sum_words, frontier.sums, 0);
    else __syncthreads();
}

// Level-synchronous Cuthill-McKee order from all starts at once, in one cooperative launch: each frontier appends its
// vertices' children, position by position, in the order of the sorted rows.
KERNEL __launch_bounds__(1024) traverse(Traversal t, SingleBlockLimits limits) {
    __shared__ ScanStorage scan;
    Frontier frontier = {pieces(t.start_count), 0, 0, 0};
    traverse_frontiers(frontier, limits, t.handoff,
                       [&](Frontier& now, u32 blocks, u32 block) { expand(t, scan, now, blocks, block); });
}
