// The arguments of the launch. The worklists of edges and of vertices are double-buffered.
struct StrongComponents {
    const INDEX* rows;
    const int *columns, *out_degrees;
    // In-degrees, counted in a sample of one edge in `sampling`; zero at first.
    int* in_degrees;
    u64* signatures;
    int *tails[2], *heads[2], *vertices[2];
    // A representative of each vertex's component, and the lowest vertex of each representative's component.
    int *members, *lowest;
    int *roots, *is_root;
    // Zero at first.
    struct Counters* counters;
    i64 edges, sampling, n;
};

// Counters in threes are used in rotation: one is read, one is written, one is reset.
struct Counters {
    u64 pivot;
    u64 vertices[3], edges[3];
    u32 changes[3];
    u32 barrier;
};

// The inverse of mix32.
DEVICE u32 unmix32(u32 z) {
    z = (z ^ z >> 16) * 0x7ED1B41Du;
    z = (z ^ z >> 13 ^ z >> 26) * 0xA5CB9243u;
    return z ^ z >> 16;
}

// A random permutation of the vertices for every round: vertex `salt` has the lowest key, since mix32(0) = 0.
DEVICE u32 key_of(u32 vertex, u32 salt) { return mix32(vertex ^ salt); }
DEVICE u32 vertex_of(u32 key, u32 salt) { return unmix32(key) ^ salt; }

// The signature of a vertex: the lowest key of its ancestors in the lower half, of its descendants in the upper half,
// the vertex itself counted among both.
DEVICE u32 ancestor_key(u64 signature) { return (u32)signature; }
DEVICE u32 descendant_key(u64 signature) { return (u32)(signature >> 32); }
DEVICE bool is_settled(u64 signature) { return ancestor_key(signature) == descendant_key(signature); }
DEVICE bool lower_ancestor(u64* signature, u32 key) { return atomicMin((u32*)signature, key) > key; }
DEVICE bool lower_descendant(u64* signature, u32 key) { return atomicMin((u32*)signature + 1, key) > key; }

// Propagates along an edge: the ancestor key to its head, the descendant key to its tail.
DEVICE bool propagate(u64* signatures, int tail, int head) {
    const u64 from = __ldcg(signatures + tail), to = __ldcg(signatures + head);
    bool changed = false;
    if (ancestor_key(from) < ancestor_key(to)) changed |= lower_ancestor(signatures + head, ancestor_key(from));
    if (descendant_key(to) < descendant_key(from)) changed |= lower_descendant(signatures + tail, descendant_key(to));
    return changed;
}

// Pointer jumping: a vertex takes the keys of the vertices behind its own keys. Paths double in length, where edges
// alone propagate step by step.
DEVICE bool shortcut(u64* signatures, int v, u32 salt) {
    const u64 own = __ldcg(signatures + v);
    const u32 ancestor = ancestor_key(__ldcg(signatures + vertex_of(ancestor_key(own), salt)));
    const u32 descendant = descendant_key(__ldcg(signatures + vertex_of(descendant_key(own), salt)));
    bool changed = false;
    if (ancestor < ancestor_key(own)) changed |= lower_ancestor(signatures + v, ancestor);
    if (descendant < descendant_key(own)) changed |= lower_descendant(signatures + v, descendant);
    return changed;
}

// How often a block repeats the propagation along the edges it has loaded, as long as keys change.
#define REPEATS 4

// A block's chunks of a list, AT_ONCE items per thread: visit(base) is called by all threads of the block.
template <typename Visit>
DEVICE void for_each_chunk(i64 count, bool backwards, Visit visit) {
    const i64 items = (i64)AT_ONCE * blockDim.x, chunks = (count + items - 1) / items;
    for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
        visit((backwards ? chunks - 1 - chunk : chunk) * items);
}

// Sweeps over all edges and vertices, in alternating directions, until no signature changes.
template <typename Tails>
__device__ void propagate_signatures(const StrongComponents& s, const Tails* tails, const int* heads, i64 edges,
                                     const int* vertices, i64 count, u32 salt, u32& sweeps, u32& generation) {
    for (bool going = true; going; ++sweeps) {
        bool any = false;
        for_each_chunk(edges, sweeps % 2, [&](i64 base) {
            int tail[AT_ONCE], head[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                const i64 edge = min(base + i * blockDim.x + threadIdx.x, edges - 1);
                tail[i] = (int)tails[edge];
                head[i] = heads[edge];
            }
            bool changed = true;
            for (int repeat = 0; changed && repeat < REPEATS; ++repeat) {
                changed = false;
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) changed |= propagate(s.signatures, tail[i], head[i]);
                any |= changed;
                changed = __syncthreads_or(changed);
            }
        });
        GRID_STRIDE (i64, item, count) any |= shortcut(s.signatures, vertices ? vertices[item] : (int)item, salt);
        u32* const changes = s.counters->changes;
        if (__syncthreads_or(any) && threadIdx.x == 0) changes[sweeps % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(sweeps + 1) % 3] = 0;
        grid_barrier(&s.counters->barrier, generation);
        going = __ldcg(changes + sweeps % 3);
    }
}

