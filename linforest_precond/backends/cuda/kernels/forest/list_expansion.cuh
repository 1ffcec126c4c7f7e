// Pointer jumping over the last stage, then expansion: ranks go back through the stages to the vertices.

// The barrier between rounds of pointer jumping, and the counters of the coming round; all zero at first.
struct Rounds {
    u32* barrier;
    u64* counters;
};

// Jumps of a link in one round, between two barriers.
#define JUMPS 8

// The links of the last stage, twice: as they are, and for pointer jumping.
__device__ void resolve_last_stage(const Paths& paths) {
    const u32 nodes = (u32)__ldcg(paths.counters + NODES + STAGES - 1);
    GRID_STRIDE (u32, node, nodes) {
        const Links links = resolved_links(paths, STAGES - 1, node);
        paths.stages[STAGES - 1].links[node] = links;
        paths.jumped[2 * node] = links.link[0];
        paths.jumped[2 * node + 1] = links.link[1];
    }
}

// Pointer jumping (Wyllie 1979): a link is replaced by itself and the link it leads to, until it holds an end. In
// every round the unfinished link nearest to an end reaches it, so a round in which none does proves that all
// unfinished links run in cycles. Returns whether there are any.
__device__ bool jump_to_ends(u64* links, u32 half_edges, Rounds& rounds, u32& generation) {
    for (;; rounds.counters += 2) {
        u64 finished = 0, unfinished = 0;
        GRID_STRIDE (u32, own, half_edges) {
            u64 link = __ldcg(links + own);
            if (is_end(link)) continue;
            for (int jump = 0; jump < JUMPS && !is_end(link); ++jump) {
                const u64 next = __ldcg(links + upper(link));
                link = word(upper(next), lower(link) + lower(next));
            }
            finished += is_end(link);
            unfinished += !is_end(link);
            __stcg(links + own, link);
        }
        finished = warp_sum(finished);
        unfinished = warp_sum(unfinished);
        if (threadIdx.x % 32 == 0 && finished) atomicAdd(rounds.counters, finished);
        if (threadIdx.x % 32 == 0 && unfinished) atomicAdd(rounds.counters + 1, unfinished);
        grid_barrier(rounds.barrier, generation);
        if (__ldcg(rounds.counters)) continue;
        rounds.counters += 2;
        return __ldcg(rounds.counters - 1);
    }
}

// Labels each cycle of the last stage with the least origin of its nodes, by pointer jumping. Links on cycles hold
// the least origin seen so far instead of a distance. In every round the nearest link before that node which
// does not hold its origin yet gets it, so a round without changes is the last one.
__device__ void label_cycles(const Paths& paths, u32 half_edges, Rounds& rounds, u32& generation) {
    const RankingStage& last = paths.stages[STAGES - 1];
    u64* const links = &last.links[0].link[0];
    GRID_STRIDE (u32, own, half_edges) {
        const u64 link = links[own];
        if (!is_end(link))
            __stcg(links + own, word(upper(link), min(last.origin[own / 2], last.origin[upper(link) / 2])));
    }
    grid_barrier(rounds.barrier, generation);
    for (;; ++rounds.counters) {
        bool changed = false;
        GRID_STRIDE (u32, own, half_edges) {
            if (is_end(__ldcg(paths.jumped + own))) continue;
            const u64 old = __ldcg(links + own);
            u64 link = old;
            for (int jump = 0; jump < JUMPS; ++jump) {
                const u64 next = __ldcg(links + upper(link));
                link = word(upper(next), min(lower(link), lower(next)));
            }
            changed |= lower(link) < lower(old);
            __stcg(links + own, link);
        }
        if (__syncthreads_or(changed) && threadIdx.x == 0) atomicAdd(rounds.counters, 1ull);
        grid_barrier(rounds.barrier, generation);
        if (!__ldcg(rounds.counters)) break;
    }
}

// Ranks the nodes of the last stage.
__device__ void rank_last_stage(const Paths& paths, u32 nodes, u64& longest, u64& cycles) {
    const RankingStage& last = paths.stages[STAGES - 1];
    GRID_STRIDE (u32, node, nodes) {
        const u64 link_0 = __ldcg(paths.jumped + 2 * node), link_1 = __ldcg(paths.jumped + 2 * node + 1);
        if (is_end(link_0)) {
            last.records[node] = ranked_on_path(paths, link_0, link_1, longest);
        } else {
            const u32 label = lower(__ldcg(&last.links[node].link[0]));
            last.records[node] = ranked_on_cycle(label);
            cycles += label == last.origin[node];
        }
    }
}

// Ranks the nodes of a stage by their splitters, the nodes of the next one.
__device__ void rank_nodes(const Paths& paths, int stage) {
    const RankingStage &nodes = paths.stages[stage], &next = paths.stages[stage + 1];
    const u32 count = (u32)__ldcg(paths.counters + NODES + stage);
    GRID_STRIDE (u32, node, count) {
        const u64 record = nodes.records[node];
        if (lower(record) & RANKED) continue;
        nodes.records[node] = ranked_by_splitter(record, next.records[upper(record) / 2]);
    }
}

// Writes path id and position of all vertices, and counts the paths. The first run lists the vertices on cycles,
// for the second one.
__device__ void rank_vertices(const Paths& paths, bool second_run, u64& path_count) {
    const i64 items = second_run ? (i64)paths.counters[CYCLIC] : paths.vertices;
    const i64 block_items = (i64)AT_ONCE * blockDim.x;
    for (i64 base = blockIdx.x * block_items; base < items; base += gridDim.x * block_items) {
        INDEX vertices[AT_ONCE];
        u64 records[AT_ONCE];
        u32 cyclic = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 item = base + i * blockDim.x + threadIdx.x;
            vertices[i] = item >= items ? NO_VERTEX : second_run ? (INDEX)paths.cyclic[item] : (INDEX)item;
            if (vertices[i] >= 0) records[i] = paths.records[vertices[i]];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const INDEX v = vertices[i];
            if (v < 0) continue;
            u64 record = records[i];
            if (!(lower(record) & RANKED))
                record = ranked_by_splitter(record, paths.stages[0].records[upper(record) / 2]);
            const u32 position = lower(record) & ~RANKED;
            path_count += position == 1;
            if (position == 0) cyclic |= 1u << i;
            paths.path_id[v] = (INDEX)(upper(record) & ~FORWARD);
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
