#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

// The state of a vertex, one byte: in the set, out of it, or undecided and then the bit length of its degree: a vertex
// without neighbours is in the set. Decisions are final, so it does not matter in which order threads see them.
#define MEMBER 0
#define LEFT_OUT 255
// Behind all vertices.
#define NO_WORD (~0ull)

// What a word says of its vertex.
__device__ __forceinline__ bool is_member(u64 word) { return word >> 59 == MEMBER; }

struct Selection {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ indices;
    const int* __restrict__ degrees;
    LongRows long_rows;
    u8* states;
    // How far each item has looked.
    u16* offsets;
    // Of long rows: the pieces that have not passed all of their entries.
    u32* unfinished;
    // Of long rows: the first word that their pieces found, and how many have looked.
    u64* first_words;
    u32* arrived;
    // For each number of steps up to k - 1, the word of the first vertex, in order, that is not left out within so many of
    // each vertex; NO_WORD where all are left out.
    u64* nearest;
    // Whether any vertex is undecided, in even rounds and in odd ones; zero at first.
    u32* going;
    int* members;
    i64 n;
    u64 seed;
    i64 k;
};

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

__device__ void write_members(const Selection& s) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < s.n; v += (i64)gridDim.x * blockDim.x)
        s.members[v] = __ldcg(s.states + v) == MEMBER;
}

// What a vertex sees of its neighbours.
struct View {
    typedef u8 Known;
    const int* __restrict__ indices;
    const u8* states;
    u32 tie_key;

    __device__ __forceinline__ u8 fetch(int neighbour) const { return __ldcg(states + neighbour); }
    __device__ __forceinline__ u64 word(int vertex, u8 state) const {
        return state == LEFT_OUT ? NO_WORD : order_word(state, (u32)vertex, tie_key);
    }
    __device__ __forceinline__ Sight sight(u64 own, int neighbour, u8 state) const {
        if (state == MEMBER) return REFUSED;
        return word(neighbour, state) < own ? BLOCKED : PASSED;
    }
};

