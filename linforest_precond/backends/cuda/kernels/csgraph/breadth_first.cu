#include "csgraph/sorted_neighbors.cuh"
#include "csgraph/frontier.cuh"

// Direction-optimizing breadth-first search (S. Beamer, K. Asanović, D. Patterson, SC 2012, doi:10.1109/SC.2012.50).
// Push: the vertices of the frontier visit their unvisited neighbours. Pull: every unvisited vertex searches its row
// for a parent in the frontier and stops at the first.
struct BreadthFirst {
    const Span* spans;
    const u32* neighbours;
    // Vertices to start from; negative ones are skipped.
    const int* sources;
    // -1 for unvisited vertices.
    int* depths;
    // The lowest predecessor of each vertex, as u32 above all vertices at first; null where it is not wanted.
    u32* parents;
    // The items of all frontiers, one after the other. Two tails: the queue's length, and how many items the first
    // passes of pulls have left to the second ones.
    Item* queue;
    u32* tails;
    u64* sum_words;
    Handoff* handoff;
    int source_count;
    // Rows of at most this many entries hold only the parent: 1 for a symmetric pattern without diagonal, else 0.
    int dead_end;
    int n;
    // The number of items of all rows; 0 for a pattern that is not symmetric, which cannot be pulled.
    u32 most_items;
};

// Beamer's parameters: pull where the frontier has more than 1/ALPHA of the unexplored items and more than 1/BETA of
// the vertices.
#define ALPHA 14
#define BETA 24
// Leading entries of a row that one thread searches in a pull; the rest is split into items.
#define LEADING 8

// What all blocks remember of pulls: the items of frontiers that were not queued, the items left to second passes so
// far, and whether the current frontier is queued.
struct PullState {
    u32 skipped, leftover;
    bool queued;
};

// The items that a vertex of a given depth adds to the next frontier.
DEVICE u32 items_of_row(const BreadthFirst& s, const Span& span, u32 depth) {
    return span.length > (depth ? s.dead_end : 0) ? pieces(span.length) : 0;
}

// Whether to load a state before its atomic. With long rows most neighbours are already visited, and a load is cheaper
// than the CAS. With short rows frontiers are narrow and latency-bound: the row is loaded ahead of the CAS instead.
#define CHECK_FIRST (WIDTH >= 16)

DEVICE void lower_parent(const BreadthFirst& s, u32 vertex, u32 parent) {
    if (s.parents && (!CHECK_FIRST || parent < __ldcg(s.parents + vertex))) atomicMin(s.parents + vertex, parent);
}

// Visits a vertex; returns its row, or an empty one if it was already visited.
DEVICE Span visit(const BreadthFirst& s, u32 vertex, u32 parent, u32 depth) {
    Span span = {0, 0};
    if (vertex == EMPTY) return span;
    if (!CHECK_FIRST) span = load_span(s.spans, vertex);
    int seen = CHECK_FIRST ? __ldcg(s.depths + vertex) : -1;
    if (seen < 0) seen = atomicCAS(s.depths + vertex, -1, (int)depth);
    if (seen < 0 || seen == (int)depth) lower_parent(s, vertex, parent);
    if (seen >= 0) return {0, 0};
    return CHECK_FIRST ? load_span(s.spans, vertex) : span;
}

