#include "common.cuh"
#include "rows.cuh"
#include "fronts.cuh"

struct Search {
    const Span* spans;
    const u32* neighbours;
    // Vertices to start from; negative ones are passed over.
    const int* sources;
    // -1 where nothing has come yet.
    int* levels;
    // The items of all levels, one after the other, and their number.
    Item* queue;
    u32* tail;
    u64* meetings;
    HandOver* hand_over;
    int source_count;
    // Rows of so many entries lead nowhere but back: 1 where the pattern is symmetric and has no diagonal, else 0.
    int dead_end;
};

// The neighbour that a lane looks at, or EMPTY; at level 0 one of the sources.
__device__ __forceinline__ u32 next_vertex(const Search& s, const Level& level, u32 item) {
    const u32 lane = threadIdx.x % WIDTH;
    if (level.number == 0) {
        const i64 place = (i64)item * WIDTH + lane;
        return place < s.source_count && s.sources[place] >= 0 ? (u32)s.sources[place] : EMPTY;
    }
    const Item piece = load_item(s.queue + (u32)level.placed + item);
    return lane < piece.length ? __ldg(s.neighbours + piece.begin + lane) & VERTEX : EMPTY;
}

// Takes a vertex for this level, unless another lane or an earlier level has it. Where vertices have many neighbours
// most are taken already, and looking is cheaper than trying.
__device__ __forceinline__ bool take_vertex(const Search& s, u32 vertex, u32 level) {
    if (vertex == EMPTY || (WIDTH >= 16 && __ldcg(s.levels + vertex) >= 0)) return false;
    return atomicCAS(s.levels + vertex, -1, (int)level) == -1;
}

// From one level to the next; the order within a level is left to chance and leaves no trace.
__device__ __forceinline__ void advance(const Search& s, Sums& sums, Level& level, u32 blocks, u32 block) {
    const u32 first = share_begin(level.items, block, blocks), end = share_begin(level.items, block + 1, blocks);
    const u32 step = blockDim.x / WIDTH, warp = threadIdx.x / 32, slot = threadIdx.x / WIDTH;
    const u32 queue_end = level.number ? (u32)level.placed + level.items : 0;
    u32 appended = 0;
    for (u32 base = first; base < end; base += step) {
        const u32 vertex = base + slot < end ? next_vertex(s, level, base + slot) : EMPTY;
        Span span = {0, 0};
        if (take_vertex(s, vertex, level.number)) span = load_span(s.spans, vertex);
        const u32 own = span.length > (level.number ? s.dead_end : 0) ? pieces(span.length) : 0;
        u64 warp_total;
        const u64 before = counts_before(own ? CHILD + own : 0, warp_total);
        if (threadIdx.x % 32 == 0) sums.warps[warp] = warp_total;
        __syncthreads();
        if (warp == 0) {
            const u32 total = items_of(sum_warps(sums, 0));
            u32 place = queue_end + appended;
            if (blocks > 1 && total) {
                if (threadIdx.x == 0) place = atomicAdd(s.tail, total);
                place = __shfl_sync(FULL_WARP, place, 0);
            }
            sums.before[threadIdx.x] += place;
            if (threadIdx.x == 0) sums.level = total;
        }
        __syncthreads();
        appended += (u32)sums.level;
        Item* const items = s.queue + items_of(sums.before[warp] + before);
        if (own == 1) store_item(items, span.begin, NO_POSITION, (u32)span.length);
        for (u32 left = __ballot_sync(FULL_WARP, own > 1); left; left &= left - 1) {
            const int source = __ffs(left) - 1;
            const i64 begin = __shfl_sync(FULL_WARP, span.begin, source), length = __shfl_sync(FULL_WARP, span.length, source);
            Item* const target = (Item*)__shfl_sync(FULL_WARP, (u64)items, source);
            const u32 count = pieces(length);
            for (u32 piece = threadIdx.x % 32; piece < count; piece += 32) store_piece(target, piece, begin, length, NO_POSITION, 0);
        }
    }
    if (blocks > 1) {
        level.items = meet(s.meetings, level.meetings, appended);
    } else {
        level.items = appended;
        // For the blocks that may come in later.
        if (threadIdx.x == 0) __stcg(s.tail, queue_end + appended);
        __syncthreads();
    }
    level.placed = (int)queue_end;
    ++level.number;
}

// Breadth-first search from all sources at once. A cooperative launch.
extern "C" __global__ void __launch_bounds__(1024) search(Search s, Widths widths) {
    __shared__ Sums sums;
    Level level = {pieces(s.source_count), 0, 0, 0};
    traverse_levels(level, widths, s.hand_over, [&](Level& now, u32 blocks, u32 block) { advance(s, sums, now, blocks, block); });
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
            for (int half = 16; half > 0; half /= 2) candidate = max(candidate, __shfl_xor_sync(FULL_WARP, candidate, half));
            if (threadIdx.x % 32) candidate = 0;
        }
        if (candidate) take_most(deepest + label, candidate);
    }
}

// A round of the search for starts: a component whose search went deeper than the one before goes on from the vertex
// that was found there, the others keep the source they had. `report` counts those that go on and holds the greatest depth.
extern "C" __global__ void judge(u64* deepest, const int* __restrict__ by_rank, int components, int* starts, int* sources,
                                 int* depths, u32* report) {
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
