#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

// Jones-Plassmann colouring (SIAM J. Sci. Comput. 14, 1993, doi:10.1137/0914041) in a fixed vertex order: a vertex
// takes the lowest colour that no neighbour of higher priority has. The colours are those of the sequential first-fit
// algorithm. With shortcuts as in ECL-GC (G. Alabandi, E. Powers, M. Burtscher, PPoPP 2020,
// doi:10.1145/3332466.3374519), which make chains of dependent vertices short: a vertex need not wait for a neighbour
// that cannot take the same colour any more.
//
// The state of a vertex is its colour, or else the complement of its candidate, the lowest colour that no coloured
// neighbour of higher priority has. Candidates only rise, so states only fall, and states that are read late do no harm.
#define NO_CANDIDATE 0xffffffffu

__device__ __forceinline__ bool is_colored(u32 state) { return (int)state >= 0; }

struct Coloring {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ indices;
    // For the order by falling degree classes (LDF), else null.
    const int* __restrict__ degrees;
    LongRows long_rows;
    u32* states;
    // Per item: see Progress.
    u64* progress;
    // Per long row: a candidate, and the number of pieces that have passed for it.
    u64* reports;
    // Bit masks of the forbidden colours; see mask_begin.
    u32* masks;
    i64 n, mask_words;
    u64 seed;
};

// How far an item's neighbours have been checked: `passed` consecutive ones, cyclically, up to `position`, cannot take
// the candidate.
struct Progress {
    u32 candidate, position, passed;
};
__device__ __forceinline__ u64 packed(const Progress& p) {
    return (u64)p.candidate << 32 | p.position << 16 | p.passed;
}
__device__ __forceinline__ Progress unpacked(u64 word) {
    return {(u32)(word >> 32), (u32)word >> 16, (u32)word & 0xffff};
}

// A vertex with d entries has a colour of at most d, so a mask of more than d / 32 words suffices.
__device__ __forceinline__ u64 mask_begin(const Coloring& c, int vertex) {
    return (u64)c.indptr[vertex] / 32 + (u64)vertex;
}

struct VertexOrder {
    const int* __restrict__ degrees;
    u32 tie_key;

    __device__ __forceinline__ u64 priority(int vertex) const {
        return priority_word(degrees ? __clz(__ldg(degrees + vertex)) - 1 : 0, (u32)vertex, tie_key);
    }
};

__device__ void initialize(const Coloring& c, i64 items) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < c.n; v += step) c.states[v] = NO_CANDIDATE;
    for (i64 item = first; item < items; item += step) c.progress[item] = 0;
    for (i64 word = first; word < c.mask_words; word += step) c.masks[word] = 0;
    for (i64 row = first; row < row_count(c.long_rows); row += step) c.reports[row] = 0;
}

// The lowest colour that the mask does not forbid, at least `from`.
__device__ __forceinline__ u32 lowest_color(const Coloring& c, int vertex, u32 from) {
    const u32* const mask = c.masks + mask_begin(c, vertex);
    for (u32 word = from / 32;; ++word) {
        const u32 open = ~*(const volatile u32*)(mask + word);
        if (open) return word * 32 + __ffs((int)open) - 1;
    }
}

// Whether a neighbour of higher priority may still take the candidate, or has taken it.
__device__ __forceinline__ bool contends(u32 state, u32 candidate) {
    return is_colored(state) ? state == candidate : ~state <= candidate;
}

// Checks neighbours until one contends or all have passed; by the lanes of each item of a warp, whose `searches` agree.
__device__ __forceinline__ void check_neighbours(const Coloring& c, const VertexOrder& order, const Part& part,
                                                 bool searches, u32 lanes, Progress& p) {
    const u32 lane = threadIdx.x & (lanes - 1), length = (u32)part.length;
    const u32 first_lane = threadIdx.x % 32 - lane, group = lanes == 32 ? FULL_WARP : (1u << lanes) - 1;
    const u64 own = searches ? order.priority(part.vertex) : 0;
    searches = searches && p.passed < length;
    while (__any_sync(FULL_WARP, searches)) {
        int neighbours[LOADS];
        u32 states[LOADS], contending = 0;
        if (searches) {
#pragma unroll
            for (u32 i = 0; i < LOADS; ++i) {
                const u32 ahead = min(i * lanes + lane, length - 1 - p.passed), place = p.position + ahead;
                neighbours[i] = __ldg(c.indices + part.begin + (place < length ? place : place - length));
            }
#pragma unroll
            for (u32 i = 0; i < LOADS; ++i) states[i] = *(const volatile u32*)(c.states + neighbours[i]);
#pragma unroll
            for (u32 i = 0; i < LOADS; ++i)
                if (contends(states[i], p.candidate) && order.priority(neighbours[i]) < own) contending |= 1u << i;
        }
        u32 advance = LOADS * lanes;
#pragma unroll
        for (int i = LOADS - 1; i >= 0; --i) {
            const u32 found = __ballot_sync(FULL_WARP, contending >> i & 1) >> first_lane & group;
            if (found) advance = i * lanes + __ffs((int)found) - 1;
        }
        if (!searches) continue;
        searches = advance == LOADS * lanes;
        advance = min(advance, length - p.passed);
        p.passed += advance;
        p.position = p.position + advance < length ? p.position + advance : p.position + advance - length;
        searches = searches && p.passed < length;
    }
}