// Appends the `own` items of each thread's row to the queue: at *tail, which is advanced, plus `offset`; without a tail
// at `offset`. Called by all threads of the block; returns how many items it appended.
DEVICE u32 append_rows(const BreadthFirst& s, ScanStorage& scan, u32 own, const Span& span, int vertex, u32* tail,
                       u32 offset) {
    const u32 warp = threadIdx.x / 32;
    u64 warp_total;
    const u64 before = warp_scan(own ? CHILD + own : 0, warp_total);
    if (threadIdx.x % 32 == 0) scan.warps[warp] = warp_total;
    __syncthreads();
    if (warp == 0) {
        const u32 total = items_of(scan_warps(scan, 0));
        u32 place = offset;
        if (tail && total) {
            if (threadIdx.x == 0) place += atomicAdd(tail, total);
            place = __shfl_sync(FULL_WARP, place, 0);
        }
        scan.before[threadIdx.x] += place;
        if (threadIdx.x == 0) scan.total = total;
    }
    __syncthreads();
    const u32 total = (u32)scan.total;
    Item* const items = s.queue + items_of(scan.before[warp] + before);
    if (own == 1) store_item(items, span.begin, vertex, (u32)span.length);
    for (u32 left = __ballot_sync(FULL_WARP, own > 1); left; left &= left - 1) {
        const int source = __ffs(left) - 1, owner = __shfl_sync(FULL_WARP, vertex, source);
        const i64 begin = __shfl_sync(FULL_WARP, span.begin, source),
                  length = __shfl_sync(FULL_WARP, span.length, source);
        Item* const target = (Item*)__shfl_sync(FULL_WARP, (u64)items, source);
        const u32 count = pieces(length);
        for (u32 piece = threadIdx.x % 32; piece < count; piece += 32)
            store_piece(target, piece, begin, length, owner, 0);
    }
    return total;
}

// Expands the frontier by push. The order of items within a frontier is arbitrary; the depths and parents are not.
DEVICE void push(const BreadthFirst& s, ScanStorage& scan, Frontier& frontier, u32 blocks, u32 block) {
    const u32 first = share_begin(frontier.items, block, blocks), end = share_begin(frontier.items, block + 1, blocks);
    const u32 step = blockDim.x / WIDTH, slot = threadIdx.x / WIDTH, lane = threadIdx.x % WIDTH;
    const u32 queue_end = frontier.depth ? (u32)frontier.placed + frontier.items : 0;
    u32 appended = 0;
    for (u32 base = first; base < end; base += step) {
        u32 vertex = EMPTY, parent = EMPTY;
        if (base + slot < end && frontier.depth) {
            const Item piece = load_item(s.queue + (u32)frontier.placed + base + slot);
            if (lane < piece.length) vertex = __ldg(s.neighbours + piece.begin + lane) & VERTEX;
            parent = (u32)piece.position;
        } else if (base + slot < end) {
            const i64 place = (i64)(base + slot) * WIDTH + lane;
            if (place < s.source_count && s.sources[place] >= 0) vertex = (u32)s.sources[place];
        }
        const Span span = visit(s, vertex, parent, frontier.depth);
        const u32 own = items_of_row(s, span, frontier.depth);
        if (blocks > 1) appended += append_rows(s, scan, own, span, (int)vertex, s.tails, 0);
        else appended += append_rows(s, scan, own, span, (int)vertex, nullptr, queue_end + appended);
    }
    if (blocks > 1) {
        frontier.items = grid_sum(s.sum_words, frontier.sums, appended);
    } else {
        frontier.items = appended;
        // For the other blocks, when single-block mode ends.
        if (threadIdx.x == 0) __stcg(s.tails, queue_end + appended);
        __syncthreads();
    }
    frontier.placed = (int)queue_end;
    ++frontier.depth;
}

DEVICE bool prefers_pull(const BreadthFirst& s, const Frontier& frontier, const SingleBlockLimits& limits,
                         const PullState& state) {
    if (!s.most_items || !frontier.depth || frontier.items <= limits.wide) return false;
    const u64 items = frontier.items, left = (u64)s.most_items - (u32)frontier.placed - state.skipped;
    return items * ALPHA > left && items * BETA > (u64)s.n;
}

