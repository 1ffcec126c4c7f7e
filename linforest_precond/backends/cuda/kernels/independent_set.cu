#include "common.cuh"
#include "pieces.cuh"
#include "worklist.cuh"

// The state of a vertex, one byte: in the set, out of it, or undecided and then the bit length of its degree: a vertex
// without neighbours is in the set. Decisions are final, so it does not matter in which order threads see them.
#define MEMBER 0
#define LEFT_OUT 255
// In front of all vertices, or behind them.
#define NO_WORD (~0ull)

struct Known {
    int vertex;
    u8 state;
};

struct Selection {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ indices;
    const int* __restrict__ degrees;
    LongRows long_rows;
    u8* states;
    // How far each item has looked; zero at first.
    u16* offsets;
    // Of long rows: the pieces that have not passed all of their entries.
    u32* unfinished;
    // Of long rows: the first word that their pieces found, and how many have looked.
    u64* first_words;
    u32* arrived;
    // For each number of steps up to k - 1, the first vertex, in order, that is not left out within so many of each vertex;
    // NOBODY where all are left out.
    int* nearest;
    int* members;
    i64 n;
    u64 seed;
    int k, padding;
};

// What a vertex sees when it looks at a neighbour: the neighbour itself, or, if it is FAR-sighted, the first vertex that
// this one has found.
template <bool FAR>
struct View {
    typedef ::Known Known;
    const int* __restrict__ indices;
    const u8* states;
    const int* nearest;
    u32 tie_key;

    __device__ __forceinline__ Known fetch(int neighbour) const {
        const int vertex = FAR ? __ldcg(nearest + neighbour) : neighbour;
        return {vertex, FAR && vertex == NOBODY ? (u8)LEFT_OUT : __ldcg(states + vertex)};
    }
    __device__ __forceinline__ u64 word(const Known& known) const {
        return known.state == LEFT_OUT ? NO_WORD : order_word(known.state, (u32)known.vertex, tie_key);
    }
    // A vertex must wait where a neighbour has yet to look for another one than one that was left out.
    __device__ __forceinline__ Sight sight(u64 own, int, const Known& known) const {
        if (known.state == MEMBER) return REFUSED;
        if (known.state == LEFT_OUT) return FAR && known.vertex != NOBODY ? BLOCKED : PASSED;
        return word(known) < own ? BLOCKED : PASSED;
    }
};

// What vertices see within so many steps of their neighbours.
template <bool FAR>
__device__ __forceinline__ View<FAR> view_of(const Selection& s, int steps) {
    return {s.indices, s.states, FAR ? s.nearest + (steps - 1) * s.n : nullptr, (u32)iteration_key(s.seed, 2)};
}

__device__ void begin(const Selection& s) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < s.n; v += step) s.states[v] = (u8)(32 - __clz(s.degrees[v]));
    for (i64 row = first; row < row_count(s.long_rows); row += step) {
        const int v = s.long_rows.rows[row];
        s.unfinished[row] = pieces_in((i64)s.indptr[v + 1] - s.indptr[v]);
        s.first_words[row] = NO_WORD;
        s.arrived[row] = 0;
    }
}

// Leaves out all neighbours of a new member, for lanes whose part is `wanted`.
__device__ __forceinline__ void leave_out(const Selection& s, const Part& part, bool wanted) {
    if (wanted && part.length <= ALONE)
        for (int i = 0; i < part.length; ++i) {
            const int neighbour = __ldg(s.indices + part.begin + i);
            if (neighbour != part.vertex) *(volatile u8*)(s.states + neighbour) = LEFT_OUT;
        }
    for (u32 left = __ballot_sync(FULL_WARP, wanted && part.length > ALONE); left; left &= left - 1) {
        const Part other = from_lane(part, __ffs(left) - 1);
        for (int i = threadIdx.x % 32; i < other.length; i += 32) {
            const int neighbour = __ldg(s.indices + other.begin + i);
            if (neighbour != other.vertex) *(volatile u8*)(s.states + neighbour) = LEFT_OUT;
        }
    }
}

// A vertex that nobody before it stands in the way of joins the set; one that sees a member is left out. Returns whether
// the item must come again. The pieces of a row that have passed all wait for the others, to leave out their neighbours.
template <bool FAR>
__device__ __forceinline__ bool decide(const Selection& s, const View<FAR>& view, u32 item) {
    const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
    const u8 state = part.vertex == NOBODY ? (u8)LEFT_OUT : __ldcg(s.states + part.vertex);
    const bool open = state != LEFT_OUT && (state != MEMBER || part.owner != WHOLE);
    int offset = open ? (int)s.offsets[item] : 0;
    const bool waiting = open && part.owner != WHOLE && offset == part.length, wanted = open && !waiting;
    const u64 own = view.word({part.vertex, state});
    const Sight sight = look_through(view, part, own, wanted, offset);
    bool stays = waiting && state != MEMBER, joins = false;
    if (wanted && sight == REFUSED) *(volatile u8*)(s.states + part.vertex) = LEFT_OUT;
    if (wanted && sight == PASSED) joins = part.owner == WHOLE || atomicSub(s.unfinished + part.owner, 1u) == 1;
    if (joins) *(volatile u8*)(s.states + part.vertex) = MEMBER;
    if (wanted && !joins && (sight == BLOCKED || (sight == PASSED && !FAR))) {
        s.offsets[item] = (u16)offset;
        stays = true;
    }
    if (!FAR) leave_out(s, part, joins || (waiting && state == MEMBER));
    return stays;
}

