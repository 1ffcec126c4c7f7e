#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

// The state of a vertex, one byte: in the set, excluded, or else, while it is undecided, the bit length of its degree;
// an isolated vertex is a member. Decisions are final, so the order in which threads see them does not matter.
#define MEMBER 0
#define EXCLUDED 255
// The priority of an excluded vertex, after all others.
#define NO_PRIORITY (~0ull)

// Whether a priority is that of a member: the state is its class.
__device__ __forceinline__ bool is_member(u64 priority) { return priority >> 59 == MEMBER; }

struct Selection {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ indices;
    const int* __restrict__ degrees;
    LongRows long_rows;
    u8* states;
    // The entries of each item that have been passed.
    u16* offsets;
    // Per long row: the number of unfinished pieces.
    u32* unfinished;
    // Per long row: the lowest priority word that its pieces have found, and the number of pieces that are done.
    u64* row_minima;
    u32* arrived;
    // For each distance d from 1 to k - 1 and each vertex: the lowest priority word within d steps of it, NO_PRIORITY
    // where all vertices there are excluded.
    u64* minima;
    // Whether any vertex is undecided, in even rounds and in odd ones; zero at first.
    u32* any_undecided;
    int* members;
    i64 n;
    u64 seed;
    i64 k;
};

__device__ void initialize(const Selection& s) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < s.n; v += step) s.states[v] = (u8)(32 - __clz(s.degrees[v]));
    for (i64 row = first; row < row_count(s.long_rows); row += step) {
        const int v = s.long_rows.rows[row];
        s.unfinished[row] = pieces_in((i64)s.indptr[v + 1] - s.indptr[v]);
        s.row_minima[row] = NO_PRIORITY;
        s.arrived[row] = 0;
    }
}

__device__ void write_members(const Selection& s) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < s.n; v += (i64)gridDim.x * blockDim.x)
        s.members[v] = __ldcg(s.states + v) == MEMBER;
}

// The Problem of worklist.cuh: undecided neighbours of higher priority block a vertex, members reject it.
struct SelectionProblem {
    typedef u8 State;
    const int* __restrict__ indices;
    const u8* states;
    u32 tie_key;

    __device__ __forceinline__ u8 fetch(int neighbour) const { return __ldcg(states + neighbour); }
    __device__ __forceinline__ u64 priority(int vertex, u8 state) const {
        return state == EXCLUDED ? NO_PRIORITY : priority_word(state, (u32)vertex, tie_key);
    }
    __device__ __forceinline__ Outcome check(u64 own, int neighbour, u8 state) const {
        if (state == MEMBER) return REJECTED;
        return priority(neighbour, state) < own ? BLOCKED : PASSED;
    }
};

__device__ __forceinline__ SelectionProblem problem_of(const Selection& s) {
    return {s.indices, s.states, (u32)iteration_key(s.seed, 2)};
}

// Excludes all neighbours of new members, by the lanes whose part is `wanted`.
__device__ __forceinline__ void exclude_neighbours(const Selection& s, const Part& part, bool wanted) {
    if (wanted && part.length <= THREAD_ENTRIES)
        for (int i = 0; i < part.length; ++i) {
            const int neighbour = __ldg(s.indices + part.begin + i);
            if (neighbour != part.vertex) *(volatile u8*)(s.states + neighbour) = EXCLUDED;
        }
    for (u32 left = __ballot_sync(FULL_WARP, wanted && part.length > THREAD_ENTRIES); left; left &= left - 1) {
        const Part other = from_lane(part, __ffs(left) - 1);
        for (int i = threadIdx.x % 32; i < other.length; i += 32) {
            const int neighbour = __ldg(s.indices + other.begin + i);
            if (neighbour != other.vertex) *(volatile u8*)(s.states + neighbour) = EXCLUDED;
        }
    }
}

// A vertex that precedes all its undecided neighbours joins the set and excludes them; one with a member as its
// neighbour is excluded. Returns whether the item stays in the worklist: a finished piece stays until its row is
// decided.
__device__ __forceinline__ bool decide(const Selection& s, const SelectionProblem& problem, u32 item) {
    const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
    const u8 state = part.vertex == NOBODY ? (u8)EXCLUDED : __ldcg(s.states + part.vertex);
    const bool open = state != EXCLUDED && (state != MEMBER || part.owner != WHOLE);
    int offset = open ? (int)s.offsets[item] : 0;
    const bool finished = open && part.owner != WHOLE && offset == part.length, wanted = open && !finished;
    const Outcome outcome = scan_neighbours(problem, part, problem.priority(part.vertex, state), wanted, offset);
    bool stays = finished && state != MEMBER, joins = false;
    if (wanted && outcome == REJECTED) *(volatile u8*)(s.states + part.vertex) = EXCLUDED;
    if (wanted && outcome == PASSED) joins = part.owner == WHOLE || atomicSub(s.unfinished + part.owner, 1u) == 1;
    if (joins) *(volatile u8*)(s.states + part.vertex) = MEMBER;
    if (wanted && outcome != REJECTED && !joins) {
        s.offsets[item] = (u16)offset;
        stays = true;
    }
    exclude_neighbours(s, part, joins || (finished && state == MEMBER));
    return stays;
}

