// Contraction: selects the splitters of each stage and walks the sublists between them.

// Makes a splitter a node of `next`. Until the walk from it is done, a link there is the first step of that walk.
DEVICE void add_node(const RankingStage& next, u32 node, u32 previous, u32 origin, const Links& first_steps) {
    next.previous[node] = previous;
    next.origin[node] = origin;
    next.links[node] = first_steps;
}

// The nodes of stage 0: splitters among the vertices. Isolated vertices are ranked at once. The second run takes the
// vertices that were on cycles.
__device__ void select_vertices(const Paths& paths, bool second_run) {
    const i64 items = second_run ? (i64)paths.counters[CYCLIC] : paths.vertices;
    const i64 block_items = (i64)AT_ONCE * blockDim.x;
    for (i64 base = blockIdx.x * block_items; base < items; base += gridDim.x * block_items) {
        Row rows[AT_ONCE];
        INDEX vertices[AT_ONCE];
        u32 splitters = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 item = base + i * blockDim.x + threadIdx.x;
            vertices[i] = item >= items ? NO_VERTEX : second_run ? (INDEX)paths.cyclic[item] : (INDEX)item;
            if (vertices[i] >= 0) rows[i] = paths.rows[vertices[i]];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const INDEX v = vertices[i];
            if (v < 0) continue;
            if (rows[i].first < 0) {
                paths.records[v] = word((u32)v, RANKED | 1);
                paths.lengths[v] = 1;
                continue;
            }
            const u32 own = vertex_hash(v);
            if (own < vertex_hash(rows[i].first) && own < vertex_hash(rows[i].second)) splitters |= 1u << i;
        }
        u64 places[AT_ONCE];
        append_places(splitters, paths.counters + NODES, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (!(splitters >> i & 1)) continue;
            const u32 v = (u32)vertices[i], node = (u32)places[i];
            paths.records[v] = splitter_record(node);
            add_node(paths.stages[0], node, v, v, {word(0, (u32)rows[i].first), word(0, (u32)rows[i].second)});
        }
    }
}

// A walk over vertices, from a splitter to the next one or to the end of the path. Both walks between two splitters
// pass every vertex there; the record is left by the walk that comes from the neighbour of lower hash. The link
// that is stored holds a half-edge of the vertices; resolved_links turns it into one of nodes.
struct VertexWalk {
    INDEX previous, current;
    u32 previous_hash, hash, own, distance;

    DEVICE bool begin(const Paths& paths, int, u32 half_edge, u32 from, u64 first_step) {
        own = half_edge;
        previous = (INDEX)from;
        current = (INDEX)(int)lower(first_step);
        previous_hash = vertex_hash(previous);
        hash = vertex_hash(current);
        distance = 1;
        if (current < 0) finish(paths, word(END | from, 0));
        return current >= 0;
    }
    DEVICE void finish(const Paths& paths, u64 link) { paths.stages[0].links[own / 2].link[own % 2] = link; }
    DEVICE bool step(const Paths& paths, int) {
        const Row row = paths.rows[current];
        const u32 back = row.first == previous ? 0 : 1;
        const INDEX next = back ? row.first : row.second;
        const u32 next_hash = vertex_hash(next);
        const bool splitter = hash < previous_hash && hash < next_hash;
        if (!splitter && previous_hash <= next_hash) paths.records[current] = word(own, distance << 1 | back);
        if (splitter) finish(paths, word(2 * (u32)current + 1 - back, distance));
        else if (next < 0) finish(paths, word(END | (u32)current, distance));
        previous = current;
        current = next;
        previous_hash = hash;
        hash = next_hash;
        ++distance;
        return !splitter && next >= 0;
    }
};

// The same over the nodes of the stage before `stage`.
struct NodeWalk {
    u64 link;
    u32 previous_hash, hash, own;

    DEVICE bool begin(const Paths&, int stage, u32 half_edge, u32 from, u64 first_step) {
        own = half_edge;
        link = first_step;
        previous_hash = node_hash(from, stage);
        hash = link_hash(link, stage);
        return !is_end(link);
    }
    DEVICE bool step(const Paths& paths, int stage) {
        const u32 onward = upper(link), current = onward / 2;
        const u64 next = paths.stages[stage - 1].links[current].link[onward % 2];
        const u32 next_hash = link_hash(next, stage);
        const bool splitter = hash < previous_hash && hash < next_hash;
        if (!splitter) {
            // Equal only on a cycle of two nodes, where the record of either walk is right.
            if (previous_hash <= next_hash)
                paths.stages[stage - 1].records[current] = word(own, lower(link) << 1 | (1 - onward % 2));
            link = word(upper(next), lower(link) + lower(next));
            previous_hash = hash;
            hash = next_hash;
        }
        const bool walking = !splitter && !is_end(link);
        if (!walking) paths.stages[stage].links[own / 2].link[own % 2] = link;
        return walking;
    }
};

// Walks from every half-edge of a stage, a thread to each, through the list of the stage before.
template <typename Walk>
__device__ void walk_sublists(const Paths& paths, int stage) {
    const RankingStage& nodes = paths.stages[stage];
    const u32 half_edges = 2 * (u32)__ldcg(paths.counters + NODES + stage);
    GRID_STRIDE (u32, own, half_edges) {
        Walk walk;
        bool walking = walk.begin(paths, stage, own, nodes.previous[own / 2], nodes.links[own / 2].link[own % 2]);
        while (walking) walking = walk.step(paths, stage);
    }
}

// The links of a node after the walks, with half-edges of its own stage instead of the stage before.
DEVICE Links resolved_links(const Paths& paths, int stage, u32 node) {
    Links links = paths.stages[stage].links[node];
    const u64* const records = stage ? paths.stages[stage - 1].records : paths.records;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 target = upper(links.link[i]);
        if (!(target & END)) links.link[i] = word(upper(records[target / 2]) + target % 2, lower(links.link[i]));
    }
    return links;
}

// The nodes of the next stage: splitters among the nodes of this one. A node that is the only one of its path or
// cycle is ranked at once.
__device__ void select_nodes(const Paths& paths, int stage, u64& longest, u64& cycles) {
    const RankingStage &nodes = paths.stages[stage], &next = paths.stages[stage + 1];
    const u32 count = (u32)__ldcg(paths.counters + NODES + stage), block_nodes = AT_ONCE * blockDim.x;
    for (u32 base = blockIdx.x * block_nodes; base < count; base += gridDim.x * block_nodes) {
        u32 splitters = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 node = base + i * blockDim.x + threadIdx.x;
            if (node >= count) continue;
            const Links links = resolved_links(paths, stage, node);
            const u64 link_0 = links.link[0], link_1 = links.link[1];
            if (is_end(link_0) && is_end(link_1)) {
                nodes.records[node] = ranked_on_path(paths, link_0, link_1, longest);
            } else if (upper(link_0) == 2 * node) {  // the walk from side 0 came back to the node
                nodes.records[node] = ranked_on_cycle(nodes.origin[node]);
                ++cycles;
            } else {
                const u32 own = node_hash(node, stage + 1);
                if (own < link_hash(link_0, stage + 1) && own < link_hash(link_1, stage + 1)) splitters |= 1u << i;
                nodes.links[node] = links;
            }
        }
        u64 places[AT_ONCE];
        append_places(splitters, paths.counters + NODES + stage + 1, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 node = base + i * blockDim.x + threadIdx.x, place = (u32)places[i];
            if (!(splitters >> i & 1)) continue;
            nodes.records[node] = splitter_record(place);
            add_node(next, place, node, nodes.origin[node], nodes.links[node]);
        }
    }
}
