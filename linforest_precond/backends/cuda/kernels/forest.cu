#include "common.cuh"

// From a [0,2]-factor to numbered paths, in work linear in the vertices.
//
// The vertices of a path whose hash is lower than their neighbours' are its anchors, about one in three. They
// are the nodes of a path three times shorter, whose links carry the distances; that path is shortened in the
// same way, and again. Pointer jumping over the few nodes at the top finds the ends, and what is found goes
// down again: each node below lies at a known distance along a link of its anchor. Neighbouring threads walk
// from neighbouring anchors and only a few steps far, so that they read neighbouring memory.
//
// A half-edge is twice its node plus its place in the node's row, 0 or 1. A link, the way from a half-edge to
// the next node, is one 64-bit word that is read and written whole: in the upper half the half-edge on which
// the next node is left again, or END and the vertex where the path ends; in the lower half the distance.
#define END 0x80000000u

// A node's record is a word too. As long as its path is unknown: the half-edge above along which it lies, and
// twice its distance, plus the place of its own half-edge that leads back. When it is settled: the path id, with
// RISES when its half-edge 1 leads away from the path's first vertex; SETTLED and the position.
// Position 0 is a cycle, and its path id names the cycle.
#define RISES 0x80000000u
#define SETTLED 0x80000000u

#define LEVELS 4

struct alignas(2 * sizeof(INDEX)) Row {
    INDEX first, second;
};

struct alignas(16) Links {
    u64 link[2];
};

// The nodes of a shortened path.
struct Level {
    u32* below;   // each node's number one level below
    u32* origin;  // and the vertex it goes back to
    Links* links;
    u64* records;
};

enum Counter { PATHS, LONGEST, CYCLES, CYCLIC, NODES };  // NODES: one counter for each level

struct Paths {
    Row* rows;
    u64* records;
    INDEX* path_id;
    INDEX* position;
    INDEX* lengths;  // of each path at its id
    u64* counters;
    i64 vertices;
    Level levels[LEVELS];
    u64* jumped;  // the links at the top, for pointer jumping
    u32* cyclic;  // the vertices on cycles
};

__device__ __forceinline__ u64 word(u32 upper, u32 lower) { return (u64)upper << 32 | lower; }
__device__ __forceinline__ u32 upper(u64 word) { return (u32)(word >> 32); }
__device__ __forceinline__ u32 lower(u64 word) { return (u32)word; }

// A different order of the nodes at every level; no two nodes of one level have the same hash.
__device__ __forceinline__ u32 node_hash(u32 node, int level) {
    u32 z = (node ^ level * 0x7FEB352Du) * 0x9E3779B1u;
    z ^= z >> 15;
    return z * 0x85EBCA6Bu;
}

// Where there is no neighbour, every hash is lower. (A node may have this hash too; that costs nothing but time.)
#define NO_HASH 0xffffffffu

__device__ __forceinline__ u32 vertex_hash(INDEX v) { return v < 0 ? NO_HASH : node_hash((u32)v, 0); }

__device__ __forceinline__ bool is_end(u64 link) { return upper(link) & END; }

// The hash of the node that a link leads to.
__device__ __forceinline__ u32 link_hash(u64 link, int level) {
    return is_end(link) ? NO_HASH : node_hash(upper(link) / 2, level);
}

// The record of an anchor: no distance along its own half-edge 0, as if it had been reached over 1.
__device__ __forceinline__ u64 anchor_record(u32 node_above) { return word(2 * node_above, 1); }

__device__ __forceinline__ u64 cycle_state(u32 name) { return word(name, SETTLED); }

// The state of a node from which one link and the other lead to ends; notes the path's length.
__device__ __forceinline__ u64 path_state(const Paths& paths, u64 one, u64 other, u64& longest) {
    const bool rises = upper(one) < upper(other);  // half-edge 0 leads to the first vertex
    const u64 to_first = rises ? one : other;
    const u32 path_id = upper(to_first) & ~END;
    const u64 length = (u64)lower(one) + lower(other) + 1;
    paths.lengths[path_id] = (INDEX)length;
    if (length > longest) longest = length;
    return word(path_id | (rises ? RISES : 0), SETTLED | (lower(to_first) + 1));
}

// The state of a node from its record and its anchor's state.
__device__ __forceinline__ u64 state_below(u64 record, u64 anchor) {
    const u32 position = lower(anchor) & ~SETTLED;
    if (position == 0) return anchor;
    const u32 distance = lower(record) >> 1, back = lower(record) & 1;
    // Does the anchor's half-edge lead away from the path's first vertex?
    const bool away = ((upper(record) & 1) != 0) == ((upper(anchor) & RISES) != 0);
    const bool rises = away == (back == 0);
    return word((upper(anchor) & ~RISES) | (rises ? RISES : 0),
                SETTLED | (away ? position + distance : position - distance));
}

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
        if (!is_end(link)) __stcg(links + own, word(upper(link), min(top.origin[own / 2], top.origin[upper(link) / 2])));
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
extern "C" __global__ void __launch_bounds__(512, 3) cut_cycles(Paths paths, WEIGHT* values, INDEX* slots,
                                                                Weakest weakest, u32* barrier) {
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