// The set for k = 1, in one cooperative launch: Luby's rounds (SIAM J. Comput. 15, 1986, doi:10.1137/0215074) with
// fixed priorities, which give the sequential greedy set (G. Blelloch, J. Fineman, J. Shun, SPAA 2012,
// doi:10.1145/2312005.2312058).
extern "C" __global__ void __launch_bounds__(256, 5) select_distance_1(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    initialize(s);
    const i64 items = s.n + piece_count(s.long_rows);
    for (i64 item = (i64)blockIdx.x * blockDim.x + threadIdx.x; item < items; item += (i64)gridDim.x * blockDim.x)
        s.offsets[item] = 0;
    grid_barrier(barrier, generation);
    const SelectionProblem problem = problem_of(s);
    const auto examine = [&](u32 item) { return decide(s, problem, item); };
    process_worklist(work, items, barrier, generation, examine);
    write_members(s);
}

// Scans the vertices within two steps of a vertex, whose rows have fewer than 256 entries, to the first one that decides:
// each neighbour, then the neighbour's row. An offset has the neighbour in its upper byte, and in its lower one the place
// in the row, counted from 1; 0 is the neighbour itself.
__device__ __forceinline__ Outcome scan_two_steps(const Selection& s, const SelectionProblem& problem, int vertex,
                                                  u64 own, u16& offset) {
    const i64 begin = s.indptr[vertex];
    const int length = (int)(s.indptr[vertex + 1] - begin);
    int place = offset & 255;
    for (int i = offset >> 8; i < length; ++i, place = 0) {
        const int middle = __ldg(s.indices + begin + i);
        if (middle == vertex) continue;
        const i64 start = s.indptr[middle];
        const int last = (int)(s.indptr[middle + 1] - start);
        for (; place <= last; place += LOADS) {
            int found[LOADS];
            u8 states[LOADS];
#pragma unroll
            for (int j = 0; j < LOADS; ++j) {
                const int at = min(place + j, last);
                found[j] = at ? __ldg(s.indices + start + at - 1) : middle;
            }
#pragma unroll
            for (int j = 0; j < LOADS; ++j) states[j] = problem.fetch(found[j]);
#pragma unroll
            for (int j = 0; j < LOADS; ++j) {
                const Outcome outcome = problem.check(own, found[j], states[j]);
                if (outcome == PASSED) continue;
                offset = (u16)(i << 8 | min(place + j, last));
                return outcome;
            }
        }
    }
    return PASSED;
}

// Excludes all vertices within two steps of a new member.
__device__ __forceinline__ void exclude_two_steps(const Selection& s, int member) {
    volatile u8* const states = s.states;
    for (i64 i = s.indptr[member]; i < s.indptr[member + 1]; ++i) {
        const int middle = __ldg(s.indices + i);
        if (middle == member) continue;
        states[middle] = EXCLUDED;
        for (i64 j = s.indptr[middle]; j < s.indptr[middle + 1]; ++j) {
            const int far = __ldg(s.indices + j);
            if (far != member) states[far] = EXCLUDED;
        }
    }
}

// The set for k = 2 where all rows are short, in one cooperative launch: as for k = 1, with the vertices within two steps
// as neighbours. A vertex is blocked by the first of them that is undecided and precedes it, so that most scans are
// short.
extern "C" __global__ void __launch_bounds__(256, 5) select_distance_2(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    initialize(s);
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < s.n; v += (i64)gridDim.x * blockDim.x)
        s.offsets[v] = 0;
    grid_barrier(barrier, generation);
    const SelectionProblem problem = problem_of(s);
    process_worklist(work, s.n, barrier, generation, [&](u32 item) {
        const u8 state = item == NO_ITEM ? (u8)EXCLUDED : problem.fetch((int)item);
        if (state == EXCLUDED || state == MEMBER) return false;
        const int vertex = (int)item;
        u16 offset = s.offsets[vertex];
        const Outcome outcome = scan_two_steps(s, problem, vertex, problem.priority(vertex, state), offset);
        if (outcome == BLOCKED) {
            s.offsets[vertex] = offset;
            return true;
        }
        *(volatile u8*)(s.states + vertex) = outcome == PASSED ? MEMBER : EXCLUDED;
        if (outcome == PASSED) exclude_two_steps(s, vertex);
        return false;
    });
    write_members(s);
}

