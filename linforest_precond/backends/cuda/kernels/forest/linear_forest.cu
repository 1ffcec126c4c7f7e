#include "runtime/common.cuh"
#include "forest/path_walks.cuh"
#include "forest/list_ranking.cuh"

// Rounds of the loops at the top, counted, and the barrier between them; all zero at first.
struct Rounds {
    u32* barrier;
    u64* news;
};

// Jumps made before the blocks wait for each other.
#define JUMPS 8

// Pointer jumping: each link at the top takes over where the link it leads to leads, until it holds an end. In
// every round the open link nearest to an end reaches it, so a round in which none does proves that all that
// are left run in cycles. Returns whether there are such.
__device__ bool jump_to_ends(u64* links, u32 half_edges, Rounds& rounds, u32& generation) {
    for (;; rounds.news += 2) {
        u64 closed = 0, open = 0;
        for (u32 own = blockIdx.x * blockDim.x + threadIdx.x; own < half_edges; own += gridDim.x * blockDim.x) {
            u64 link = __ldcg(links + own);
            if (is_end(link)) continue;
            for (int jump = 0; jump < JUMPS && !is_end(link); ++jump) {
                const u64 next = __ldcg(links + upper(link));
                link = word(upper(next), lower(link) + lower(next));
            }
            closed += is_end(link);
            open += !is_end(link);
            __stcg(links + own, link);
        }
        closed = warp_sum(closed);
        open = warp_sum(open);
        if (threadIdx.x % 32 == 0 && closed) atomicAdd(rounds.news, closed);
        if (threadIdx.x % 32 == 0 && open) atomicAdd(rounds.news + 1, open);
        grid_barrier(rounds.barrier, generation);
        if (__ldcg(rounds.news)) continue;
        rounds.news += 2;
        return __ldcg(rounds.news - 1);
    }
}

// The links that run in cycles lose their distances: each learns the least origin on its cycle, which names it.
// In every round the nearest link behind that node which does not know it learns it, so a round without news
// is the last.
__device__ void name_cycles(const Paths& paths, u32 half_edges, Rounds& rounds, u32& generation) {
    const Level& top = paths.levels[LEVELS - 1];
    u64* const links = &top.links[0].link[0];
    for (u32 own = blockIdx.x * blockDim.x + threadIdx.x; own < half_edges; own += gridDim.x * blockDim.x) {
        const u64 link = links[own];
        if (!is_end(link))
            __stcg(links + own, word(upper(link), min(top.origin[own / 2], top.origin[upper(link) / 2])));
    }
    grid_barrier(rounds.barrier, generation);
    for (;; ++rounds.news) {
        bool learned = false;
        for (u32 own = blockIdx.x * blockDim.x + threadIdx.x; own < half_edges; own += gridDim.x * blockDim.x) {
            if (is_end(__ldcg(paths.jumped + own))) continue;
            const u64 old = __ldcg(links + own);
            u64 link = old;
            for (int jump = 0; jump < JUMPS; ++jump) {
                const u64 next = __ldcg(links + upper(link));
                link = word(upper(next), min(lower(link), lower(next)));
            }
            learned |= lower(link) < lower(old);
            __stcg(links + own, link);
        }
        if (__syncthreads_or(learned) && threadIdx.x == 0) atomicAdd(rounds.news, 1ull);
        grid_barrier(rounds.barrier, generation);
        if (!__ldcg(rounds.news)) break;
    }
}

// States of the nodes at the top.
__device__ void settle_top(const Paths& paths, u32 nodes, u64& longest, u64& cycles) {
    const Level& top = paths.levels[LEVELS - 1];
    for (u32 node = blockIdx.x * blockDim.x + threadIdx.x; node < nodes; node += gridDim.x * blockDim.x) {
        const u64 one = __ldcg(paths.jumped + 2 * node), other = __ldcg(paths.jumped + 2 * node + 1);
        if (is_end(one)) {
            top.records[node] = path_state(paths, one, other, longest);
        } else {
            const u32 name = lower(__ldcg(&top.links[node].link[0]));
            top.records[node] = cycle_state(name);
            cycles += name == top.origin[node];
        }
    }
}

__device__ void settle_nodes(const Paths& paths, int number) {
    const Level &level = paths.levels[number], &above = paths.levels[number + 1];
    const u32 nodes = (u32)__ldcg(paths.counters + NODES + number);
    for (u32 node = blockIdx.x * blockDim.x + threadIdx.x; node < nodes; node += gridDim.x * blockDim.x) {
        const u64 record = level.records[node];
        if (lower(record) & SETTLED) continue;
        level.records[node] = state_below(record, above.records[upper(record) / 2]);
    }
}

