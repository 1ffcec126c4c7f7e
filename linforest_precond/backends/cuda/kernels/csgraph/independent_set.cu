#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

// The state of a vertex, one byte: in the set, excluded, or else, while it is undecided, the bit length of its degree;
// an isolated vertex is a member. Decisions are final, so the order in which threads see them does not matter.
#define MEMBER 0
#define EXCLUDED 255
// The priority of an excluded vertex, after all others.
#define NO_PRIORITY (~0ull)

// Whether a priority is that of a member: the state is its class.
DEVICE bool is_member(u64 priority) { return priority >> 59 == MEMBER; }

struct Selection {
    In<INDEX> indptr;
    In<int> indices, degrees;
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
    // For k = 1: the items of the warps, and the barrier.
    u32 *lists, *barrier;
    i64 n;
    u64 seed;
    i64 k;
    // Lanes per vertex for k = 2, a power of two.
    i64 lanes;
};

__device__ void initialize(const Selection& s) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < s.n; v += step) s.states[v] = (u8)(32 - __clz(s.degrees[v]));
    for (i64 row = first; row < row_count(s.long_rows); row += step) {
        const int v = s.long_rows.rows[row];
        s.unfinished[row] = pieces_in((i64)s.indptr[v + 1] - s.indptr[v]);
        if (s.k == 1) continue;
        s.row_minima[row] = NO_PRIORITY;
        s.arrived[row] = 0;
    }
}

__device__ void write_members(const Selection& s) {
    GRID_STRIDE (i64, v, s.n) s.members[v] = __ldcg(s.states + v) == MEMBER;
}

// The Problem of worklist.cuh: undecided neighbours of higher priority block a vertex, members reject it.
struct SelectionProblem {
    typedef u8 State;
    In<int> indices;
    const u8* states;
    u32 tie_key;

    DEVICE u8 fetch(int neighbour) const { return *(const volatile u8*)(states + neighbour); }
    DEVICE u64 priority(int vertex, u8 state) const {
        return state == EXCLUDED ? NO_PRIORITY : priority_word(state, (u32)vertex, tie_key);
    }
    DEVICE Outcome check(u64 own, int neighbour, u8 state) const {
        if (state == MEMBER) return REJECTED;
        return priority(neighbour, state) < own ? BLOCKED : PASSED;
    }
};

DEVICE SelectionProblem problem_of(const Selection& s) { return {s.indices, s.states, (u32)iteration_key(s.seed, 2)}; }