// For every vertex for which `wanted(vertex)` holds: the minimum of `priority(v)` over the vertex and its neighbours,
// given to `finish(vertex, minimum)`.
template <typename Wanted, typename Priority, typename Finish>
__device__ __forceinline__ void find_minima(const Selection& s, Wanted wanted, Priority priority, Finish finish) {
    const i64 items = s.n + piece_count(s.long_rows);
    for (i64 base = (i64)blockIdx.x * blockDim.x; base < items; base += (i64)gridDim.x * blockDim.x) {
        const u32 item = base + threadIdx.x < items ? (u32)(base + threadIdx.x) : NO_ITEM;
        const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
        const bool open = part.vertex != NOBODY && wanted(part.vertex);
        u64 least = open ? priority(part.vertex) : NO_PRIORITY;
        if (open && part.length <= THREAD_ENTRIES)
            for (int i = 0; i < part.length; ++i) least = min(least, priority(__ldg(s.indices + part.begin + i)));
        for (u32 left = __ballot_sync(FULL_WARP, open && part.length > THREAD_ENTRIES); left; left &= left - 1) {
            const int lane = __ffs(left) - 1;
            const Part other = from_lane(part, lane);
            u64 found = NO_PRIORITY;
            for (int i = threadIdx.x % 32; i < other.length; i += 32)
                found = min(found, priority(__ldg(s.indices + other.begin + i)));
            for (int half = 16; half > 0; half /= 2) found = min(found, __shfl_xor_sync(FULL_WARP, found, half));
            if ((int)(threadIdx.x % 32) == lane) least = min(least, found);
        }
        if (!open) continue;
        if (part.owner != WHOLE) {
            atomicMin(s.row_minima + part.owner, least);
            __threadfence();
            const i64 length = (i64)s.indptr[part.vertex + 1] - s.indptr[part.vertex];
            if (atomicAdd(s.arrived + part.owner, 1u) + 1 < pieces_in(length)) continue;
            // The last piece of the row finishes it.
            __threadfence();
            least = atomicExch(s.row_minima + part.owner, NO_PRIORITY);
            s.arrived[part.owner] = 0;
        }
        finish(part.vertex, least);
    }
}

// The set for k > 1, in one cooperative launch: MIS(k) of N. Bell, S. Dalton, L. Olson, "Exposing Fine-Grained
// Parallelism in Algebraic Multigrid Methods" (SIAM J. Sci. Comput. 34, 2012, doi:10.1137/110838844). Every round
// propagates the lowest priority words by k steps: a vertex that finds itself joins, one that finds a member is
// excluded. A minimum that is a member's is final.
extern "C" __global__ void __launch_bounds__(256) select_distance_k(Selection s, u32* barrier) {
    u32 generation = 0;
    initialize(s);
    grid_barrier(barrier, generation);
    const SelectionProblem problem = problem_of(s);
    bool going = true;
    for (u32 round = 0; going; ++round) {
        const u64* before = nullptr;
        const auto priority = [&](int v) {
            return before ? __ldcg(before + v) : problem.priority(v, problem.fetch(v));
        };
        for (i64 steps = 1; steps < s.k; ++steps) {
            u64* const minima = s.minima + (steps - 1) * s.n;
            const auto changes = [&](int v) {
                if (!round) return true;
                const u64 known = __ldcg(minima + v);
                return known != NO_PRIORITY && !is_member(known);
            };
            find_minima(s, changes, priority, [&](int v, u64 least) { minima[v] = least; });
            grid_barrier(barrier, generation);
            before = minima;
        }
        bool undecided = false;
        const auto open = [&](int v) {
            const u8 state = problem.fetch(v);
            return state != EXCLUDED && state != MEMBER;
        };
        find_minima(s, open, priority, [&](int v, u64 least) {
            if (is_member(least)) s.states[v] = EXCLUDED;
            else if ((u32)least == (u32)v) s.states[v] = MEMBER;
            else undecided = true;
        });
        if (__syncthreads_or(undecided) && threadIdx.x == 0) s.any_undecided[round % 2] = 1;
        grid_barrier(barrier, generation);
        going = __ldcg(s.any_undecided + round % 2);
        if (blockIdx.x == 0 && threadIdx.x == 0) s.any_undecided[(round + 1) % 2] = 0;
    }
    write_members(s);
}
