#include "runtime/common.cuh"

// The graph: entries are edges, `rows` the row of each. Where it is symmetric, magnitudes are at least.
struct Graph {
    const INDEX *indptr, *indices, *rows;
    const VALUE* data;
    int n;
    int largest;  // whether the heaviest edges are asked for
    int symmetric;
    i64 nnz, longest_row;
};

// An edge between two trees, by their roots, and its entry.
struct __align__(16) Edge {
    int one, other;
    i64 slot;
};
#define NO_SLOT -1

// The trees that grow together. A vertex's root is one of the last round; `parents` joins such roots to later ones. A
// root has the least word of a weight that leads out of its tree and, among equal weights, the first edge.
struct Trees {
    int *roots, *parents;
    u64 *lightest, *first_edges;
    u32* taken;   // a bit for every entry
    Edge* edges;  // each block has room for `capacity`
    i64 capacity;
};
#define NONE (~0ull)

// What blocks tell each other; zero at first. One edge count a round.
struct State {
    u64 arrivals, balance, hub;
    u64 left[40];
};

// Words that ascend with the weights; 0 and -0 have the same.
__device__ __forceinline__ u64 ascending(double weight) {
    const u64 word = weight == 0.0 ? 0 : bits(weight);
    return word >> 63 ? ~word : word | 1ull << 63;
}
__device__ __forceinline__ u64 ascending(float weight) {
    const u32 word = rank_of(weight) == 0 ? 0 : __float_as_uint(weight);
    return word >> 31 ? ~word : word | 1u << 31;
}
__device__ __forceinline__ u64 weight_word(const Graph& graph, i64 slot) {
    const u64 word = ascending(graph.data[slot]);
    return graph.largest ? ~word : word;
}

// Words that ascend with (lower end, higher end), of two directions with that above the diagonal first. Vertices have
// 30 bits.
__device__ __forceinline__ u64 edge_word(const Graph& graph, i64 slot) {
    const u32 row = (u32)graph.rows[slot], column = (u32)graph.indices[slot];
    return (u64)min(row, column) << 32 | max(row, column) << 1 | (row > column);
}

// Takes the least into *place; most are above it already and need no atomic.
__device__ __forceinline__ void take_least(u64* place, u64 candidate) {
    if (candidate < __ldcg(place)) atomicMin(place, candidate);
}

// Every vertex is a tree. Any of the longest rows is the hub, and where magnitudes are symmetric, the balance of
// signs and explicit zeros tells whether the weights are.
__device__ void plant(const Graph& graph, const Trees& trees, State* state) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < graph.n; v += stride) {
        trees.roots[v] = trees.parents[v] = (int)v;
        trees.lightest[v] = trees.first_edges[v] = NONE;
        if (graph.indptr[v + 1] - graph.indptr[v] == graph.longest_row) state->hub = v;
    }
    if (!graph.symmetric) return;
    u64 balance = 0;
    for (i64 slot = first; slot < graph.nnz; slot += stride) {
        const u64 word = ascending(graph.data[slot]);
        if (word > ascending((VALUE)0)) continue;
        const u64 row = (u64)graph.rows[slot], column = (u64)graph.indices[slot];
        const u64 hash = mix64((min(row, column) << 32 | max(row, column)) ^ (u64)(word < ascending((VALUE)0)) << 63);
        if (row != column) balance += column > row ? hash : 0 - hash;
    }
    balance = warp_sum(balance);
    if (threadIdx.x % 32 == 0 && balance) atomicAdd(&state->balance, balance);
}

// The thread's edge among the entries: blocks take turns, blockDim entries at a time, of which the block's own count from
// `base`. Entries below the diagonal are no edges where those above say all.
__device__ __forceinline__ Edge edge_of_matrix(const Graph& graph, bool upper, i64 base) {
    const i64 slot = base * gridDim.x + blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= graph.nnz) return {0, 0, NO_SLOT};
    const int row = (int)graph.rows[slot], column = (int)graph.indices[slot];
    return {row, column, row == column || (upper && row > column) ? NO_SLOT : slot};
}

