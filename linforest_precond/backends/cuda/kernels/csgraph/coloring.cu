#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

// Jones-Plassmann colouring (SIAM J. Sci. Comput. 14, 1993, doi:10.1137/0914041) in a fixed vertex order: a vertex
// takes the lowest colour that no neighbour of higher priority has. The colours are those of the sequential first-fit
// algorithm. With shortcuts (G. Alabandi, E. Powers, M. Burtscher, "Increasing the Parallelism of Graph Coloring via
// Shortcutting", PPoPP 2020), which make chains of dependent vertices short: a vertex need not wait for a neighbour
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
    // Per long row: a candidate, and the number of pieces that have passed for it.
    u64* reports;
    // Per long row: the last blocker that a piece has found.
    u32* blockers;
    // Bit masks of the forbidden colours; see mask_begin.
    u32* masks;
    // The items of the warps, of `capacity` words for each field of an Item; and the barrier.
    u32* lists;
    u32* barrier;
    i64 n, mask_words, capacity;
    u64 seed;
};

// A vertex with d entries has a colour of at most d, so a mask of more than d / 32 words suffices.
__device__ __forceinline__ u32 mask_begin(const Coloring& c, u32 vertex) {
    return (u32)((u64)c.indptr[vertex] / 32 + vertex);
}

// A whole row or a piece of a long one that a warp has to process. The last `passed` neighbours before `position`,
// cyclically, cannot take the candidate; the one at `position`, the blocker, may. A piece whose neighbours have all
// passed waits for its own vertex to be coloured.
struct Item {
    Part part;
    u32 mask, candidate, position, passed, blocker;

    __device__ __forceinline__ bool is_whole() const { return part.owner == WHOLE; }
    __device__ __forceinline__ bool has_passed() const { return passed == (u32)part.length; }
};
#define FIELDS 9

__device__ __forceinline__ void save(const Coloring& c, u64 place, const Item& item) {
    const u32 words[FIELDS] = {(u32)item.part.begin,
                               (u32)(item.part.begin >> 32),
                               (u32)item.part.vertex,
                               (u32)item.part.owner,
                               item.mask,
                               item.candidate,
                               item.blocker,
                               item.position << 16 | item.passed,
                               (u32)item.part.length};
#pragma unroll
    for (int i = 0; i < FIELDS; ++i) c.lists[i * c.capacity + place] = words[i];
}

__device__ __forceinline__ Item load(const Coloring& c, u64 place) {
    u32 words[FIELDS];
#pragma unroll
    for (int i = 0; i < FIELDS; ++i) words[i] = c.lists[i * c.capacity + place];
    const Part part = {(i64)((u64)words[1] << 32 | words[0]), (int)words[8], (int)words[2], (int)words[3]};
    return {part, words[4], words[5], words[7] >> 16, words[7] & 0xffff, words[6]};
}

__device__ __forceinline__ Item from_lane(const Item& item, int lane) {
    const auto of = [&](u32 word) { return __shfl_sync(FULL_WARP, word, lane); };
    return {from_lane(item.part, lane), of(item.mask),   of(item.candidate),
            of(item.position),          of(item.passed), of(item.blocker)};
}

struct VertexOrder {
    const int* __restrict__ degrees;
    u32 tie_key;

    __device__ __forceinline__ u64 priority(int vertex) const {
        return priority_word(degrees ? __clz(__ldg(degrees + vertex)) - 1 : 0, (u32)vertex, tie_key);
    }
};

__device__ void initialize(const Coloring& c) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < c.n; v += step) c.states[v] = NO_CANDIDATE;
    for (i64 word = first; word < c.mask_words; word += step) c.masks[word] = 0;
    for (i64 row = first; row < row_count(c.long_rows); row += step) {
        c.reports[row] = 0;
        c.blockers[row] = NOBODY;
    }
}

__device__ __forceinline__ u32 state_of(const Coloring& c, u32 vertex) {
    return *(const volatile u32*)(c.states + vertex);
}

// Whether a neighbour of higher priority may still take the candidate, or has taken it.
__device__ __forceinline__ bool contends(u32 state, u32 candidate) {
    return is_colored(state) ? state == candidate : ~state <= candidate;
}

