// The [0,n]-factor by proposals: Algorithm 2 of Klein & Strzodka (2022), all iterations in one cooperative launch.
//
// STAGED: rows are short and staged in shared memory. SPLIT: some rows are long and split into pieces. A program has
// the code of one case alone: that of all takes the compiler twice as long.
#include "runtime/edge_order.cuh"
#if SWITCHES
#include "runtime/md5.cuh"
#endif
#include "matrix/long_row_split.cuh"
#include "matrix/scan_report.cuh"
#include "forest/candidates.cuh"
#include "forest/propositions.cuh"

// Counters of one iteration, zero at first.
struct Record {
    u64 active;                                 // vertices that propose
    u64 confirmed;                              // confirmed edges, each counted from both ends
    u64 proposed;                               // 1 if anything was proposed
    u64 started_at, proposed_at, confirmed_at;  // times of the start and of the ends of both halves, in nanoseconds
};

// The result of a launch, with which the next one continues.
struct Progress {
    u64 iterations, maximal, finished;
    u64 confirmed;  // edges of all iterations, each counted from both ends
    u64 active;
};

// Iterations that `automatic` always makes; from then on one that adds 1 % of the edges or less is the last.
#define FEWEST_AUTOMATIC 5

// Initial states before a charged first iteration: a charge, and no edges.
__device__ void first_charges(const Problem& problem, const Options& options) {
    const u64 key = charge_key(options, 0);
    GRID_STRIDE (i64, v, problem.rows) problem.state[v] = draws_positive(options, 0, key, v) ? POSITIVE : 0;
}

// Confirms the edges that both ends proposed. Vertices that are not closed form the next active list (stream
// compaction).
__device__ void confirm(const Problem& problem, const Iteration& it, const Options& options, Record* record,
                        const INDEX* list, INDEX* next_list) {
    const i64 block_items = (i64)blockDim.x * AT_ONCE;
    u64 confirmed = 0;
    for (i64 base = blockIdx.x * block_items; base < it.active; base += gridDim.x * block_items) {
        INDEX vertices[AT_ONCE];
        u32 open = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const i64 item = base + turn * blockDim.x + threadIdx.x;
            if (item >= it.active) continue;
            const i64 v = it.number ? (i64)list[item] : item;
            vertices[turn] = v;
            INDEX row[DEGREE];
#pragma unroll
            for (int i = 0; i < DEGREE; ++i) row[i] = problem.neighbors[v * DEGREE + i];
            u32 mask = 0;
#pragma unroll
            for (int i = 0; i < DEGREE; ++i) {
                // A row has duplicates only if the user's arrays changed; a path must not use an edge twice.
                if (row[i] < 0 || (i > 0 && row[i] == row[i - 1])) continue;
                bool mutual = false;
#pragma unroll
                for (int j = 0; j < DEGREE; ++j) mutual |= problem.neighbors[(i64)row[i] * DEGREE + j] == v;
                mask |= (u32)mutual << i;
            }
            const u32 before = it.number ? problem.state[v] & CONFIRMED : 0;
            confirmed += __popc(mask) - __popc(before);
            const bool closed = __popc(mask) == DEGREE || row[DEGREE - 1] == EXHAUSTED;
            u8 state = mask | (closed ? CLOSED : 0);
            if (!closed) {
                if (draws_positive(options, it.number + 1, it.next_charge_key, v)) state |= POSITIVE;
                open |= 1u << turn;
            }
            problem.state[v] = state;
        }
        u64 places[AT_ONCE];
        append_places(open, &record[1].active, places);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (open >> turn & 1) next_list[places[turn]] = vertices[turn];
    }
    confirmed = warp_sum(confirmed);
    if (threadIdx.x % 32 == 0 && confirmed) atomicAdd(&record->confirmed, confirmed);
}

// Removes the proposals that were not confirmed; rows stay ascending with empty places last.
__device__ void finish_rows(const Problem& problem) {
    GRID_STRIDE (i64, v, problem.rows) {
        const u32 mask = problem.state[v] & CONFIRMED;
        if (__popc(mask) == DEGREE) continue;
        i64 place = v * DEGREE;
        for (int i = 0; i < DEGREE; ++i) {
            if (!(mask >> i & 1)) continue;
            problem.neighbors[place] = problem.neighbors[v * DEGREE + i];
            problem.edge_values[place] = problem.edge_values[v * DEGREE + i];
            problem.slots[place] = problem.slots[v * DEGREE + i];
            ++place;
        }
        // The confirmed places are now the first.
        problem.state[v] = (problem.state[v] & ~CONFIRMED) | ((1u << __popc(mask)) - 1);
        for (; place < (v + 1) * DEGREE; ++place) {
            problem.neighbors[place] = NO_VERTEX;
            problem.edge_values[place] = 0;
            problem.slots[place] = NO_VERTEX;
        }
    }
}

// The iterations of the factor: propose, grid barrier, confirm, grid barrier. A cooperative launch. `barrier` and
// `records` are zero at first; there is one record more than iterations, because an iteration counts the active
// vertices of the next. The two active lists are double-buffered.
KERNEL __launch_bounds__(256, DEGREE > 2 ? 3
                              : STAGED   ? 5
                                         : 4)
    propose_factor(Problem problem, Options options, LongRows long_rows, Partial* partials, INDEX* lists,
                   Record* records, Progress* progress, u32* barrier) {
    if (options.report && !is_as_expected(options.report, options.longest)) return;
    u32 generation = 0;
    u64 total = progress->confirmed;
    bool finished = false, maximal = false;
    i64 k = options.first;
    i64 active = k ? (i64)progress->active : problem.rows;
    if (k == 0 && k % options.m != options.k_m) {
        first_charges(problem, options);
        grid_barrier(barrier, generation);
    }
    for (Record* record = records; k < options.last && !finished; ++record) {
        const bool charged = k % options.m != options.k_m;
        const Iteration it = {k, active, charged, tie_rule(options, k, charged), charge_key(options, k + 1)};
        if (blockIdx.x == 0 && threadIdx.x == 0) record->started_at = nanoseconds();
        const INDEX* const list = lists + k % 2 * problem.rows;
        INDEX* const next_list = lists + (k + 1) % 2 * problem.rows;
#if STAGED
        const bool all = k == 0 || active >= options.fewest_dense;
        bool proposed = all ? propose_dense(problem, it, options) : propose_listed(problem, it, options, list);
#else
        bool proposed = propose_sparse(problem, it, options, list);
#endif
#if SPLIT
        propose_pieces(problem, it, long_rows, partials);
        grid_barrier(barrier, generation);
        proposed |= join_pieces(problem, it, long_rows, partials);
#endif
        if (__syncthreads_or(proposed) && threadIdx.x == 0) record->proposed = 1;
        grid_barrier(barrier, generation);
        if (blockIdx.x == 0 && threadIdx.x == 0) record->proposed_at = nanoseconds();
        maximal = finished = !it.charged && !__ldcg(&record->proposed);
        confirm(problem, it, options, record, list, next_list);
        grid_barrier(barrier, generation);
        if (blockIdx.x == 0 && threadIdx.x == 0) record->confirmed_at = nanoseconds();
        const u64 confirmed = __ldcg(&record->confirmed);
        total += confirmed;
        active = (i64)__ldcg(&record[1].active);
        ++k;
        if (options.automatic && k >= FEWEST_AUTOMATIC && 100 * confirmed <= total) finished = true;
    }
    finish_rows(problem);
    if (blockIdx.x == 0 && threadIdx.x == 0) *progress = {(u64)k, maximal, finished, total, (u64)active};
}
