// Scans of the predecessors of a vertex that is to be coloured: its neighbours of higher priority.
//
// The state of a vertex is its colour, or else the complement of its candidate, the lowest colour that no coloured
// predecessor has. Candidates only rise, so states only fall, and states that are read late do no harm.
#define NO_CANDIDATE 0xffffffffu

DEVICE bool is_colored(u32 state) { return (int)state >= 0; }
DEVICE u32 fresh(const u32* state) { return *(const volatile u32*)state; }

// Whether an uncoloured predecessor may still take the candidate.
DEVICE bool contends(u32 state, u32 candidate) { return !is_colored(state) && ~state <= candidate; }

struct Coloring {
    In<INDEX> indptr;
    In<int> indices;
    // For the order by falling degree classes (LDF), else null.
    In<int> degrees;
    LongRows long_rows;
    u32* states;
    // Per piece of a long row, like a state: the complement of the lowest candidate of its predecessors, or
    // ALL_COLORED. The long row itself has its pieces as predecessors.
    u32* bounds;
    // Per item: the predecessor to poll, or NO_BLOCKER.
    u32* blockers;
    // Per item of a listed row: how many of its predecessors are listed, or UNLISTED.
    u32* lengths;
    // Per entry: the predecessors of a row or piece that were uncoloured in its last scan, from its first entry on.
    int* listed;
    // Bit masks of the colours of predecessors that are not listed any more; see mask_begin.
    u32* masks;
    // The items of the warps, and the barrier.
    u32 *lists, *barrier;
    i64 n, mask_words;
    u64 seed;
};
#define NO_BLOCKER 0xffffffffu
#define UNLISTED 0xffffffffu
#define NO_PREDECESSOR (~0ull)
// As a state: a colour that no vertex has.
#define ALL_COLORED 0x7fffffffu
// Entries of a short row, at most: it is not listed, and its forbidden colours are bits of one word.
#define SHORT_ROW 63

// A vertex with d entries has a colour of at most d, so a mask of more than d / 32 words suffices.
DEVICE u64 mask_begin(const Coloring& c, int vertex) { return (u64)c.indptr[vertex] / 32 + (u64)vertex; }

struct VertexOrder {
    In<int> degrees;
    u32 tie_key;

    DEVICE u64 priority(int vertex) const {
        return priority_word(degrees ? __clz(__ldg(degrees + vertex)) - 1 : 0, (u32)vertex, tie_key);
    }
};

// What an item has to search: the entries of a row or a piece, or the pieces of a long row.
enum Kind { WHOLE_ROW, ROW_PIECE, LONG_ROW };
struct Search {
    i64 begin;
    int length, vertex;  // vertex: NOBODY where there is nothing to search
    Kind kind;

    DEVICE bool is_short() const { return kind == WHOLE_ROW && length <= SHORT_ROW; }
    // The state of a predecessor, which may be a piece.
    DEVICE u32 state_of(const Coloring& c, u32 predecessor) const {
        return fresh((kind == LONG_ROW ? c.bounds : c.states) + predecessor);
    }
};

DEVICE Search search_of(const Coloring& c, u32 item, u32 pieces) {
    if (item != NO_ITEM && item >= c.n + pieces) {
        const u32 row = item - (u32)c.n - pieces;
        const int vertex = c.long_rows.rows[row];
        const u32 count = pieces_in((i64)c.indptr[vertex + 1] - c.indptr[vertex]);
        return {c.long_rows.first[row], (int)count, vertex, LONG_ROW};
    }
    const Part part = part_of(c.indptr, (u32)c.n, c.long_rows, item);
    return {part.begin, part.length, part.vertex, part.owner == WHOLE ? WHOLE_ROW : ROW_PIECE};
}

// Warp shuffle of a search.
DEVICE Search from_lane(const Search& search, int lane) {
    return {__shfl_sync(FULL_WARP, search.begin, lane), __shfl_sync(FULL_WARP, search.length, lane),
            __shfl_sync(FULL_WARP, search.vertex, lane), (Kind)__shfl_sync(FULL_WARP, (int)search.kind, lane)};
}

// The result of a scan: the lowest colour that is not forbidden, and the uncoloured predecessor of the lowest
// candidate, as the word (candidate, predecessor). A scan is incomplete if all colours of its window are forbidden.
struct Scan {
    u64 lowest;
    u32 candidate;
    bool is_complete;

    DEVICE bool has_passed() const { return lowest == NO_PREDECESSOR; }
    DEVICE u32 bound() const { return (u32)(lowest >> 32); }
    DEVICE u32 blocker() const { return (u32)lowest; }
};

// Scan of a short row by one thread.
DEVICE Scan search_by_thread(const Coloring& c, const VertexOrder& order, const Search& search) {
    const u64 own = order.priority(search.vertex);
    u64 forbidden = 0, lowest = NO_PREDECESSOR;
    for (int first = 0; first < search.length; first += LOADS) {
        int neighbours[LOADS];
        u32 states[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i)
            neighbours[i] = __ldg(c.indices + search.begin + min(first + i, search.length - 1));
#pragma unroll
        for (int i = 0; i < LOADS; ++i) states[i] = fresh(c.states + neighbours[i]);
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            if (order.priority(neighbours[i]) >= own) continue;
            if (!is_colored(states[i])) lowest = min(lowest, (u64)~states[i] << 32 | (u32)neighbours[i]);
            else if (states[i] < 64) forbidden |= 1ull << states[i];
        }
    }
    return {lowest, (u32)__ffsll((long long)~forbidden) - 1, true};
}

