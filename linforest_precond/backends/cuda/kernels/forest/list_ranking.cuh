// From each level of shortened paths to the next: select the anchors, walk between them.

// Makes an anchor a node of the level above. Until it is walked, a link there is the one it starts with.
__device__ __forceinline__ void add_node(const Level& above, u32 place, u32 below, u32 origin, const Links& start) {
    above.below[place] = below;
    above.origin[place] = origin;
    above.links[place] = start;
}

// The nodes of the first level: anchors among the vertices. Lone vertices are paths already. The second run is
// over the vertices that were on cycles.
__device__ void select_vertices(const Paths& paths, bool second_run) {
    const i64 items = second_run ? (i64)paths.counters[CYCLIC] : paths.vertices;
    const i64 block_items = (i64)AT_ONCE * blockDim.x;
    for (i64 base = blockIdx.x * block_items; base < items; base += gridDim.x * block_items) {
        Row rows[AT_ONCE];
        INDEX vertices[AT_ONCE];
        u32 anchors = 0;
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
                paths.records[v] = word((u32)v, SETTLED | 1);
                paths.lengths[v] = 1;
                continue;
            }
            const u32 own = vertex_hash(v);
            if (own < vertex_hash(rows[i].first) && own < vertex_hash(rows[i].second)) anchors |= 1u << i;
        }
        u64 places[AT_ONCE];
        append_places(anchors, paths.counters + NODES, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (!(anchors >> i & 1)) continue;
            const u32 v = (u32)vertices[i], node = (u32)places[i];
            paths.records[v] = anchor_record(node);
            add_node(paths.levels[0], node, v, v, {word(0, (u32)rows[i].first), word(0, (u32)rows[i].second)});
        }
    }
}

// A walk over vertices, from an anchor to the next or to the end of the path. Of the two walks that may pass a
// vertex, the one that comes over the neighbour of lower hash leaves its record. A link that arrives at an
// anchor names the half-edge below on which that anchor is left again.
struct VertexWalk {
    INDEX previous, current;
    u32 previous_hash, hash, own, distance;

    __device__ __forceinline__ bool begin(const Paths& paths, int, u32 half_edge, u32 from, u64 start) {
        own = half_edge;
        previous = (INDEX)from;
        current = (INDEX)(int)lower(start);
        previous_hash = vertex_hash(previous);
        hash = vertex_hash(current);
        distance = 1;
        if (current < 0) finish(paths, word(END | from, 0));
        return current >= 0;
    }
    __device__ __forceinline__ void finish(const Paths& paths, u64 link) {
        paths.levels[0].links[own / 2].link[own % 2] = link;
    }
    __device__ __forceinline__ bool step(const Paths& paths, int) {
        const Row row = paths.rows[current];
        const u32 back = row.first == previous ? 0 : 1;
        const INDEX next = back ? row.first : row.second;
        const u32 next_hash = vertex_hash(next);
        const bool anchor = hash < previous_hash && hash < next_hash;
        if (!anchor && previous_hash <= next_hash) paths.records[current] = word(own, distance << 1 | back);
        if (anchor) finish(paths, word(2 * (u32)current + 1 - back, distance));
        else if (next < 0) finish(paths, word(END | (u32)current, distance));
        previous = current;
        current = next;
        previous_hash = hash;
        hash = next_hash;
        ++distance;
        return !anchor && next >= 0;
    }
};

// The same over the nodes of a level.
struct NodeWalk {
    u64 link;
    u32 previous_hash, hash, own;