// The edges of a block: entries of the matrix at first, then those that are kept.
struct Source {
    Edge* own;
    i64 count;
    bool from_matrix, upper;

    __device__ __forceinline__ Edge load(const Graph& graph, i64 base) const {
        if (from_matrix) return edge_of_matrix(graph, upper, base);
        return base + threadIdx.x < count ? own[base + threadIdx.x] : Edge{0, 0, NO_SLOT};
    }
};

// The least word among lanes side by side that belong to one tree, in the last of them; NONE in the others.
__device__ __forceinline__ u64 least_of_run(int tree, u64 word) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, word, step);
        const int other_tree = __shfl_up_sync(FULL_WARP, tree, step);
        if (lane >= step && other_tree == tree) word = min(word, other);
    }
    const int next_tree = __shfl_down_sync(FULL_WARP, tree, 1);
    return lane == 31 || next_tree != tree ? word : NONE;
}

// Offers words to the two trees of an edge, or NONE. Entries of one row lie side by side. All lanes must come.
__device__ __forceinline__ void offer(u64* least, const Edge& edge, u64 to_one, u64 to_other) {
    to_one = least_of_run(edge.one, to_one);
    if (to_one != NONE) take_least(least + edge.one, to_one);
    if (to_other != NONE) take_least(least + edge.other, to_other);
}

// An edge offers its weight to the trees it joins. The hub's tree need not choose: those around it choose it.
__device__ __forceinline__ void offer_weight(const Graph& graph, const Trees& trees, const Edge& edge, int hub) {
    const u64 word = edge.slot >= 0 ? weight_word(graph, edge.slot) : NONE;
    offer(trees.lightest, edge, edge.one == hub ? NONE : word, edge.other == hub ? NONE : word);
}

// An edge of the least weight offers itself.
__device__ __forceinline__ void offer_edge(const Graph& graph, const Trees& trees, const Edge& edge) {
    const u64 weight = edge.slot >= 0 ? weight_word(graph, edge.slot) : NONE;
    const bool one = weight != NONE && weight == __ldcg(trees.lightest + edge.one);
    const bool other = weight != NONE && weight == __ldcg(trees.lightest + edge.other);
    const u64 word = one || other ? edge_word(graph, edge.slot) : NONE;
    offer(trees.first_edges, edge, one ? word : NONE, other ? word : NONE);
}

__device__ void offer_weights(const Graph& graph, const Trees& trees, const Source& source, int hub) {
    for (i64 base = 0; base < source.count; base += blockDim.x)
        offer_weight(graph, trees, source.load(graph, base), hub);
}

__device__ void offer_edges(const Graph& graph, const Trees& trees, const Source& source) {
    for (i64 base = 0; base < source.count; base += blockDim.x) offer_edge(graph, trees, source.load(graph, base));
}

// Edges that still join two trees are kept, and offer their weights.
__device__ void keep_edges(const Graph& graph, const Trees& trees, Source& source, int hub) {
    __shared__ int total;
    i64 kept = 0;
    for (i64 base = 0; base < source.count; base += blockDim.x) {
        Edge edge = source.load(graph, base);
        if (edge.slot >= 0) {
            edge.one = trees.roots[edge.one];
            edge.other = trees.roots[edge.other];
            if (edge.one == edge.other) edge.slot = NO_SLOT;
        }
        offer_weight(graph, trees, edge, hub);
        // All threads have their edges before the first is written.
        const i64 place = kept + block_exclusive_sum(edge.slot >= 0, &total);
        if (edge.slot >= 0) source.own[place] = edge;
        __syncthreads();
        kept += total;
        __syncthreads();
    }
    source.count = kept;
    source.from_matrix = false;
}