// Path id and position of all vertices. The first run lists those on cycles for the second.
__device__ void settle_vertices(const Paths& paths, bool second_run, u64& begun) {
    const i64 items = second_run ? (i64)paths.counters[CYCLIC] : paths.vertices;
    const i64 block_items = (i64)AT_ONCE * blockDim.x;
    for (i64 base = blockIdx.x * block_items; base < items; base += gridDim.x * block_items) {
        INDEX vertices[AT_ONCE];
        u64 states[AT_ONCE];
        u32 cyclic = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 item = base + i * blockDim.x + threadIdx.x;
            vertices[i] = item >= items ? NO_VERTEX : second_run ? (INDEX)paths.cyclic[item] : (INDEX)item;
            if (vertices[i] >= 0) states[i] = paths.records[vertices[i]];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const INDEX v = vertices[i];
            if (v < 0) continue;
            u64 state = states[i];
            if (!(lower(state) & SETTLED)) state = state_below(state, paths.levels[0].records[upper(state) / 2]);
            const u32 position = lower(state) & ~SETTLED;
            begun += position == 1;
            if (position == 0) cyclic |= 1u << i;
            paths.path_id[v] = (INDEX)(upper(state) & ~RISES);
            paths.position[v] = (INDEX)position;
        }
        if (!__syncthreads_or(cyclic)) continue;
        u64 places[AT_ONCE];
        append_places(cyclic, paths.counters + CYCLIC, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
            if (cyclic >> i & 1) paths.cyclic[places[i]] = (u32)vertices[i];
    }
}

// Numbers all paths. A cooperative launch.
extern "C" __global__ void __launch_bounds__(512, 2) rank_paths(Paths paths, u32* barrier, u64* news, int second_run) {
    if (second_run && !paths.counters[CYCLIC]) return;
    Rounds rounds = {barrier, news};
    u32 generation = 0;
    u64 longest = 0, cycles = 0, begun = 0;
    select_vertices(paths, second_run);
    grid_barrier(rounds.barrier, generation);
    walk_level<VertexWalk>(paths, 0);
    for (int number = 1; number < LEVELS; ++number) {
        grid_barrier(rounds.barrier, generation);
        select_nodes(paths, number - 1, longest, cycles);
        grid_barrier(rounds.barrier, generation);
        walk_level<NodeWalk>(paths, number);
    }
    grid_barrier(rounds.barrier, generation);
    resolve_top(paths);
    grid_barrier(rounds.barrier, generation);

    const u32 nodes = (u32)__ldcg(paths.counters + NODES + LEVELS - 1);
    const bool cyclic = jump_to_ends(paths.jumped, 2 * nodes, rounds, generation);
    if (cyclic) name_cycles(paths, 2 * nodes, rounds, generation);
    settle_top(paths, nodes, longest, cycles);
    for (int number = LEVELS - 2; number >= 0; --number) {
        grid_barrier(rounds.barrier, generation);
        settle_nodes(paths, number);
    }
    grid_barrier(rounds.barrier, generation);
    settle_vertices(paths, second_run, begun);

    cycles = warp_sum(cycles);
    begun = warp_sum(begun);
    for (int half = 16; half > 0; half /= 2) longest = max(longest, __shfl_xor_sync(FULL_WARP, longest, half));
    if (threadIdx.x % 32) return;
    if (cycles) atomicAdd(paths.counters + CYCLES, cycles);
    if (begun) atomicAdd(paths.counters + PATHS, begun);
    // Lone vertices are paths of length 1.
    if (begun || longest) atomicMax(paths.counters + LONGEST, max(longest, 1ull));
}

// The weakest edge of each cycle so far, at the cycle's name: the bits of its weight, then its two ends.
struct Weakest {
    u64* weight;
    u64* ends;
};

__device__ __forceinline__ u64 edge_ends(INDEX v, INDEX w) { return word((u32)min(v, w), (u32)max(v, w)); }

// Takes the least into *place; most candidates are above it already and need no atomic.
__device__ __forceinline__ void take_least(u64* place, u64 candidate) {
    if (candidate < __ldcg(place)) atomicMin(place, candidate);
}

// Cuts every cycle at its weakest edge, the least by (weight, smaller end, larger end). Weights are not
// negative, so that their bits are ordered as they are. A cooperative launch; `slots` may be null.
extern "C" __global__ void __launch_bounds__(512, 3)
    cut_cycles(Paths paths, WEIGHT* values, INDEX* slots, Weakest weakest, u32* barrier) {
    u32 generation = 0;
    const i64 own = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    const i64 items = (i64)paths.counters[CYCLIC];
    if (!items) return;
    for (i64 item = own; item < items; item += stride) {
        const i64 name = paths.path_id[paths.cyclic[item]];
        weakest.weight[name] = weakest.ends[name] = ~0ull;
    }
    // The second run counts its nodes anew.
    if (own < LEVELS) paths.counters[NODES + own] = 0;
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const u64 one = bits(magnitude(values[2 * v])), other = bits(magnitude(values[2 * v + 1]));
        take_least(weakest.weight + paths.path_id[v], min(one, other));
    }
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const Row row = paths.rows[v];
        const u64 one = bits(magnitude(values[2 * v])), other = bits(magnitude(values[2 * v + 1]));
        const u64 least = __ldcg(weakest.weight + paths.path_id[v]);
        if (one == least) take_least(weakest.ends + paths.path_id[v], edge_ends((INDEX)v, row.first));
        if (other == least) take_least(weakest.ends + paths.path_id[v], edge_ends((INDEX)v, row.second));
    }
    grid_barrier(barrier, generation);
    for (i64 item = own; item < items; item += stride) {
        const i64 v = paths.cyclic[item];
        const Row row = paths.rows[v];
        const u64 gone = __ldcg(weakest.ends + paths.path_id[v]);
        const bool first = edge_ends((INDEX)v, row.first) == gone, second = edge_ends((INDEX)v, row.second) == gone;
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
