#include "csgraph/weighted_edges.cuh"

// An edge between the trees of two roots, and its entry.
struct __align__(16) Edge {
    int one, other;
    i64 slot;
};
#define NO_SLOT -1

// The trees of Borůvka's algorithm. `roots` are those of the last round, and `parents` hooks them to other roots. For
// each root: the lowest weight word of the edges that leave its tree, and among these the lowest edge word.
struct Trees {
    int *roots, *parents;
    u64 *lightest, *first_edges;
    u32* selected;  // a bit for every entry
    Edge* edges;    // each block has a list of the given capacity
    i64 capacity;
};

// State shared by all blocks, zero at first: the barrier, the symmetry checksum, the hub, and an edge count per round.
struct SharedState {
    u64 arrivals, checksum, hub;
    u64 left[40];
};

// Every vertex is a tree. The hub is any vertex with the longest row. Where the magnitudes are symmetric, a checksum of
// hashes, added above and subtracted below the diagonal, tells whether signs and explicit zeros are symmetric too.
__device__ void initialize(const Graph& graph, const Trees& trees, SharedState* state) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < graph.n; v += stride) {
        trees.roots[v] = trees.parents[v] = (int)v;
        trees.lightest[v] = trees.first_edges[v] = NONE;
        if (graph.indptr[v + 1] - graph.indptr[v] == graph.longest_row) state->hub = v;
    }
    if (!graph.symmetric) return;
    u64 checksum = 0;
    for (i64 slot = first; slot < graph.nnz; slot += stride) {
        const u64 word = ascending(graph.data[slot]);
        if (word > ascending((VALUE)0)) continue;
        const u64 row = (u64)graph.rows[slot], column = (u64)graph.indices[slot];
        const u64 hash = mix64((min(row, column) << 32 | max(row, column)) ^ (u64)(word < ascending((VALUE)0)) << 63);
        if (row != column) checksum += column > row ? hash : 0 - hash;
    }
    checksum = warp_sum(checksum);
    if (threadIdx.x % 32 == 0 && checksum) atomicAdd(&state->checksum, checksum);
}

// The thread's edge among the entries, which are dealt to the blocks in turn, blockDim at a time; `base` counts the
// block's own. Where the weights are symmetric, the upper triangle is enough.
DEVICE Edge edge_of_matrix(const Graph& graph, bool upper, i64 base) {
    const i64 slot = base * gridDim.x + blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= graph.nnz) return {0, 0, NO_SLOT};
    const int row = (int)graph.rows[slot], column = (int)graph.indices[slot];
    return {row, column, row == column || (upper && row > column) ? NO_SLOT : slot};
}

// The edges of a block: at first entries of the matrix, then its own list.
struct EdgeList {
    Edge* own;
    i64 count;
    bool from_matrix, upper;

    DEVICE Edge load(const Graph& graph, i64 base) const {
        if (from_matrix) return edge_of_matrix(graph, upper, base);
        return base + threadIdx.x < count ? own[base + threadIdx.x] : Edge{0, 0, NO_SLOT};
    }
};

// Segmented minimum over runs of lanes with the same tree: the result in the last lane of a run, NONE in the others.
DEVICE u64 segmented_min(int tree, u64 word) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, word, step);
        const int other_tree = __shfl_up_sync(FULL_WARP, tree, step);
        if (lane >= step && other_tree == tree) word = min(word, other);
    }
    const int next_tree = __shfl_down_sync(FULL_WARP, tree, 1);
    return lane == 31 || next_tree != tree ? word : NONE;
}

// Lowers the words of an edge's two trees by atomic minima; NONE for no change. Consecutive entries share a row, so the
// minimum over the warp comes first. Called by all lanes.
DEVICE void lower_both(u64* least, const Edge& edge, u64 to_one, u64 to_other) {
    to_one = segmented_min(edge.one, to_one);
    if (to_one != NONE) lower_to(least + edge.one, to_one);
    if (to_other != NONE) lower_to(least + edge.other, to_other);
}

// Lowers the least weight of the two trees of an edge. The tree of the hub is left out, to avoid contention: it need
// not select an edge, because its neighbours select theirs.
DEVICE void propose_weight(const Graph& graph, const Trees& trees, const Edge& edge, int hub) {
    const u64 word = edge.slot >= 0 ? weight_word(graph, edge.slot) : NONE;
    lower_both(trees.lightest, edge, edge.one == hub ? NONE : word, edge.other == hub ? NONE : word);
}

// Lowers the first edge of the trees for which an edge has the least weight.
DEVICE void propose_edge(const Graph& graph, const Trees& trees, const Edge& edge) {
    const u64 weight = edge.slot >= 0 ? weight_word(graph, edge.slot) : NONE;
    const bool one = weight != NONE && weight == __ldcg(trees.lightest + edge.one);
    const bool other = weight != NONE && weight == __ldcg(trees.lightest + edge.other);
    const u64 word = one || other ? edge_word(graph, edge.slot) : NONE;
    lower_both(trees.first_edges, edge, one ? word : NONE, other ? word : NONE);
}

__device__ void propose_weights(const Graph& graph, const Trees& trees, const EdgeList& edges, int hub) {
    for (i64 base = 0; base < edges.count; base += blockDim.x)
        propose_weight(graph, trees, edges.load(graph, base), hub);
}