    __device__ __forceinline__ bool begin(const Paths&, int number, u32 half_edge, u32 from, u64 start) {
        own = half_edge;
        link = start;
        previous_hash = node_hash(from, number);
        hash = link_hash(link, number);
        return !is_end(link);
    }
    __device__ __forceinline__ bool step(const Paths& paths, int number) {
        const u32 onward = upper(link), current = onward / 2;
        const u64 next = paths.levels[number - 1].links[current].link[onward % 2];
        const u32 next_hash = link_hash(next, number);
        const bool anchor = hash < previous_hash && hash < next_hash;
        if (!anchor) {
            // Equal on a cycle of two nodes alone, where either walk's record will do.
            if (previous_hash <= next_hash)
                paths.levels[number - 1].records[current] = word(own, lower(link) << 1 | (1 - onward % 2));
            link = word(upper(next), lower(link) + lower(next));
            previous_hash = hash;
            hash = next_hash;
        }
        const bool walking = !anchor && !is_end(link);
        if (!walking) paths.levels[number].links[own / 2].link[own % 2] = link;
        return walking;
    }
};

// Walks all half-edges of a level.
template <typename Walk>
__device__ void walk_level(const Paths& paths, int number) {
    const Level& level = paths.levels[number];
    const u32 half_edges = 2 * (u32)__ldcg(paths.counters + NODES + number);
    for (u32 own = blockIdx.x * blockDim.x + threadIdx.x; own < half_edges; own += gridDim.x * blockDim.x) {
        Walk walk;
        bool walking = walk.begin(paths, number, own, level.below[own / 2], level.links[own / 2].link[own % 2]);
        while (walking) walking = walk.step(paths, number);
    }
}

// A node's links, as they were walked, in terms of its own level.
__device__ __forceinline__ Links resolved_links(const Paths& paths, int number, u32 node) {
    Links links = paths.levels[number].links[node];
    const u64* const records = number ? paths.levels[number - 1].records : paths.records;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 target = upper(links.link[i]);
        if (!(target & END)) links.link[i] = word(upper(records[target / 2]) + target % 2, lower(links.link[i]));
    }
    return links;
}

// The nodes of the level above: anchors among the nodes of this one. Nodes that are the last of their path or
// cycle are settled here.
__device__ void select_nodes(const Paths& paths, int number, u64& longest, u64& cycles) {
    const Level &level = paths.levels[number], &above = paths.levels[number + 1];
    const u32 nodes = (u32)__ldcg(paths.counters + NODES + number), block_nodes = AT_ONCE * blockDim.x;
    for (u32 base = blockIdx.x * block_nodes; base < nodes; base += gridDim.x * block_nodes) {
        u32 anchors = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 node = base + i * blockDim.x + threadIdx.x;
            if (node >= nodes) continue;
            const Links links = resolved_links(paths, number, node);
            const u64 one = links.link[0], other = links.link[1];
            if (is_end(one) && is_end(other)) {
                level.records[node] = path_state(paths, one, other, longest);
            } else if (upper(one) == 2 * node) {  // the way from half-edge 0 leads to it again
                level.records[node] = cycle_state(level.origin[node]);
                ++cycles;
            } else {
                const u32 own = node_hash(node, number + 1);
                if (own < link_hash(one, number + 1) && own < link_hash(other, number + 1)) anchors |= 1u << i;
                level.links[node] = links;
            }
        }
        u64 places[AT_ONCE];
        append_places(anchors, paths.counters + NODES + number + 1, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 node = base + i * blockDim.x + threadIdx.x, place = (u32)places[i];
            if (!(anchors >> i & 1)) continue;
            level.records[node] = anchor_record(place);
            add_node(above, place, node, level.origin[node], level.links[node]);
        }
    }
}

// The links at the top, twice: as they are, and for pointer jumping.
__device__ void resolve_top(const Paths& paths) {
    const u32 nodes = (u32)__ldcg(paths.counters + NODES + LEVELS - 1);
    for (u32 node = blockIdx.x * blockDim.x + threadIdx.x; node < nodes; node += gridDim.x * blockDim.x) {
        const Links links = resolved_links(paths, LEVELS - 1, node);
        paths.levels[LEVELS - 1].links[node] = links;
        paths.jumped[2 * node] = links.link[0];
        paths.jumped[2 * node + 1] = links.link[1];
    }
}