// Raises the candidate to the lowest colour that the mask does not forbid, and publishes it.
__device__ __forceinline__ void raise_candidate(const Coloring& c, Item& item) {
    u32 word = item.candidate / 32, open;
    while (!(open = ~*(const volatile u32*)(c.masks + item.mask + word))) ++word;
    const u32 lowest = word * 32 + __ffs((int)open) - 1;
    if (lowest == item.candidate) return;
    item.candidate = lowest;
    item.passed = 0;
    // Another piece may colour the vertex at the same time.
    if (item.is_whole()) *(volatile u32*)(c.states + item.part.vertex) = ~lowest;
    else atomicMin(c.states + item.part.vertex, ~lowest);
}

// Checks neighbours until one contends or all have passed; by one lane for each item, or by a warp for one.
template <u32 WIDTH>
__device__ __forceinline__ void check_neighbours(const Coloring& c, const VertexOrder& order, Item& item) {
    const u32 lane = threadIdx.x % WIDTH, length = (u32)item.part.length;
    const u64 own = order.priority(item.part.vertex);
    while (item.passed < length) {
        int neighbours[LOADS];
        u32 states[LOADS], contending = 0, advance = LOADS * WIDTH;
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) {
            const u32 place = item.position + min(i * WIDTH + lane, length - 1 - item.passed);
            neighbours[i] = __ldg(c.indices + item.part.begin + (place < length ? place : place - length));
        }
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) states[i] = state_of(c, neighbours[i]);
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i)
            if (contends(states[i], item.candidate) && order.priority(neighbours[i]) < own) contending |= 1u << i;
#pragma unroll
        for (int i = LOADS - 1; i >= 0; --i) {
            const u32 here = contending >> i & 1;
            const u32 found = WIDTH == 1 ? here : __ballot_sync(FULL_WARP, here);
            if (!found) continue;
            const int first = __ffs((int)found) - 1;
            advance = i * WIDTH + first;
            item.blocker = WIDTH == 1 ? neighbours[i] : __shfl_sync(FULL_WARP, neighbours[i], first);
        }
        const bool blocked = advance < LOADS * WIDTH;
        advance = min(advance, length - item.passed);
        item.passed += advance;
        item.position += advance;
        if (item.position >= length) item.position -= length;
        if (blocked) return;
    }
    item.blocker = item.part.vertex;
}

