#include "runtime/common.cuh"
#include "csgraph/sorted_neighbors.cuh"
#include "csgraph/frontier.cuh"

struct Search {
    const Span* spans;
    const u32* neighbours;
    // Vertices to start from; negative ones are passed over.
    const int* sources;
    // -1 where nothing has come yet.
    int* levels;
    // The lowest vertex of the level before that leads to each, beyond all vertices at first; null where nobody asks.
    u32* parents;
    // The items of all levels, one after the other, their number, and how many rows looked back were left over for.
    Item* queue;
    u32* tails;
    u64* meetings;
    HandOver* hand_over;
    int source_count;
    // Rows of so many entries lead nowhere but back: 1 where the pattern is symmetric and has no diagonal, else 0.
    int dead_end;
    int n;
    // The pieces that all rows can have; 0 where entries lead one way, and no vertex can look back.
    u32 most_items;
};

// Vertices look back where the front has more than this share of the items that are left, and of the vertices
// (S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search", 2012).
#define ITEMS_TO_ONE 14
#define VERTICES_TO_ONE 24
// The neighbours that one thread looks at; longer rows are cut into items.
#define FEW 8

// What all blocks remember of fronts in which vertices looked back: the items of those that never came into the queue,
// the items left over so far, and whether the front is in the queue.
struct Back {
    u32 skipped, leftover;
    bool queued;
};

// The items that a vertex reached at some level adds to the next front.
__device__ __forceinline__ u32 items_of_row(const Search& s, const Span& span, u32 level) {
    return span.length > (level ? s.dead_end : 0) ? pieces(span.length) : 0;
}

// Where vertices have many neighbours, most are found by many, and looking is cheaper than trying. Where they have few,
// fronts are small, and a level takes as long as its loads that wait for each other.
#define MANY (WIDTH >= 16)

__device__ __forceinline__ void take_parent(const Search& s, u32 vertex, u32 parent) {
    if (s.parents && (!MANY || parent < __ldcg(s.parents + vertex))) atomicMin(s.parents + vertex, parent);
}

// Takes a vertex for this level, unless another lane or an earlier level has it; its row, or an empty one.
__device__ __forceinline__ Span take_vertex(const Search& s, u32 vertex, u32 parent, u32 level) {
    Span span = {0, 0};
    if (vertex == EMPTY) return span;
    if (!MANY) span = load_span(s.spans, vertex);
    int seen = MANY ? __ldcg(s.levels + vertex) : -1;
    if (seen < 0) seen = atomicCAS(s.levels + vertex, -1, (int)level);
    if (seen < 0 || seen == (int)level) take_parent(s, vertex, parent);
    if (seen >= 0) return {0, 0};
    return MANY ? load_span(s.spans, vertex) : span;
}