// The forbidden colours that a warp finds, in a window of 32 words of the mask from word `base` on, in shared memory.
// Colours above are forbidden in the mask itself; colours below the candidate do not matter.
#define WINDOW 32
struct ForbiddenColors {
    u32 *window, *mask;
    u32 base, words;

    DEVICE void forbid(u32 color) const {
        const u32 word = color / 32, bit = 1u << color % 32;
        if (word < base || word >= words) return;
        if (word - base < WINDOW) atomicOr(window + (word - base), bit);
        else atomicOr(mask + word, bit);
    }
    // The lane's word of the mask.
    DEVICE u32 known() const {
        const u32 word = base + threadIdx.x % 32;
        return word < words ? __ldcg(mask + word) : 0;
    }
};

DEVICE ForbiddenColors forbidden_colors(const Coloring& c, int vertex, u32 candidate) {
    __shared__ u32 windows[256];
    u32* const window = windows + threadIdx.x / 32 * WINDOW;
    window[threadIdx.x % 32] = 0;
    __syncwarp();
    const u64 begin = mask_begin(c, vertex);
    return {window, c.masks + begin, candidate / 32, (u32)(mask_begin(c, vertex + 1) - begin)};
}

// Scan by a warp, with stream compaction of the predecessors that are still uncoloured. The colours of the others are
// forbidden. Returns the lowest (candidate, predecessor).
DEVICE u64 scan_predecessors(const Coloring& c, const VertexOrder& order, const Search& search, u32 item,
                             const ForbiddenColors& forbidden) {
    const u32 lane = threadIdx.x % 32;
    const bool has_pieces = search.kind == LONG_ROW, lists = !has_pieces && !search.is_short();
    const u32 length = lists ? c.lengths[item] : UNLISTED;
    const bool is_listed = length != UNLISTED;
    const u32 count = is_listed ? length : (u32)search.length;
    const u64 own = order.priority(search.vertex);
    u64 lowest = NO_PREDECESSOR;
    u32 kept = 0;
    for (u32 first = 0; first < count; first += 32 * LOADS) {
        u32 found[LOADS], states[LOADS];
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) {
            const i64 place = search.begin + min(first + 32 * i + lane, count - 1);
            found[i] = has_pieces ? (u32)place : (u32)(is_listed ? c.listed[place] : __ldg(c.indices + place));
        }
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) states[i] = search.state_of(c, found[i]);
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) {
            const u32 place = first + 32 * i + lane;
            const bool counts = place < count && (is_listed || has_pieces || order.priority((int)found[i]) < own);
            const bool stays = counts && !is_colored(states[i]);
            if (stays) lowest = min(lowest, (u64)~states[i] << 32 | found[i]);
            else if (counts) forbidden.forbid(states[i]);
            const u32 staying = __ballot_sync(FULL_WARP, stays), to = kept + __popc(staying & ((1u << lane) - 1));
            if (lists && stays && (to != place || !is_listed)) c.listed[search.begin + to] = (int)found[i];
            kept += __popc(staying);
        }
    }
    if (lists && lane == 0) c.lengths[item] = kept;
    for (int half = 16; half > 0; half /= 2) lowest = min(lowest, __shfl_xor_sync(FULL_WARP, lowest, half));
    return lowest;
}

// Search by a warp. A piece publishes its colours before its bound, so a long row reads the bounds first.
DEVICE Scan search_by_warp(const Coloring& c, const VertexOrder& order, const Search& search, u32 item, u32 candidate) {
    const bool has_pieces = search.kind == LONG_ROW, has_mask = !search.is_short();
    const ForbiddenColors forbidden = forbidden_colors(c, search.vertex, candidate);
    u32 known = has_mask && !has_pieces ? forbidden.known() : 0;
    const u64 lowest = scan_predecessors(c, order, search, item, forbidden);
    if (has_pieces) __threadfence();
    __syncwarp();
    if (has_pieces) known = forbidden.known();
    const u32 lane = threadIdx.x % 32, found = forbidden.window[lane];
    if (has_mask && (found & ~known)) atomicOr(forbidden.mask + forbidden.base + lane, found);
    if (search.kind == ROW_PIECE) __threadfence();
    __syncwarp();
    const u32 open = ~(found | known), lanes = __ballot_sync(FULL_WARP, open != 0);
    if (!lanes) return {lowest, 32 * (forbidden.base + WINDOW), false};
    const int lowest_lane = __ffs((int)lanes) - 1;
    const u32 bit = __ffs((int)__shfl_sync(FULL_WARP, open, lowest_lane)) - 1;
    return {lowest, 32 * (forbidden.base + lowest_lane) + bit, true};
}