// The first word among a part's entries, by a thread or by a warp.
template <bool FAR>
__device__ __forceinline__ u64 first_word(const View<FAR>& view, const Part& part, int from, int stride) {
    u64 first = NO_WORD;
    for (int i = from; i < part.length; i += stride)
        first = min(first, view.word(view.fetch(__ldg(view.indices + part.begin + i))));
    return first;
}

// From the first vertices within steps - 1 to those within steps. One that was found is looked for again only when it has
// been left out: until then none before it can come.
template <bool FAR>
__device__ void find_nearest(const Selection& s, int steps, bool fresh) {
    const View<FAR> view = view_of<FAR>(s, steps - 1);
    int* const nearest = s.nearest + (steps - 1) * s.n;
    const i64 items = s.n + piece_count(s.long_rows);
    for (i64 base = (i64)blockIdx.x * blockDim.x; base < items; base += (i64)gridDim.x * blockDim.x) {
        const u32 item = base + threadIdx.x < items ? (u32)(base + threadIdx.x) : NO_ITEM;
        const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
        const bool present = part.vertex != NOBODY;
        const int known = present && !fresh ? __ldcg(nearest + part.vertex) : NOBODY;
        const bool wanted = present && (fresh || (known != NOBODY && __ldcg(s.states + known) == LEFT_OUT));
        u64 word = wanted ? view.word(view.fetch(part.vertex)) : NO_WORD;
        if (wanted && part.length <= ALONE) word = min(word, first_word(view, part, 0, 1));
        for (u32 left = __ballot_sync(FULL_WARP, wanted && part.length > ALONE); left; left &= left - 1) {
            const int lane = __ffs(left) - 1;
            u64 found = first_word(view, from_lane(part, lane), threadIdx.x % 32, 32);
            for (int half = 16; half > 0; half /= 2) found = min(found, __shfl_xor_sync(FULL_WARP, found, half));
            if ((int)(threadIdx.x % 32) == lane) word = min(word, found);
        }
        if (!wanted) continue;
        if (part.owner != WHOLE) {
            atomicMin(s.first_words + part.owner, word);
            __threadfence();
            const i64 length = (i64)s.indptr[part.vertex + 1] - s.indptr[part.vertex];
            if (atomicAdd(s.arrived + part.owner, 1u) + 1 < pieces_in(length)) continue;
            // The last piece of the row writes down what all have found.
            __threadfence();
            word = atomicExch(s.first_words + part.owner, NO_WORD);
            s.arrived[part.owner] = 0;
        }
        nearest[part.vertex] = word == NO_WORD ? NOBODY : (int)(u32)word;
    }
}

// Decides all vertices; returns when all blocks have.
template <bool FAR, typename Prepare>
__device__ __forceinline__ void decide_all(const Selection& s, const Worklist& work, u64 few, u32* barrier, u32& generation,
                                           Prepare prepare) {
    begin(s);
    grid_barrier(barrier, generation);
    const View<FAR> view = view_of<FAR>(s, s.k - 1);
    const auto examine = [&](u32 item) { return decide(s, view, item); };
    work_off(work, s.n + piece_count(s.long_rows), few, barrier, generation, prepare, examine);
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < s.n; v += (i64)gridDim.x * blockDim.x)
        s.members[v] = __ldcg(s.states + v) == MEMBER;
}

// The set of Luby's rounds in a fixed order, without neighbours. A cooperative launch.
extern "C" __global__ void __launch_bounds__(256, 6) select_near(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    decide_all<false>(s, work, FEW, barrier, generation, [](u32) {});
}

// The same with more than k steps between any two vertices, k > 1. Blocks always look at all vertices: those that are
// decided still see others.
extern "C" __global__ void __launch_bounds__(256) select_far(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    decide_all<true>(s, work, 0, barrier, generation, [&](u32 round) {
        find_nearest<false>(s, 1, round == 0);
        grid_barrier(barrier, generation);
        for (int steps = 2; steps < s.k; ++steps) {
            find_nearest<true>(s, steps, round == 0);
            grid_barrier(barrier, generation);
        }
    });
}