// Appends the `own` pieces of each thread's row to the queue: from *tail on, which counts them up, moved by `offset`, or
// without a tail at `offset`. All threads of the block must come; returns how many it appended.
__device__ __forceinline__ u32 append_rows(const Search& s, Sums& sums, u32 own, const Span& span, int vertex,
                                           u32* tail, u32 offset) {
    const u32 warp = threadIdx.x / 32;
    u64 warp_total;
    const u64 before = counts_before(own ? CHILD + own : 0, warp_total);
    if (threadIdx.x % 32 == 0) sums.warps[warp] = warp_total;
    __syncthreads();
    if (warp == 0) {
        const u32 total = items_of(sum_warps(sums, 0));
        u32 place = offset;
        if (tail && total) {
            if (threadIdx.x == 0) place += atomicAdd(tail, total);
            place = __shfl_sync(FULL_WARP, place, 0);
        }
        sums.before[threadIdx.x] += place;
        if (threadIdx.x == 0) sums.level = total;
    }
    __syncthreads();
    const u32 total = (u32)sums.level;
    Item* const items = s.queue + items_of(sums.before[warp] + before);
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

// From one level to the next along the items of the front; the order within a level is left to chance and leaves no trace.
__device__ __forceinline__ void look_ahead(const Search& s, Sums& sums, Level& level, u32 blocks, u32 block) {
    const u32 first = share_begin(level.items, block, blocks), end = share_begin(level.items, block + 1, blocks);
    const u32 step = blockDim.x / WIDTH, slot = threadIdx.x / WIDTH, lane = threadIdx.x % WIDTH;
    const u32 queue_end = level.number ? (u32)level.placed + level.items : 0;
    u32 appended = 0;
    for (u32 base = first; base < end; base += step) {
        u32 vertex = EMPTY, parent = EMPTY;
        if (base + slot < end && level.number) {
            const Item piece = load_item(s.queue + (u32)level.placed + base + slot);
            if (lane < piece.length) vertex = __ldg(s.neighbours + piece.begin + lane) & VERTEX;
            parent = (u32)piece.position;
        } else if (base + slot < end) {
            const i64 place = (i64)(base + slot) * WIDTH + lane;
            if (place < s.source_count && s.sources[place] >= 0) vertex = (u32)s.sources[place];
        }
        const Span span = take_vertex(s, vertex, parent, level.number);
        const u32 own = items_of_row(s, span, level.number);
        if (blocks > 1) appended += append_rows(s, sums, own, span, (int)vertex, s.tails, 0);
        else appended += append_rows(s, sums, own, span, (int)vertex, nullptr, queue_end + appended);
    }
    if (blocks > 1) {
        level.items = meet(s.meetings, level.meetings, appended);
    } else {
        level.items = appended;
        // For the blocks that may come in later.
        if (threadIdx.x == 0) __stcg(s.tails, queue_end + appended);
        __syncthreads();
    }
    level.placed = (int)queue_end;
    ++level.number;
}

__device__ __forceinline__ bool looks_back(const Search& s, const Level& level, const Widths& widths,
                                           const Back& back) {
    if (!s.most_items || !level.number || level.items <= widths.wide) return false;
    const u64 items = level.items, left = (u64)s.most_items - (u32)level.placed - back.skipped;
    return items * ITEMS_TO_ONE > left && items * VERTICES_TO_ONE > (u64)s.n;
}

// The first of a row's first neighbours that are in the last level, or EMPTY.
__device__ __forceinline__ u32 first_parent(const Search& s, const Span& span, int last_level) {
    for (int first = 0; first < FEW && first < span.length; first += 4) {
        u32 around[4];
        int levels[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            around[i] = first + i < span.length ? __ldg(s.neighbours + span.begin + first + i) & VERTEX : EMPTY;
#pragma unroll
        for (int i = 0; i < 4; ++i) levels[i] = around[i] == EMPTY ? -1 : __ldcg(s.levels + around[i]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (levels[i] == last_level) return around[i];
    }
    return EMPTY;
}

// Every vertex that is not reached looks at the beginning of its row for one that was reached last; the rest of the row is
// left over. Returns the items left over, and adds those of the next front.
__device__ __forceinline__ u32 look_at_beginnings(const Search& s, Sums& sums, u32 number, u32 leftover, u32& items) {
    u32 appended = 0;
    for (i64 base = (i64)blockIdx.x * blockDim.x; base < s.n; base += (i64)gridDim.x * blockDim.x) {
        const i64 v = base + threadIdx.x;
        Span span = {0, 0};
        u32 own = 0;
        if (v < s.n && __ldcg(s.levels + v) < 0) {
            span = load_span(s.spans, (u32)v);
            const u32 parent = first_parent(s, span, (int)number - 1);
            if (parent != EMPTY) {
                __stcg(s.levels + v, (int)number);
                if (s.parents) __stcg(s.parents + v, parent);
                items += items_of_row(s, span, number);
            } else if (span.length > FEW) {
                span.begin += FEW;
                span.length -= FEW;
                own = pieces(span.length);
            }
        }
        if (__syncthreads_or(own)) appended += append_rows(s, sums, own, span, (int)v, s.tails + 1, 0u - leftover);
    }
    return appended;
}

// The same for what is left over, by all lanes.
__device__ __forceinline__ void look_at_leftovers(const Search& s, u32 count, u32 number, u32& items) {
    const u32 first = share_begin(count, blockIdx.x, gridDim.x), end = share_begin(count, blockIdx.x + 1, gridDim.x);
    for (u32 item = first + threadIdx.x / WIDTH; item < end; item += blockDim.x / WIDTH) {
        const Item piece = load_item(s.queue + item);
        const u32 lane = threadIdx.x % WIDTH, vertex = (u32)piece.position;
        if (lane >= piece.length) continue;
        const u32 neighbour = __ldg(s.neighbours + piece.begin + lane) & VERTEX;
        if (__ldcg(s.levels + neighbour) != (int)number - 1) continue;
        take_parent(s, vertex, neighbour);
        if (atomicCAS(s.levels + vertex, -1, (int)number) == -1)
            items += items_of_row(s, load_span(s.spans, vertex), number);
    }
}

// The sum of the threads' numbers, for all of them.
__device__ __forceinline__ u32 block_sum(Sums& sums, u32 number) {
    number = warp_sum32(number);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums.warps[threadIdx.x / 32] = number;
    __syncthreads();
    u32 total = 0;
    for (u32 warp = 0; warp < blockDim.x / 32; ++warp) total += (u32)sums.warps[warp];
    return total;
}

// Puts the vertices of the last level into the queue.
__device__ __forceinline__ u32 queue_level(const Search& s, Sums& sums, u32 number) {
    u32 appended = 0;
    for (i64 base = (i64)blockIdx.x * blockDim.x; base < s.n; base += (i64)gridDim.x * blockDim.x) {
        const i64 v = base + threadIdx.x;
        Span span = {0, 0};
        if (v < s.n && __ldcg(s.levels + v) == (int)number) span = load_span(s.spans, (u32)v);
        const u32 own = items_of_row(s, span, number);
        if (__syncthreads_or(own)) appended += append_rows(s, sums, own, span, (int)v, s.tails, 0);
    }
    return appended;
}

// From one level to the next by the vertices that are not reached yet. Their rows are left where the first of their
// neighbours is found in the front, which most are soon if it is wide. The front comes into the queue only if the next
// level is looked for from it. By all blocks.
__device__ __forceinline__ void look_back(const Search& s, Sums& sums, Level& level, const Widths& widths, Back& back) {
    if (back.queued) level.placed += (int)level.items;
    else back.skipped += level.items;
    u32 items = 0;
    const u32 appended = look_at_beginnings(s, sums, level.number, back.leftover, items);
    const u32 count = meet(s.meetings, level.meetings, appended);
    back.leftover += count;
    look_at_leftovers(s, count, level.number, items);
    level.items = meet(s.meetings, level.meetings, block_sum(sums, items));
    back.queued = !looks_back(s, {level.items, level.placed, level.number + 1, 0}, widths, back);
    if (back.queued && level.items) meet(s.meetings, level.meetings, queue_level(s, sums, level.number));
    ++level.number;
}

// Breadth-first search from all sources at once. A cooperative launch.
extern "C" __global__ void __launch_bounds__(1024) search(Search s, Widths widths) {
    __shared__ Sums sums;
    Level level = {pieces(s.source_count), 0, 0, 0};
    Back back = {0, 0, true};
    traverse_levels(level, widths, s.hand_over, [&](Level& now, u32 blocks, u32 block) {
        if (blocks > 1 && looks_back(s, now, widths, back)) look_back(s, sums, now, widths, back);
        else look_ahead(s, sums, now, blocks, block);
    });
}

// Counts the vertices that were reached.
extern "C" __global__ void count_reached(const int* __restrict__ levels, int n, u64* count) {
    u64 reached = 0;
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) reached += levels[v] >= 0;
    reached = warp_sum(reached);
    if (threadIdx.x % 32 == 0 && reached) atomicAdd(count, reached);
}

// Takes the most into *place; most candidates are below it already and need no atomic.
__device__ __forceinline__ void take_most(u64* place, u64 candidate) {
    if (candidate > __ldcg(place)) atomicMax(place, candidate);
}

// The deepest vertex of each component, the lowest (degree, index) among equals: its level and one, then its rank
// turned round. Without `levels` all are at level 0, without `labels` in component 0.
extern "C" __global__ void find_deepest(const int* __restrict__ levels, const int* __restrict__ labels,
                                        const int* __restrict__ ranks, int n, u64* deepest) {
    for (int base = blockIdx.x * blockDim.x; base < n; base += gridDim.x * blockDim.x) {
        const int v = base + threadIdx.x;
        const int level = v >= n ? -1 : levels ? levels[v] : 0;
        const int label = v < n && labels ? labels[v] : 0;
        u64 candidate = level < 0 ? 0 : (u64)(level + 1) << 32 | ~(u32)ranks[v];
        const int first_label = __shfl_sync(FULL_WARP, label, 0);
        if (__all_sync(FULL_WARP, v >= n || label == first_label)) {
            for (int half = 16; half > 0; half /= 2)
                candidate = max(candidate, __shfl_xor_sync(FULL_WARP, candidate, half));
            if (threadIdx.x % 32) candidate = 0;
        }
        if (candidate) take_most(deepest + label, candidate);
    }
}

// A round of the search for starts: a component whose search went deeper than the one before goes on from the vertex
// that was found there, the others keep the source they had. `report` counts those that go on and holds the greatest depth.
extern "C" __global__ void judge(u64* deepest, const int* __restrict__ by_rank, int components, int* starts,
                                 int* sources, int* depths, u32* report) {
    for (int base = blockIdx.x * blockDim.x; base < components; base += gridDim.x * blockDim.x) {
        const int c = base + threadIdx.x;
        int depth = -1;
        bool on = false;
        if (c < components && sources[c] >= 0) {
            const u64 found = deepest[c];
            depth = (int)(found >> 32) - 1;
            on = depth > depths[c] && depth > 0;
            depths[c] = depth;
            deepest[c] = 0;
            if (on) starts[c] = by_rank[~(u32)found];
            sources[c] = on ? starts[c] : -1;
        }
        const u32 going = __ballot_sync(FULL_WARP, on);
        for (int half = 16; half > 0; half /= 2) depth = max(depth, __shfl_xor_sync(FULL_WARP, depth, half));
        if (threadIdx.x % 32) continue;
        if (going) atomicAdd(report, (u32)__popc(going));
        if (depth > 0) atomicMax(report + 1, (u32)depth);
    }
}

// The first candidate of each component.
extern "C" __global__ void first_sources(u64* deepest, const int* __restrict__ by_rank, int components, int* starts,
                                         int* sources, int* depths) {
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < components; c += gridDim.x * blockDim.x) {
        starts[c] = sources[c] = by_rank[~(u32)deepest[c]];
        depths[c] = -1;
        deepest[c] = 0;
    }
}