// A vertex with equal keys belongs to the component of that key's vertex; the others stay in the worklist.
__device__ void settle_vertices(const StrongComponents& s, const int* vertices, i64 count, u32 salt, int* left,
                                u64* left_count) {
    for_each_chunk(count, false, [&](i64 base) {
        int open[AT_ONCE];
        u32 wanted = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 item = base + i * blockDim.x + threadIdx.x;
            if (item >= count) continue;
            const int v = open[i] = vertices ? vertices[item] : (int)item;
            const u64 signature = __ldcg(s.signatures + v);
            if (!is_settled(signature)) {
                wanted |= 1u << i;
                continue;
            }
            const int member = (int)vertex_of(ancestor_key(signature), salt);
            s.members[v] = member;
            if (v < __ldcg(s.lowest + member)) atomicMin(s.lowest + member, v);
        }
        u64 places[AT_ONCE];
        append_places(wanted, left_count, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
            if (wanted >> i & 1) left[places[i]] = open[i];
    });
}

// Keeps the edges between unsettled vertices of equal signatures: others are on no cycle, or within a component.
template <typename Tails>
__device__ void filter_edges(const StrongComponents& s, const Tails* tails, const int* heads, i64 edges,
                             int* left_tails, int* left_heads, u64* left_count) {
    for_each_chunk(edges, false, [&](i64 base) {
        int tail[AT_ONCE], head[AT_ONCE];
        u32 wanted = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 edge = base + i * blockDim.x + threadIdx.x;
            if (edge >= edges) continue;
            tail[i] = (int)tails[edge];
            head[i] = heads[edge];
            const u64 signature = __ldcg(s.signatures + tail[i]);
            if (tail[i] != head[i] && !is_settled(signature) && signature == __ldcg(s.signatures + head[i]))
                wanted |= 1u << i;
        }
        u64 places[AT_ONCE];
        append_places(wanted, left_count, places);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (!(wanted >> i & 1)) continue;
            left_tails[places[i]] = tail[i];
            left_heads[places[i]] = head[i];
        }
    });
}

// One round; false when no vertex is left.
template <typename Tails>
__device__ bool run_round(const StrongComponents& s, const Tails* tails, const int* heads, const int* vertices,
                          u32 round, u32 salt, u32& sweeps, u32& generation) {
    Counters& counters = *s.counters;
    const i64 edges = round ? (i64)__ldcg(counters.edges + round % 3) : s.edges;
    const i64 count = round ? (i64)__ldcg(counters.vertices + round % 3) : s.n;
    GRID_STRIDE (i64, item, count) {
        const u32 v = vertices ? (u32)vertices[item] : (u32)item, key = key_of(v, salt);
        __stcg(s.signatures + v, (u64)key << 32 | key);
    }
    grid_barrier(&counters.barrier, generation);
    propagate_signatures(s, tails, heads, edges, vertices, count, salt, sweeps, generation);
    const u32 next = (round + 1) % 3, list = round % 2;
    settle_vertices(s, vertices, count, salt, s.vertices[list], counters.vertices + next);
    filter_edges(s, tails, heads, edges, s.tails[list], s.heads[list], counters.edges + next);
    if (blockIdx.x == 0 && threadIdx.x == 0) counters.vertices[(round + 2) % 3] = counters.edges[(round + 2) % 3] = 0;
    grid_barrier(&counters.barrier, generation);
    return __ldcg(counters.vertices + next) != 0;
}

// The vertex with the greatest product of in-degree and out-degree, probably one of the largest component.
__device__ u32 find_pivot(const StrongComponents& s, u32& generation) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 edge = first * s.sampling; edge < s.edges; edge += stride * s.sampling)
        if ((int)s.rows[edge] != s.columns[edge]) atomicAdd(s.in_degrees + s.columns[edge], 1);
    for (i64 v = first; v < s.n; v += stride) s.lowest[v] = (int)s.n;
    grid_barrier(&s.counters->barrier, generation);
    u64 most = 0;
    for (i64 v = first; v < s.n; v += stride) {
        const float product = (float)__ldcg(s.in_degrees + v) * (float)s.out_degrees[v];
        most = max(most, (u64)__float_as_uint(product) << 32 | (u32)v);
    }
    for (int half = 16; half > 0; half /= 2) most = max(most, __shfl_xor_sync(FULL_WARP, most, half));
    if (threadIdx.x % 32 == 0 && most > __ldcg(&s.counters->pivot)) atomicMax(&s.counters->pivot, most);
    grid_barrier(&s.counters->barrier, generation);
    return (u32)__ldcg(&s.counters->pivot);
}

// Strongly connected components by signature propagation, after ECL-SCC (G. Alabandi, W. Sands, G. Biros, M. Burtscher,
// "A GPU Algorithm for Detecting Strongly Connected Components", SC 2023, doi:10.1145/3581784.3607071), in one
// cooperative launch: every vertex finds the lowest key of its ancestors and of its descendants. Where both are the
// same, it belongs to the component of that key's vertex; edges between vertices of different signatures are removed.
// In the first round the pivot has the lowest key, which settles its component, in most graphs the largest.
KERNEL __launch_bounds__(1024) find_strong_components(StrongComponents s) {
    u32 generation = 0, sweeps = 0;
    const u32 pivot = find_pivot(s, generation);
    bool going = run_round(s, s.rows, s.columns, (const int*)0, 0, pivot, sweeps, generation);
    for (u32 round = 1; going; ++round) {
        const u32 list = (round - 1) % 2;
        going = run_round(s, s.tails[list], s.heads[list], s.vertices[list], round, mix32(pivot + round), sweeps,
                          generation);
    }
    GRID_STRIDE (i64, v, s.n) {
        const int root = __ldcg(s.lowest + __ldcg(s.members + v));
        s.roots[v] = root;
        s.is_root[v] = root == v;
    }
}