// The first of a row's leading neighbours that has the given depth, or EMPTY. Loads are batched by four for
// memory-level parallelism.
DEVICE u32 leading_parent(const BreadthFirst& s, const Span& span, int parent_depth) {
    for (int first = 0; first < LEADING && first < span.length; first += 4) {
        u32 neighbours[4];
        int depths[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            neighbours[i] = first + i < span.length ? __ldg(s.neighbours + span.begin + first + i) & VERTEX : EMPTY;
#pragma unroll
        for (int i = 0; i < 4; ++i) depths[i] = neighbours[i] == EMPTY ? -1 : __ldcg(s.depths + neighbours[i]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (depths[i] == parent_depth) return neighbours[i];
    }
    return EMPTY;
}

// First pass of a pull, a thread per unvisited vertex: searches the leading entries of its row, and appends the rest of
// the row as items if they hold no parent. Returns the number of these, and adds up the items of the next frontier.
DEVICE u32 pull_leading(const BreadthFirst& s, ScanStorage& scan, u32 depth, u32 leftover, u32& items) {
    u32 appended = 0;
    BLOCK_STRIDE (i64, base, s.n) {
        const i64 v = base + threadIdx.x;
        Span span = {0, 0};
        u32 own = 0;
        if (v < s.n && __ldcg(s.depths + v) < 0) {
            span = load_span(s.spans, (u32)v);
            const u32 parent = leading_parent(s, span, (int)depth - 1);
            if (parent != EMPTY) {
                __stcg(s.depths + v, (int)depth);
                if (s.parents) __stcg(s.parents + v, parent);
                items += items_of_row(s, span, depth);
            } else if (span.length > LEADING) {
                span.begin += LEADING;
                span.length -= LEADING;
                own = pieces(span.length);
            }
        }
        if (__syncthreads_or(own)) appended += append_rows(s, scan, own, span, (int)v, s.tails + 1, 0u - leftover);
    }
    return appended;
}

// Second pass of a pull, WIDTH lanes per item: the rest of the rows.
DEVICE void pull_rest(const BreadthFirst& s, u32 count, u32 depth, u32& items) {
    const u32 first = share_begin(count, blockIdx.x, gridDim.x), end = share_begin(count, blockIdx.x + 1, gridDim.x);
    for (u32 item = first + threadIdx.x / WIDTH; item < end; item += blockDim.x / WIDTH) {
        const Item piece = load_item(s.queue + item);
        const u32 lane = threadIdx.x % WIDTH, vertex = (u32)piece.position;
        if (lane >= piece.length) continue;
        const u32 neighbour = __ldg(s.neighbours + piece.begin + lane) & VERTEX;
        if (__ldcg(s.depths + neighbour) != (int)depth - 1) continue;
        lower_parent(s, vertex, neighbour);
        if (atomicCAS(s.depths + vertex, -1, (int)depth) == -1)
            items += items_of_row(s, load_span(s.spans, vertex), depth);
    }
}

// The sum of a value over the block, in all threads.
DEVICE u32 block_sum(ScanStorage& scan, u32 value) {
    value = warp_sum32(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scan.warps[threadIdx.x / 32] = value;
    __syncthreads();
    u32 total = 0;
    for (u32 warp = 0; warp < blockDim.x / 32; ++warp) total += (u32)scan.warps[warp];
    return total;
}

// Appends the rows of all vertices of a depth to the queue: a push follows a pull.
DEVICE u32 queue_frontier(const BreadthFirst& s, ScanStorage& scan, u32 depth) {
    u32 appended = 0;
    BLOCK_STRIDE (i64, base, s.n) {
        const i64 v = base + threadIdx.x;
        Span span = {0, 0};
        if (v < s.n && __ldcg(s.depths + v) == (int)depth) span = load_span(s.spans, (u32)v);
        const u32 own = items_of_row(s, span, depth);
        if (__syncthreads_or(own)) appended += append_rows(s, scan, own, span, (int)v, s.tails, 0);
    }
    return appended;
}

// Expands the frontier by pull; by all blocks. Next to a wide frontier most vertices find a parent after few entries.
// The new frontier is queued only if it will be pushed.
DEVICE void pull(const BreadthFirst& s, ScanStorage& scan, Frontier& frontier, const SingleBlockLimits& limits,
                 PullState& state) {
    if (state.queued) frontier.placed += (int)frontier.items;
    else state.skipped += frontier.items;
    u32 items = 0;
    const u32 appended = pull_leading(s, scan, frontier.depth, state.leftover, items);
    const u32 count = grid_sum(s.sum_words, frontier.sums, appended);
    state.leftover += count;
    pull_rest(s, count, frontier.depth, items);
    frontier.items = grid_sum(s.sum_words, frontier.sums, block_sum(scan, items));
    state.queued = !prefers_pull(s, {frontier.items, frontier.placed, frontier.depth + 1, 0}, limits, state);
    if (state.queued && frontier.items) grid_sum(s.sum_words, frontier.sums, queue_frontier(s, scan, frontier.depth));
    ++frontier.depth;
}

// Breadth-first search from all sources at once, in one cooperative launch.
KERNEL __launch_bounds__(1024) search(BreadthFirst s, SingleBlockLimits limits) {
    __shared__ ScanStorage scan;
    Frontier frontier = {pieces(s.source_count), 0, 0, 0};
    PullState state = {0, 0, true};
    traverse_frontiers(frontier, limits, s.handoff, [&](Frontier& now, u32 blocks, u32 block) {
        if (blocks > 1 && prefers_pull(s, now, limits, state)) pull(s, scan, now, limits, state);
        else push(s, scan, now, blocks, block);
    });
}

// Counts the visited vertices.
KERNEL count_reached(In<int> depths, int n, u64* count) {
    u64 reached = 0;
    GRID_STRIDE (int, v, n) reached += depths[v] >= 0;
    reached = warp_sum(reached);
    if (threadIdx.x % 32 == 0 && reached) atomicAdd(count, reached);
}

// Atomic maximum; the load before it saves most of the atomics.
DEVICE void raise_to(u64* place, u64 candidate) {
    if (candidate > __ldcg(place)) atomicMax(place, candidate);
}

// The deepest vertex of each component, among equals that of lowest (degree, index): depth + 1 in the upper half of the
// word, the complement of its rank in the lower. Depths or labels that are not given are 0.
KERNEL find_deepest(In<int> depths, In<int> labels, In<int> ranks, int n, u64* deepest) {
    BLOCK_STRIDE (int, base, n) {
        const int v = base + threadIdx.x;
        const int depth = v >= n ? -1 : depths ? depths[v] : 0;
        const int label = v < n && labels ? labels[v] : 0;
        u64 candidate = depth < 0 ? 0 : (u64)(depth + 1) << 32 | ~(u32)ranks[v];
        const int first_label = __shfl_sync(FULL_WARP, label, 0);
        if (__all_sync(FULL_WARP, v >= n || label == first_label)) {
            for (int half = 16; half > 0; half /= 2)
                candidate = max(candidate, __shfl_xor_sync(FULL_WARP, candidate, half));
            if (threadIdx.x % 32) candidate = 0;
        }
        if (candidate) raise_to(deepest + label, candidate);
    }
}

// A round of the George-Liu search for pseudo-peripheral vertices (ACM TOMS 5, 1979, doi:10.1145/355841.355845): a
// component whose depth has grown continues from its deepest vertex, the others keep their start and get source -1.
// `count` is increased by the number of the former.
KERNEL continue_search(u64* deepest, In<int> by_rank, int components, int* starts, int* sources, int* depths,
                       u32* count) {
    BLOCK_STRIDE (int, base, components) {
        const int c = base + threadIdx.x;
        bool continues = false;
        if (c < components && sources[c] >= 0) {
            const u64 found = deepest[c];
            const int depth = (int)(found >> 32) - 1;
            continues = depth > depths[c] && depth > 0;
            depths[c] = depth;
            deepest[c] = 0;
            if (continues) starts[c] = by_rank[~(u32)found];
            sources[c] = continues ? starts[c] : -1;
        }
        const u32 continuing = __ballot_sync(FULL_WARP, continues);
        if (threadIdx.x % 32 == 0 && continuing) atomicAdd(count, (u32)__popc(continuing));
    }
}

// The first source of each component: its vertex of lowest (degree, index).
KERNEL first_sources(u64* deepest, In<int> by_rank, int components, int* starts, int* sources, int* depths) {
    GRID_STRIDE (int, c, components) {
        starts[c] = sources[c] = by_rank[~(u32)deepest[c]];
        depths[c] = -1;
        deepest[c] = 0;
    }
}