// Forbids a vertex's colour to its neighbours of lower priority.
__device__ __forceinline__ void forbid(const Coloring& c, const VertexOrder& order, const Part& part, u32 color,
                                       u32 lanes) {
    const u64 own = order.priority(part.vertex);
#pragma unroll 4
    for (int i = threadIdx.x & (lanes - 1); i < part.length; i += lanes) {
        const int neighbour = __ldg(c.indices + part.begin + i);
        if (order.priority(neighbour) <= own) continue;
        const u64 word = mask_begin(c, neighbour) + color / 32;
        if (word < mask_begin(c, neighbour + 1)) atomicOr(c.masks + word, 1u << color % 32);
    }
}

// Counts a piece of a long row that has passed for a candidate. Returns whether all pieces have.
__device__ __forceinline__ bool report(const Coloring& c, const Part& part, u32 candidate) {
    const u32 pieces = pieces_in((i64)c.indptr[part.vertex + 1] - c.indptr[part.vertex]);
    u64* const reported = c.reports + part.owner;
    u64 seen = __ldcg(reported), expected, next;
    do {
        expected = seen;
        if (expected >> 32 > candidate) return false;
        next = (expected >> 32 == candidate ? expected : (u64)candidate << 32) + 1;
        seen = atomicCAS(reported, expected, next);
    } while (seen != expected);
    return (u32)next == pieces;
}

// Colours the vertex of an item if no neighbour of higher priority contends for its candidate. Returns whether the item
// stays: a piece of a long row does until its vertex is coloured. Called by all lanes of a warp.
__device__ __forceinline__ bool color_vertex(const Coloring& c, const VertexOrder& order, u32 item, u32 lanes) {
    // One lane reads for all of its item: others may write at the same time.
    const auto agreed = [&](u64 word) { return __shfl_sync(FULL_WARP, word, 0, (int)lanes); };
    const Part part = part_of(c.indptr, (u32)c.n, c.long_rows, item);
    const bool exists = part.vertex != NOBODY, is_whole = part.owner == WHOLE;
    const bool is_first_lane = (threadIdx.x & (lanes - 1)) == 0;
    const u32 state = (u32)agreed(exists ? *(const volatile u32*)(c.states + part.vertex) : 0);
    const bool searches = exists && !is_colored(state);

    Progress p = unpacked(agreed(searches ? __ldcg(c.progress + item) : 0));
    const u32 candidate = (u32)agreed(searches ? lowest_color(c, part.vertex, ~state) : 0);
    if (p.candidate != candidate) p = {candidate, p.position, 0};
    const bool has_reported = !is_whole && p.passed == (u32)part.length;
    check_neighbours(c, order, part, searches, lanes, p);
    const bool passes = searches && p.passed == (u32)part.length, finishes = passes && is_whole;
    if (searches && is_first_lane) {
        if (is_whole) *(volatile u32*)(c.states + part.vertex) = passes ? candidate : ~candidate;
        else if (passes && !has_reported && report(c, part, candidate)) atomicMin(c.states + part.vertex, candidate);
        else if (~state < candidate) atomicMin(c.states + part.vertex, ~candidate);
        if (!finishes) c.progress[item] = packed(p);
    }
    const bool colored = exists && is_colored(state);
    if (finishes || colored) forbid(c, order, part, colored ? state : candidate, lanes);
    return searches && !finishes;
}

// All rounds, in one cooperative launch.
extern "C" __global__ void __launch_bounds__(256) color(Coloring c, Worklist work, u32* barrier) {
    u32 generation = 0;
    const i64 items = c.n + piece_count(c.long_rows);
    initialize(c, items);
    grid_barrier(barrier, generation);
    const VertexOrder order = {c.degrees, (u32)iteration_key(c.seed, 2)};
    const auto examine = [&](u32 item, u32 lanes) { return color_vertex(c, order, item, lanes); };
    process_worklist_adaptively(work, items, barrier, generation, examine);
}

// The same without barriers.
extern "C" __global__ void __launch_bounds__(256) color_freely(Coloring c, u32* lists, u32* barrier) {
    u32 generation = 0;
    const u64 pieces = piece_count(c.long_rows);
    initialize(c, c.n + pieces);
    grid_barrier(barrier, generation);
    const VertexOrder order = {c.degrees, (u32)iteration_key(c.seed, 2)};
    process_own_items(lists, c.n, pieces, 32,
                      [&](u32 item, u32 lanes) { return color_vertex(c, order, item, lanes); });
}
