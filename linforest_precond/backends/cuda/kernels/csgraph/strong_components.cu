#include "runtime/common.cuh"

// Everything that is found in one cooperative launch. Lists have two places, used in turn.
struct Search {
    const INDEX* rows;
    const int* columns;
    const int* departures;
    // Edges that arrive at each vertex, of one in `sampling`; zeros before.
    int* arrivals;
    u64* signatures;
    int *tails[2], *heads[2], *vertices[2];
    // A vertex of each vertex's component, and the lowest vertex of that one's component.
    int *members, *lowest;
    int *roots, *is_root;
    // Zeros before.
    struct Words* words;
    i64 edges, sampling, n;
};

// A word is zeroed in the round after those in which it was read.
struct Words {
    u64 busiest;
    u64 vertices[3], edges[3];
    u32 changes[3];
    u32 barrier;
};

// The inverse of mix32.
__device__ __forceinline__ u32 unmix32(u32 z) {
    z = (z ^ z >> 16) * 0x7ED1B41Du;
    z = (z ^ z >> 13 ^ z >> 26) * 0xA5CB9243u;
    return z ^ z >> 16;
}

// Every round shuffles the vertices anew: their keys are different, and `salt` is the vertex of the lowest one.
__device__ __forceinline__ u32 key_of(u32 vertex, u32 salt) { return mix32(vertex ^ salt); }
__device__ __forceinline__ u32 vertex_of(u32 key, u32 salt) { return unmix32(key) ^ salt; }

// A signature: the lowest key of the vertices that lead to a vertex, in the lower half, and of those it leads to.
__device__ __forceinline__ u32 before(u64 signature) { return (u32)signature; }
__device__ __forceinline__ u32 after(u64 signature) { return (u32)(signature >> 32); }
__device__ __forceinline__ bool is_settled(u64 signature) { return before(signature) == after(signature); }
__device__ __forceinline__ bool lower_before(u64* signature, u32 key) { return atomicMin((u32*)signature, key) > key; }
__device__ __forceinline__ bool lower_after(u64* signature, u32 key) {
    return atomicMin((u32*)signature + 1, key) > key;
}

// Takes the keys along an edge, those before to its head and those after to its tail.
__device__ __forceinline__ bool relax(u64* signatures, int tail, int head) {
    const u64 from = __ldcg(signatures + tail), to = __ldcg(signatures + head);
    bool changed = false;
    if (before(from) < before(to)) changed |= lower_before(signatures + head, before(from));
    if (after(to) < after(from)) changed |= lower_after(signatures + tail, after(to));
    return changed;
}

// Takes the keys that the vertices of a vertex's keys have: the reach doubles, where edges alone go step by step.
__device__ __forceinline__ bool shortcut(u64* signatures, int v, u32 salt) {
    const u64 own = __ldcg(signatures + v);
    const u32 above = before(__ldcg(signatures + vertex_of(before(own), salt)));
    const u32 below = after(__ldcg(signatures + vertex_of(after(own), salt)));
    bool changed = false;
    if (above < before(own)) changed |= lower_before(signatures + v, above);
    if (below < after(own)) changed |= lower_after(signatures + v, below);
    return changed;
}

// How often a block goes over the edges it has at hand, while these still change something.
#define REPEATS 4

// A block's shares of a list, AT_ONCE items to a thread: visit(base) is called by all threads of the block.
template <typename Visit>
__device__ __forceinline__ void for_each_share(i64 count, bool backwards, Visit visit) {
    const i64 items = (i64)AT_ONCE * blockDim.x, shares = (count + items - 1) / items;
    for (i64 share = blockIdx.x; share < shares; share += gridDim.x)
        visit((backwards ? shares - 1 - share : share) * items);
}

// Sweeps over all edges and vertices until no key moves; every second one from the last to the first.
template <typename Tails>
__device__ void spread_keys(const Search& s, const Tails* tails, const int* heads, i64 edges, const int* vertices,
                            i64 count, u32 salt, u32& sweeps, u32& generation) {
    for (bool going = true; going; ++sweeps) {
        bool any = false;
        for_each_share(edges, sweeps % 2, [&](i64 base) {
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
                for (int i = 0; i < AT_ONCE; ++i) changed |= relax(s.signatures, tail[i], head[i]);
                any |= changed;
                changed = __syncthreads_or(changed);
            }
        });
        for (i64 item = (i64)blockIdx.x * blockDim.x + threadIdx.x; item < count; item += (i64)gridDim.x * blockDim.x)
            any |= shortcut(s.signatures, vertices ? vertices[item] : (int)item, salt);
        u32* const changes = s.words->changes;
        if (__syncthreads_or(any) && threadIdx.x == 0) changes[sweeps % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(sweeps + 1) % 3] = 0;
        grid_barrier(&s.words->barrier, generation);
        going = __ldcg(changes + sweeps % 3);
    }
}