// Each tree that has chosen hangs on the one its edge leads to; of two that chose the same edge, the higher root does.
// Along other chains of trees edges come ever earlier in the order, so there are no cycles.
__device__ void join_trees(const Graph& graph, const Trees& trees) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < graph.n; v += (i64)gridDim.x * blockDim.x) {
        const u64 word = __ldcg(trees.first_edges + v);
        if (word == NONE) continue;
        const int low = (int)(word >> 32), high = (int)((u32)word >> 1);
        const int other = trees.roots[low] == v ? trees.roots[high] : trees.roots[low];
        if (v > other || __ldcg(trees.first_edges + other) != word) __stcg(trees.parents + v, other);
        const int row = word & 1 ? high : low, column = word & 1 ? low : high;
        const i64 slot = find_column(graph.indices, (i64)graph.indptr[row], (i64)graph.indptr[row + 1], (INDEX)column);
        atomicOr(trees.taken + slot / 32, 1u << slot % 32);
    }
}

// Every vertex finds its new root. Ways double in length: many threads work on the same one.
__device__ void find_roots(const Graph& graph, const Trees& trees) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < graph.n; v += (i64)gridDim.x * blockDim.x) {
        const int root = trees.roots[v];
        int parent = __ldcg(trees.parents + root);
        for (int above; (above = __ldcg(trees.parents + parent)) != parent; parent = above)
            __stcg(trees.parents + root, above);
        trees.roots[v] = parent;
        trees.lightest[v] = trees.first_edges[v] = NONE;
    }
}

// All rounds, in which each tree takes the first of the edges that lead out of it. A cooperative launch.
extern "C" __global__ void __launch_bounds__(512) grow(Graph graph, Trees trees, State* state) {
    u32 generation = 0;
    u32* const arrivals = (u32*)&state->arrivals;
    plant(graph, trees, state);
    grid_barrier(arrivals, generation);
    const int hub_vertex = (int)__ldcg(&state->hub);
    const bool upper = graph.symmetric && !__ldcg(&state->balance);
    Source source = {trees.edges + blockIdx.x * trees.capacity, trees.capacity, true, upper};
    for (int round = 0;; ++round) {
        const int hub = trees.roots[hub_vertex];
        if (round == 0) offer_weights(graph, trees, source, hub);
        else keep_edges(graph, trees, source, hub);
        if (threadIdx.x == 0 && source.count) atomicAdd(state->left + round, (u64)source.count);
        grid_barrier(arrivals, generation);
        if (!__ldcg(state->left + round)) return;
        offer_edges(graph, trees, source);
        grid_barrier(arrivals, generation);
        join_trees(graph, trees);
        grid_barrier(arrivals, generation);
        find_roots(graph, trees);
        grid_barrier(arrivals, generation);
    }
}

// How many entries are taken before each of `count` places; `ends` counts them up to the end of each word.
extern "C" __global__ void count_taken(const INDEX* __restrict__ places, i64 count, const u32* __restrict__ taken,
                                       const i64* __restrict__ ends, INDEX* __restrict__ before) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 word = places[i] / 32;
        const u32 bit = (u32)(places[i] % 32);
        before[i] = (INDEX)((word ? ends[word - 1] : 0) + (bit ? __popc(taken[word] & ((1u << bit) - 1)) : 0));
    }
}

// Copies the entries that are taken, in their order.
extern "C" __global__ void copy_taken(const u32* __restrict__ taken, const i64* __restrict__ ends, i64 words,
                                      const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                                      INDEX* __restrict__ taken_indices, VALUE* __restrict__ taken_data) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x) {
        u32 left = taken[i];
        for (i64 place = ends[i] - __popc(left); left; left &= left - 1, ++place) {
            const i64 slot = 32 * i + __ffs(left) - 1;
            taken_indices[place] = indices[slot];
            taken_data[place] = data[slot];
        }
    }
}