__device__ void propose_edges(const Graph& graph, const Trees& trees, const EdgeList& edges) {
    for (i64 base = 0; base < edges.count; base += blockDim.x) propose_edge(graph, trees, edges.load(graph, base));
}

// Contraction: relabels the edges by their roots, keeps those between two trees, and proposes their weights.
__device__ void contract_edges(const Graph& graph, const Trees& trees, EdgeList& edges, int hub) {
    __shared__ int total;
    i64 kept = 0;
    for (i64 base = 0; base < edges.count; base += blockDim.x) {
        Edge edge = edges.load(graph, base);
        if (edge.slot >= 0) {
            edge.one = trees.roots[edge.one];
            edge.other = trees.roots[edge.other];
            if (edge.one == edge.other) edge.slot = NO_SLOT;
        }
        propose_weight(graph, trees, edge, hub);
        // The scan is a barrier: all threads have loaded their edges before one is overwritten.
        const i64 place = kept + block_exclusive_sum(edge.slot >= 0, &total);
        if (edge.slot >= 0) edges.own[place] = edge;
        __syncthreads();
        kept += total;
        __syncthreads();
    }
    edges.count = kept;
    edges.from_matrix = false;
}

// Hooks each tree with a selected edge to the tree at its other end; of two trees that select the same edge, the higher
// root is hooked. There are no other cycles: along a chain of hooks the edges descend in a total order.
__device__ void hook_trees(const Graph& graph, const Trees& trees) {
    GRID_STRIDE (i64, v, graph.n) {
        const u64 word = __ldcg(trees.first_edges + v);
        if (word == NONE) continue;
        const int low = (int)(word >> 32), high = (int)((u32)word >> 1);
        const int other = trees.roots[low] == v ? trees.roots[high] : trees.roots[low];
        if (v > other || __ldcg(trees.first_edges + other) != word) __stcg(trees.parents + v, other);
        const int row = word & 1 ? high : low, column = word & 1 ? low : high;
        const i64 slot = find_column(graph.indices, (i64)graph.indptr[row], (i64)graph.indptr[row + 1], (INDEX)column);
        atomicOr(trees.selected + slot / 32, 1u << slot % 32);
    }
}

// The new root of every vertex, by find with path compression of its old root, which many threads share.
__device__ void find_roots(const Graph& graph, const Trees& trees) {
    GRID_STRIDE (i64, v, graph.n) {
        const int root = trees.roots[v];
        int parent = __ldcg(trees.parents + root);
        for (int grandparent; (grandparent = __ldcg(trees.parents + parent)) != parent; parent = grandparent)
            __stcg(trees.parents + root, grandparent);
        trees.roots[v] = parent;
        trees.lightest[v] = trees.first_edges[v] = NONE;
    }
}

// Borůvka's algorithm (1926), in one cooperative launch: in every round each tree selects the first edge that leaves
// it, by (weight, lower end, higher end), with atomic minima (see also A. Fallin, A. Gonzalez, J. Seo, M. Burtscher, "A
// High-Performance MST Implementation for GPUs", SC 2023, doi:10.1145/3581784.3607093).
KERNEL __launch_bounds__(512) boruvka(Graph graph, Trees trees, SharedState* state) {
    u32 generation = 0;
    u32* const arrivals = (u32*)&state->arrivals;
    initialize(graph, trees, state);
    grid_barrier(arrivals, generation);
    const int hub_vertex = (int)__ldcg(&state->hub);
    const bool upper = graph.symmetric && !__ldcg(&state->checksum);
    EdgeList edges = {trees.edges + blockIdx.x * trees.capacity, trees.capacity, true, upper};
    for (int round = 0;; ++round) {
        const int hub = trees.roots[hub_vertex];
        if (round == 0) propose_weights(graph, trees, edges, hub);
        else contract_edges(graph, trees, edges, hub);
        if (threadIdx.x == 0 && edges.count) atomicAdd(state->left + round, (u64)edges.count);
        grid_barrier(arrivals, generation);
        if (!__ldcg(state->left + round)) return;
        propose_edges(graph, trees, edges);
        grid_barrier(arrivals, generation);
        hook_trees(graph, trees);
        grid_barrier(arrivals, generation);
        find_roots(graph, trees);
        grid_barrier(arrivals, generation);
    }
}

// The number of selected entries before each of `count` places; `ends` is the inclusive scan of the words' bit counts.
KERNEL count_selected(In<INDEX> places, i64 count, In<u32> selected, In<i64> ends, INDEX* __restrict__ before) {
    GRID_STRIDE (i64, i, count) {
        const i64 word = places[i] / 32;
        const u32 bit = (u32)(places[i] % 32);
        before[i] = (INDEX)((word ? ends[word - 1] : 0) + (bit ? __popc(selected[word] & ((1u << bit) - 1)) : 0));
    }
}

// Stream compaction of the selected entries.
KERNEL copy_selected(In<u32> selected, In<i64> ends, i64 words, In<INDEX> indices, In<VALUE> data,
                     INDEX* __restrict__ selected_indices, VALUE* __restrict__ selected_data) {
    GRID_STRIDE (i64, i, words) {
        u32 left = selected[i];
        for (i64 place = ends[i] - __popc(left); left; left &= left - 1, ++place) {
            const i64 slot = 32 * i + __ffs(left) - 1;
            selected_indices[place] = indices[slot];
            selected_data[place] = data[slot];
        }
    }
}