// Excludes all neighbours of new members, by the lanes whose part is `wanted`.
DEVICE void exclude_neighbours(const Selection& s, const Part& part, bool wanted) {
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
DEVICE bool decide(const Selection& s, const SelectionProblem& problem, u32 item) {
    const Part part = part_of(s.indptr, (u32)s.n, s.long_rows, item);
    const u8 state = part.vertex == NOBODY ? (u8)EXCLUDED : problem.fetch(part.vertex);
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
    if (!stays && part.vertex != NOBODY) s.members[part.vertex] = joins || state == MEMBER;
    return stays;
}

// The set for k = 1, in one cooperative launch: Luby's algorithm (SIAM J. Comput. 15, 1986, doi:10.1137/0215074) with
// fixed priorities, which give the sequential greedy set (G. Blelloch, J. Fineman, J. Shun, SPAA 2012,
// doi:10.1145/2312005.2312058). Asynchronous, as ECL-MIS (M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers,
// ACM Trans. Parallel Comput. 5, 2018, doi:10.1145/3291525).
KERNEL __launch_bounds__(256) select_distance_1(Selection s) {
    u32 generation = 0;
    initialize(s);
    const u64 pieces = piece_count(s.long_rows), items = s.n + pieces;
    GRID_STRIDE (u64, item, items) s.offsets[item] = 0;
    grid_barrier(s.barrier, generation);
    const SelectionProblem problem = problem_of(s);
    process_own_items(s.lists, s.n, pieces, [&](u32 item) { return decide(s, problem, item); });
}

// The minimum of `word(u)` over the neighbours u of a vertex, by its lanes and for all of them; NO_PRIORITY where it is not
// `wanted`, on which its lanes agree. Called by all lanes of a warp.
template <typename Word>
DEVICE u64 least_near(const Selection& s, u32 vertex, bool wanted, Word word) {
    const int lanes = (int)s.lanes, lane = threadIdx.x & (lanes - 1);
    u64 least = NO_PRIORITY;
    if (wanted) {
        const i64 begin = s.indptr[vertex];
        const int length = (int)(s.indptr[vertex + 1] - begin);
        for (int base = 0; base < length; base += LOADS * lanes) {
            int neighbours[LOADS];
            u64 words[LOADS];
#pragma unroll
            for (int i = 0; i < LOADS; ++i)
                neighbours[i] = __ldg(s.indices + begin + min(base + i * lanes + lane, length - 1));
#pragma unroll
            for (int i = 0; i < LOADS; ++i) words[i] = word(neighbours[i]);
#pragma unroll
            for (int i = 0; i < LOADS; ++i) least = min(least, words[i]);
        }
    }
    for (int half = lanes / 2; half > 0; half /= 2) least = min(least, __shfl_xor_sync(FULL_WARP, least, half));
    return least;
}

// Sets the states and the minima of all vertices.
__device__ void find_first_minima(const Selection& s, const SelectionProblem& problem) {
    const auto state_of = [&](int v) { return (u8)(32 - __clz(s.degrees[v])); };
    const auto priority = [&](int v) { return problem.priority(v, state_of(v)); };
    const int lanes = (int)s.lanes;
    const i64 threads = s.n * lanes;
    BLOCK_STRIDE (i64, base, threads) {
        const i64 thread = base + threadIdx.x;
        const u32 vertex = (u32)(thread >> (31 - __clz(lanes)));
        const u64 least = least_near(s, vertex, thread < threads, priority);
        if (thread >= threads || (thread & (lanes - 1))) continue;
        s.states[vertex] = state_of((int)vertex);
        s.minima[vertex] = min(least, priority((int)vertex));
    }
}

// A new member excludes its neighbours, and is their minimum for good; by the lanes of the vertex.
DEVICE void join_set(const Selection& s, const SelectionProblem& problem, u32 vertex) {
    const int lanes = (int)s.lanes, lane = threadIdx.x & (lanes - 1);
    const u64 word = problem.priority((int)vertex, MEMBER);
    volatile u8* const states = s.states;
    volatile u64* const minima = s.minima;
    if (lane == 0) {
        states[vertex] = MEMBER;
        minima[vertex] = word;
    }
    const i64 end = s.indptr[vertex + 1];
    for (i64 i = (i64)s.indptr[vertex] + lane; i < end; i += lanes) {
        const u32 neighbour = (u32)__ldg(s.indices + i);
        if (neighbour == vertex) continue;
        states[neighbour] = EXCLUDED;
        minima[neighbour] = word;
    }
}

// Brings a vertex's minimum up to date, which changes only where its holder has been excluded or joins, and decides the
// vertex: it joins if it is the minimum of all neighbours, and is excluded if one of them has a member as its minimum.
// Returns whether the vertex stays in the worklist: until its minimum is final. Called by all lanes of a warp.
DEVICE bool settle(const Selection& s, const SelectionProblem& problem, u32 item) {
    // One lane reads for all of its vertex: others may write at the same time.
    const auto agreed = [&](u64 word) { return __shfl_sync(FULL_WARP, word, 0, (int)s.lanes); };
    const auto is_final = [](u64 word) { return word == NO_PRIORITY || is_member(word); };
    const auto priority = [&](int v) { return problem.priority(v, problem.fetch(v)); };
    const bool exists = item != NO_ITEM, is_first_lane = (threadIdx.x & ((u32)s.lanes - 1)) == 0;
    const u8 state = (u8)agreed(exists ? problem.fetch((int)item) : (u8)EXCLUDED);
    const u64 own = problem.priority((int)item, state);

    const u64 known = agreed(exists ? __ldcg(s.minima + item) : NO_PRIORITY);
    const int holder = (int)(u32)known;
    const u8 holding = (u8)agreed(is_final(known) ? (u8)MEMBER : problem.fetch(holder));
    const bool lost = !is_final(known) && holding == EXCLUDED;
    u64 near = min(own, least_near(s, item, lost, priority));
    if (!lost) near = !is_final(known) && holding == MEMBER ? problem.priority(holder, MEMBER) : known;
    if (is_first_lane && near != known) *(volatile u64*)(s.minima + item) = near;

    const bool undecided = state != EXCLUDED && state != MEMBER, searches = undecided && !is_member(near);
    const u64 least = min(near, least_near(s, item, searches, [&](int v) { return __ldcg(s.minima + v); }));
    const bool joins = searches && least == own;
    if (joins) join_set(s, problem, item);
    else if (is_first_lane && undecided && is_member(least)) *(volatile u8*)(s.states + item) = EXCLUDED;
    return !joins && !is_final(near);
}

// The set for k = 2 without very long rows, in one cooperative launch: as `select_distance_k`, by work that is linear in
// the entries, with a worklist and one barrier per round. Minima that are read while they change do no harm: all that
// precede the vertex of one have been excluded for good.
KERNEL __launch_bounds__(256, 4) select_distance_2(Selection s, Worklist work, u32* barrier) {
    u32 generation = 0;
    const SelectionProblem problem = problem_of(s);
    find_first_minima(s, problem);
    grid_barrier(barrier, generation);
    const auto examine = [&](u32 item) { return settle(s, problem, item); };
    process_worklist(work, s.n, barrier, generation, examine, (u32)s.lanes);
    write_members(s);
}

// For every vertex for which `wanted(vertex)` holds: the minimum of `priority(v)` over the vertex and its neighbours,
// given to `finish(vertex, minimum)`.
template <typename Wanted, typename Priority, typename Finish>
DEVICE void find_minima(const Selection& s, Wanted wanted, Priority priority, Finish finish) {
    const i64 items = s.n + piece_count(s.long_rows);
    BLOCK_STRIDE (i64, base, items) {
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
KERNEL __launch_bounds__(256) select_distance_k(Selection s, u32* barrier) {
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