__device__ __forceinline__ View view_of(const Selection& s) {
    return {s.indices, s.states, (u32)iteration_key(s.seed, 2)};
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

// A vertex that nobody before it stands in the way of joins the set and leaves out its neighbours; one that sees a member
// is left out. Returns whether the item must come again: the pieces of a row that have passed all of their entries wait for
// the others.
__device__ __forceinline__ bool decide(const Selection& s, const View& view, u32 item) {
    const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
    const u8 state = part.vertex == NOBODY ? (u8)LEFT_OUT : __ldcg(s.states + part.vertex);
    const bool open = state != LEFT_OUT && (state != MEMBER || part.owner != WHOLE);
    int offset = open ? (int)s.offsets[item] : 0;
    const bool waiting = open && part.owner != WHOLE && offset == part.length, wanted = open && !waiting;
    const Sight sight = look_through(view, part, view.word(part.vertex, state), wanted, offset);
    bool stays = waiting && state != MEMBER, joins = false;
    if (wanted && sight == REFUSED) *(volatile u8*)(s.states + part.vertex) = LEFT_OUT;
    if (wanted && sight == PASSED) joins = part.owner == WHOLE || atomicSub(s.unfinished + part.owner, 1u) == 1;
    if (joins) *(volatile u8*)(s.states + part.vertex) = MEMBER;
    if (wanted && sight != REFUSED && !joins) {
        s.offsets[item] = (u16)offset;
        stays = true;
    }
    leave_out(s, part, joins || (waiting && state == MEMBER));
    return stays;
}

// The set of Luby's rounds in a fixed order, without neighbours. A cooperative launch.
extern "C" __global__ void __launch_bounds__(256, 5) select_near(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    begin(s);
    const i64 items = s.n + piece_count(s.long_rows);
    for (i64 item = (i64)blockIdx.x * blockDim.x + threadIdx.x; item < items; item += (i64)gridDim.x * blockDim.x)
        s.offsets[item] = 0;
    grid_barrier(barrier, generation);
    const View view = view_of(s);
    const auto examine = [&](u32 item) { return decide(s, view, item); };
    work_off(work, items, barrier, generation, examine);
    write_members(s);
}

// The first of the words that `word(vertex)` gives for a row's own vertex and its neighbours, for every row that
// `wanted(vertex)` names: `finish(vertex, first word)`.
template <typename Wanted, typename Word, typename Finish>
__device__ __forceinline__ void find_first(const Selection& s, Wanted wanted, Word word, Finish finish) {
    const i64 items = s.n + piece_count(s.long_rows);
    for (i64 base = (i64)blockIdx.x * blockDim.x; base < items; base += (i64)gridDim.x * blockDim.x) {
        const u32 item = base + threadIdx.x < items ? (u32)(base + threadIdx.x) : NO_ITEM;
        const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
        const bool open = part.vertex != NOBODY && wanted(part.vertex);
        u64 first = open ? word(part.vertex) : NO_WORD;
        if (open && part.length <= ALONE)
            for (int i = 0; i < part.length; ++i) first = min(first, word(__ldg(s.indices + part.begin + i)));
        for (u32 left = __ballot_sync(FULL_WARP, open && part.length > ALONE); left; left &= left - 1) {
            const int lane = __ffs(left) - 1;
            const Part other = from_lane(part, lane);
            u64 found = NO_WORD;
            for (int i = threadIdx.x % 32; i < other.length; i += 32)
                found = min(found, word(__ldg(s.indices + other.begin + i)));
            for (int half = 16; half > 0; half /= 2) found = min(found, __shfl_xor_sync(FULL_WARP, found, half));
            if ((int)(threadIdx.x % 32) == lane) first = min(first, found);
        }
        if (!open) continue;
        if (part.owner != WHOLE) {
            atomicMin(s.first_words + part.owner, first);
            __threadfence();
            const i64 length = (i64)s.indptr[part.vertex + 1] - s.indptr[part.vertex];
            if (atomicAdd(s.arrived + part.owner, 1u) + 1 < pieces_in(length)) continue;
            // The last piece of the row goes on with what all have found.
            __threadfence();
            first = atomicExch(s.first_words + part.owner, NO_WORD);
            s.arrived[part.owner] = 0;
        }
        finish(part.vertex, first);
    }
}

// The set with more than k steps between any two vertices, k > 1: in every round each vertex learns the first one within k
// steps, a step at a time. Where that is a member nothing can change. A cooperative launch.
extern "C" __global__ void __launch_bounds__(256) select_far(Selection s, u32* barrier) {
    u32 generation = 0;
    begin(s);
    grid_barrier(barrier, generation);
    const View view = view_of(s);
    bool going = true;
    for (u32 round = 0; going; ++round) {
        const u64* before = nullptr;
        const auto word = [&](int v) { return before ? __ldcg(before + v) : view.word(v, view.fetch(v)); };
        for (i64 steps = 1; steps < s.k; ++steps) {
            u64* const nearest = s.nearest + (steps - 1) * s.n;
            const auto changes = [&](int v) {
                if (!round) return true;
                const u64 known = __ldcg(nearest + v);
                return known != NO_WORD && !is_member(known);
            };
            find_first(s, changes, word, [&](int v, u64 first) { nearest[v] = first; });
            grid_barrier(barrier, generation);
            before = nearest;
        }
        bool undecided = false;
        const auto open = [&](int v) {
            const u8 state = view.fetch(v);
            return state != LEFT_OUT && state != MEMBER;
        };
        find_first(s, open, word, [&](int v, u64 first) {
            if (is_member(first)) s.states[v] = LEFT_OUT;
            else if ((u32)first == (u32)v) s.states[v] = MEMBER;
            else undecided = true;
        });
        if (__syncthreads_or(undecided) && threadIdx.x == 0) s.going[round % 2] = 1;
        grid_barrier(barrier, generation);
        going = __ldcg(s.going + round % 2);
        if (blockIdx.x == 0 && threadIdx.x == 0) s.going[(round + 1) % 2] = 0;
    }
    write_members(s);
}
