#include "forest/ranking_stages.cuh"
#include "forest/list_contraction.cuh"
#include "forest/list_expansion.cuh"

// Path id and position of every vertex of a [0,2]-factor, by list ranking; lists the vertices on cycles. The second
// run ranks these alone, after their cycles were cut. A cooperative launch; `barrier` and `counters` are zero at first.
KERNEL __launch_bounds__(512, 2) rank_paths(Paths paths, u32* barrier, u64* counters, int second_run) {
    if (second_run && !paths.counters[CYCLIC]) return;
    Rounds rounds = {barrier, counters};
    u32 generation = 0;
    u64 longest = 0, cycles = 0, path_count = 0;
    select_vertices(paths, second_run);
    grid_barrier(rounds.barrier, generation);
    walk_sublists<VertexWalk>(paths, 0);
    for (int stage = 1; stage < STAGES; ++stage) {
        grid_barrier(rounds.barrier, generation);
        select_nodes(paths, stage - 1, longest, cycles);
        grid_barrier(rounds.barrier, generation);
        walk_sublists<NodeWalk>(paths, stage);
    }
    grid_barrier(rounds.barrier, generation);
    resolve_last_stage(paths);
    grid_barrier(rounds.barrier, generation);

    const u32 nodes = (u32)__ldcg(paths.counters + NODES + STAGES - 1);
    const bool cyclic = jump_to_ends(paths.jumped, 2 * nodes, rounds, generation);
    if (cyclic) label_cycles(paths, 2 * nodes, rounds, generation);

    rank_last_stage(paths, nodes, longest, cycles);
    for (int stage = STAGES - 2; stage >= 0; --stage) {
        grid_barrier(rounds.barrier, generation);
        rank_nodes(paths, stage);
    }
    grid_barrier(rounds.barrier, generation);
    rank_vertices(paths, second_run, path_count);

    cycles = warp_sum(cycles);
    path_count = warp_sum(path_count);
    for (int half = 16; half > 0; half /= 2) longest = max(longest, __shfl_xor_sync(FULL_WARP, longest, half));
    if (threadIdx.x % 32) return;
    if (cycles) atomicAdd(paths.counters + CYCLES, cycles);
    if (path_count) atomicAdd(paths.counters + PATHS, path_count);
    // Isolated vertices are paths of length 1.
    if (path_count || longest) atomicMax(paths.counters + LONGEST, max(longest, 1ull));
}

// The weakest edge of each cycle, at the cycle's label: the bits of its weight; its ends, the smaller one in the upper
// half.
struct Weakest {
    u64 *weight, *ends;
};

DEVICE u64 edge_ends(INDEX v, INDEX w) { return word((u32)min(v, w), (u32)max(v, w)); }

// atomicMin behind a plain read: most candidates are not below the minimum and need no atomic.
DEVICE void lower_minimum(u64* minimum, u64 candidate) {
    if (candidate < __ldcg(minimum)) atomicMin(minimum, candidate);
}

// Removes the weakest edge of every cycle, the least by (weight, smaller end, larger end). Weights are nonnegative, so
// their bits are ordered as they are. A cooperative launch; `slots` may be null.
KERNEL __launch_bounds__(512, 3) cut_cycles(Paths paths, WEIGHT* values, INDEX* slots, Weakest weakest, u32* barrier) {
    u32 generation = 0;
    const i64 own = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    const i64 items = (i64)paths.counters[CYCLIC];
    if (!items) return;
    for (i64 item = own; item < items; item += stride) {
        const i64 label = paths.path_id[paths.cyclic[item]];
        weakest.weight[label] = weakest.ends[label] = ~0ull;
    }
    // The second run of rank_paths counts its nodes from 0.
    if (own < STAGES) paths.counters[NODES + own] = 0;
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const u64 one = bits(magnitude(values[2 * v])), other = bits(magnitude(values[2 * v + 1]));
        lower_minimum(weakest.weight + paths.path_id[v], min(one, other));
    }
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const Row row = paths.rows[v];
        const u64 one = bits(magnitude(values[2 * v])), other = bits(magnitude(values[2 * v + 1]));
        const u64 least = __ldcg(weakest.weight + paths.path_id[v]);
        if (one == least) lower_minimum(weakest.ends + paths.path_id[v], edge_ends((INDEX)v, row.first));
        if (other == least) lower_minimum(weakest.ends + paths.path_id[v], edge_ends((INDEX)v, row.second));
    }
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const Row row = paths.rows[v];
        const u64 cut = __ldcg(weakest.ends + paths.path_id[v]);
        const bool first = edge_ends((INDEX)v, row.first) == cut, second = edge_ends((INDEX)v, row.second) == cut;
        if (!first && !second) continue;
        if (first) {
            values[2 * v] = values[2 * v + 1];
            if (slots) slots[2 * v] = slots[2 * v + 1];
        }
        paths.rows[v] = {first ? row.second : row.first, NO_VERTEX};
        values[2 * v + 1] = 0;
        if (slots) slots[2 * v + 1] = NO_VERTEX;
    }
}

// The lighter edge of each vertex below both of its neighbours, 0 elsewhere. Every cycle has such a vertex, and loses
// no heavier edge when it is broken.
KERNEL find_most_lost(In<Row> rows, In<WEIGHT> values, i64 vertices, WEIGHT* __restrict__ lost) {
    GRID_STRIDE (i64, v, vertices) {
        const Row row = rows[v];
        WEIGHT lighter = 0;
        if (row.first > v && row.second >= 0) {  // neighbours ascend
            const WEIGHT one = magnitude(values[2 * v]), other = magnitude(values[2 * v + 1]);
            lighter = rank_of(one) < rank_of(other) ? one : other;
        }
        lost[v] = lighter;
    }
}