// Vertices with one key on both sides form a component with that key's vertex; the others go on.
__device__ void settle_vertices(const Search& s, const int* vertices, i64 count, u32 salt, int* left, u64* left_count) {
    for_each_share(count, false, [&](i64 base) {
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
            const int member = (int)vertex_of(before(signature), salt);
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

// An edge between vertices of different signatures is on no cycle, and one inside a component has served.
template <typename Tails>
__device__ void keep_edges(const Search& s, const Tails* tails, const int* heads, i64 edges, int* left_tails,
                           int* left_heads, u64* left_count) {
    for_each_share(edges, false, [&](i64 base) {
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
__device__ bool cut(const Search& s, const Tails* tails, const int* heads, const int* vertices, u32 round, u32 salt,
                    u32& sweeps, u32& generation) {
    Words& words = *s.words;
    const i64 edges = round ? (i64)__ldcg(words.edges + round % 3) : s.edges;
    const i64 count = round ? (i64)__ldcg(words.vertices + round % 3) : s.n;
    for (i64 item = (i64)blockIdx.x * blockDim.x + threadIdx.x; item < count; item += (i64)gridDim.x * blockDim.x) {
        const u32 v = vertices ? (u32)vertices[item] : (u32)item, key = key_of(v, salt);
        __stcg(s.signatures + v, (u64)key << 32 | key);
    }
    grid_barrier(&words.barrier, generation);
    spread_keys(s, tails, heads, edges, vertices, count, salt, sweeps, generation);
    const u32 next = (round + 1) % 3, list = round % 2;
    settle_vertices(s, vertices, count, salt, s.vertices[list], words.vertices + next);
    keep_edges(s, tails, heads, edges, s.tails[list], s.heads[list], words.edges + next);
    if (blockIdx.x == 0 && threadIdx.x == 0) words.vertices[(round + 2) % 3] = words.edges[(round + 2) % 3] = 0;
    grid_barrier(&words.barrier, generation);
    return __ldcg(words.vertices + next) != 0;
}

// The vertex with the greatest product of arrivals and departures, likely one of the largest component.
__device__ u32 find_busiest(const Search& s, u32& generation) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 edge = first * s.sampling; edge < s.edges; edge += stride * s.sampling)
        if ((int)s.rows[edge] != s.columns[edge]) atomicAdd(s.arrivals + s.columns[edge], 1);
    for (i64 v = first; v < s.n; v += stride) s.lowest[v] = (int)s.n;
    grid_barrier(&s.words->barrier, generation);
    u64 most = 0;
    for (i64 v = first; v < s.n; v += stride) {
        const float product = (float)__ldcg(s.arrivals + v) * (float)s.departures[v];
        most = max(most, (u64)__float_as_uint(product) << 32 | (u32)v);
    }
    for (int half = 16; half > 0; half /= 2) most = max(most, __shfl_xor_sync(FULL_WARP, most, half));
    if (threadIdx.x % 32 == 0 && most > __ldcg(&s.words->busiest)) atomicMax(&s.words->busiest, most);
    grid_barrier(&s.words->barrier, generation);
    return (u32)__ldcg(&s.words->busiest);
}

// Strongly connected components by cutting (after ECL-SCC, Alabandi, Sands, Biros & Burtscher, 2023): every vertex learns
// the lowest key of those that lead to it and of those it leads to. Where both are one key, it forms a component with that
// key's vertex; and edges between vertices that learnt different things are cut. The keys of the first round let
// the busiest vertex settle its component, which is the largest of most graphs.
extern "C" __global__ void __launch_bounds__(1024) cut_cycles_apart(Search s) {
    u32 generation = 0, sweeps = 0;
    const u32 busiest = find_busiest(s, generation);
    bool going = cut(s, s.rows, s.columns, (const int*)0, 0, busiest, sweeps, generation);
    for (u32 round = 1; going; ++round) {
        const u32 list = (round - 1) % 2;
        going =
            cut(s, s.tails[list], s.heads[list], s.vertices[list], round, mix32(busiest + round), sweeps, generation);
    }
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < s.n; v += (i64)gridDim.x * blockDim.x) {
        const int root = __ldcg(s.lowest + __ldcg(s.members + v));
        s.roots[v] = root;
        s.is_root[v] = root == v;
    }
}