// Forbids a vertex's colour to its neighbours of lower priority; by one lane or by a warp.
template <u32 WIDTH>
__device__ __forceinline__ void forbid(const Coloring& c, const VertexOrder& order, const Part& part, u32 color) {
    const u64 own = order.priority(part.vertex);
#pragma unroll 4
    for (int i = threadIdx.x % WIDTH; i < part.length; i += WIDTH) {
        const int neighbour = __ldg(c.indices + part.begin + i);
        if (order.priority(neighbour) <= own) continue;
        const u32 word = mask_begin(c, neighbour) + color / 32;
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

// Whether another piece of a long row has found a blocker: there is no need to check this one then.
template <u32 WIDTH>
__device__ __forceinline__ bool is_row_blocked(const Coloring& c, Item& item) {
    if (item.is_whole()) return false;
    u32 blocker = *(const volatile u32*)(c.blockers + item.part.owner);
    if (WIDTH > 1) blocker = __shfl_sync(FULL_WARP, blocker, 0);
    u32 blocked = blocker != (u32)NOBODY && contends(state_of(c, blocker), item.candidate);
    if (WIDTH > 1) blocked = __shfl_sync(FULL_WARP, blocked, 0);
    if (blocked) item.blocker = blocker;
    return blocked;
}

// Colours an item's vertex if no neighbour of higher priority contends for its candidate. Returns whether the item
// stays: a piece of a long row does until its vertex is coloured. By one lane or by a warp.
template <u32 WIDTH>
__device__ __forceinline__ bool color_vertex(const Coloring& c, const VertexOrder& order, Item& item) {
    if (!item.is_whole() && item.has_passed()) {
        // Woken up since its vertex is coloured.
        forbid<WIDTH>(c, order, item.part, item.candidate);
        return false;
    }
    if (is_row_blocked<WIDTH>(c, item)) return true;
    check_neighbours<WIDTH>(c, order, item);
    const bool is_first_lane = threadIdx.x % WIDTH == 0;
    if (!item.has_passed()) {
        if (is_first_lane && !item.is_whole()) *(volatile u32*)(c.blockers + item.part.owner) = item.blocker;
        return true;
    }
    if (!item.is_whole()) {
        if (is_first_lane && report(c, item.part, item.candidate))
            atomicMin(c.states + item.part.vertex, item.candidate);
        return true;
    }
    if (is_first_lane) *(volatile u32*)(c.states + item.part.vertex) = item.candidate;
    forbid<WIDTH>(c, order, item.part, item.candidate);
    return false;
}

// Whether an item is still blocked, so that its neighbours need no check. Raises its candidate, which others wait for.
__device__ __forceinline__ bool is_blocked(const Coloring& c, Item& item) {
    const u32 state = state_of(c, item.blocker);
    const bool passed = item.has_passed();
    if (passed && is_colored(state)) return false;
    raise_candidate(c, item);
    return passed ? item.has_passed() : contends(state, item.candidate);
}

// The item at a place of a warp's first list.
__device__ __forceinline__ Item first_item(const Coloring& c, u32 number) {
    const Part part = part_of(c.indptr, (u32)c.n, c.long_rows, number);
    const u32 vertex = part.vertex == NOBODY ? 0 : part.vertex;
    return {part, mask_begin(c, vertex), 0, 0, 0, vertex};
}

// Processes up to 32 items of a warp, one in each lane. Returns whether the lane's item stays, and clears `is_stored`
// where it has changed.
__device__ __forceinline__ bool process(const Coloring& c, const VertexOrder& order, Item& item, bool exists,
                                        bool& is_stored) {
    bool stays = exists;
    const u32 candidate = item.candidate;
    const bool checks = exists && !(is_stored && is_blocked(c, item)), by_warp = item.part.length > THREAD_ENTRIES;
    is_stored = is_stored && !checks && item.candidate == candidate;
    if (checks && !by_warp) stays = color_vertex<1>(c, order, item);
    for (u32 left = __ballot_sync(FULL_WARP, checks && by_warp); left; left &= left - 1) {
        const int owner = __ffs((int)left) - 1;
        Item other = from_lane(item, owner);
        const bool other_stays = color_vertex<32>(c, order, other);
        if ((int)(threadIdx.x % 32) != owner) continue;
        item = other;
        stays = other_stays;
    }
    return stays;
}

// All vertices, in one cooperative launch. Every warp has a list of items of its own, and processes them until all are
// finished, without barriers: vertices are dealt to the warps in chunks of 32, pieces of long rows one by one.
extern "C" __global__ void __launch_bounds__(256) color(Coloring c) {
    u32 generation = 0;
    initialize(c);
    grid_barrier(c.barrier, generation);
    const VertexOrder order = {c.degrees, (u32)iteration_key(c.seed, 2)};
    const WarpItems items = items_of_warp(c.n, piece_count(c.long_rows));
    u32 left = items.count;
    for (bool is_first = true; left; is_first = false) {
        u32 kept = 0;
        for (u32 base = 0; base < left; base += 32) {
            const u32 lane = threadIdx.x % 32, place = base + lane;
            const u32 number = is_first && place < left ? items.number(place) : NO_ITEM;
            Item item = is_first || place >= left ? first_item(c, number) : load(c, items.list + place);
            const bool exists = place < left && item.part.vertex != NOBODY;
            bool is_stored = !is_first;
            const bool stays = process(c, order, item, exists, is_stored);
            const u32 staying = __ballot_sync(FULL_WARP, stays);
            const u32 target = kept + __popc(staying & ((1u << lane) - 1));
            if (stays && !(is_stored && target == place)) save(c, items.list + target, item);
            kept += __popc(staying);
        }
        __syncwarp();
        left = kept;
    }
}
