#include "csgraph/weighted_edges.cuh"

// Trees as parents. A star is a tree whose vertices are all children of its root; `is_star` holds for all of its
// vertices. For the root of each star: the lowest weight word of the edges that leave it, and among these the lowest edge
// word. `hooked` are the parents after hooking.
struct Stars {
    int *parents, *hooked;
    u8* is_star;
    u64 *lightest, *first_edges;
    u32* selected;  // a bit for every entry, zero at first
    u32* changes;   // three flags in rotation, zero at first
    u32* barrier;
};

// Calls visit(v) for all vertices.
template <typename Visit>
DEVICE void for_each_vertex(const Graph& graph, Visit visit) {
    GRID_STRIDE (i64, v, graph.n) visit((int)v);
}

// Calls visit(slot, root) for every entry between two trees and each of its ends that is in a star with that root. The
// trees differ if the parents do, because one of the trees is a star.
template <typename Visit>
DEVICE void for_each_leaving_edge(const Graph& graph, const Stars& stars, Visit visit) {
    GRID_STRIDE (i64, slot, graph.nnz) {
        const i64 row = (i64)graph.rows[slot], column = (i64)graph.indices[slot];
        const int one = __ldcg(stars.parents + row), other = __ldcg(stars.parents + column);
        if (one == other) continue;
        if (__ldcg(stars.is_star + row)) visit(slot, one);
        if (__ldcg(stars.is_star + column)) visit(slot, other);
    }
}

// A vertex with another grandparent than its parent shows that its tree is no star, to itself and to its grandparent; the
// children of the root learn it from the root, as the tree may have its depth elsewhere.
__device__ void find_stars(const Graph& graph, const Stars& stars, u32& generation) {
    for_each_vertex(graph, [&](int v) {
        const int parent = __ldcg(stars.parents + v), grandparent = __ldcg(stars.parents + parent);
        if (parent == grandparent) return;
        __stcg(stars.is_star + v, (u8)0);
        __stcg(stars.is_star + grandparent, (u8)0);
    });
    grid_barrier(stars.barrier, generation);
    for_each_vertex(graph, [&](int v) {
        if (!__ldcg(stars.is_star + __ldcg(stars.parents + v))) __stcg(stars.is_star + v, (u8)0);
    });
    grid_barrier(stars.barrier, generation);
}

__device__ void find_first_edges(const Graph& graph, const Stars& stars, u32& generation) {
    for_each_leaving_edge(graph, stars,
                          [&](i64 slot, int root) { lower_to(stars.lightest + root, weight_word(graph, slot)); });
    grid_barrier(stars.barrier, generation);
    for_each_leaving_edge(graph, stars, [&](i64 slot, int root) {
        if (weight_word(graph, slot) == __ldcg(stars.lightest + root))
            lower_to(stars.first_edges + root, edge_word(graph, slot));
    });
    grid_barrier(stars.barrier, generation);
}

// The root of a star is hooked along its first edge, to the parent of the edge's other end. Of two stars that have the
// same first edge, the lower root stays a root. There are no other cycles: along a chain of hooks the edges descend in a
// total order, and a tree that is no star ends it.
DEVICE int parent_after_hooking(const Graph& graph, const Stars& stars, int v, int parent) {
    const u64 word = __ldcg(stars.first_edges + v);
    if (word == NONE) return parent;
    const int low = (int)(word >> 32), high = (int)((u32)word >> 1);
    const int row = word & 1 ? high : low, column = word & 1 ? low : high;
    const i64 slot = find_column(graph.indices, (i64)graph.indptr[row], (i64)graph.indptr[row + 1], (INDEX)column);
    atomicOr(stars.selected + slot / 32, 1u << slot % 32);
    const int one = __ldcg(stars.parents + low), other = one == v ? __ldcg(stars.parents + high) : one;
    return v > other || __ldcg(stars.first_edges + other) != word ? other : parent;
}

// Spanning forests after B. Awerbuch, Y. Shiloach, "New Connectivity and MSF Algorithms for Shuffle-Exchange Network and
// PRAM" (IEEE Trans. Comput. C-36, 1987, doi:10.1109/TC.1987.1676869), in one cooperative launch: in every round each
// star hooks its root along the first edge that leaves it, and all vertices are moved to their grandparents once. When
// nothing was hooked and nothing moved, all trees are stars that no edge leaves.
KERNEL __launch_bounds__(512) awerbuch_shiloach(Graph graph, Stars stars) {
    u32 generation = 0;
    const auto reset = [&](int v, int parent) {
        __stcg(stars.parents + v, parent);
        __stcg(stars.is_star + v, (u8)1);
        __stcg(stars.lightest + v, NONE);
        __stcg(stars.first_edges + v, NONE);
    };
    for_each_vertex(graph, [&](int v) { reset(v, v); });
    grid_barrier(stars.barrier, generation);
    for (u32 round = 0;; ++round) {
        find_stars(graph, stars, generation);
        find_first_edges(graph, stars, generation);
        bool changed = false;
        for_each_vertex(graph, [&](int v) {
            const int parent = __ldcg(stars.parents + v), hooked = parent_after_hooking(graph, stars, v, parent);
            __stcg(stars.hooked + v, hooked);
            changed |= hooked != parent;
        });
        grid_barrier(stars.barrier, generation);
        for_each_vertex(graph, [&](int v) {
            const int parent = __ldcg(stars.hooked + v), grandparent = __ldcg(stars.hooked + parent);
            reset(v, grandparent);
            changed |= grandparent != parent;
        });
        if (__syncthreads_or(changed) && threadIdx.x == 0) stars.changes[round % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) stars.changes[(round + 1) % 3] = 0;
        grid_barrier(stars.barrier, generation);
        if (!__ldcg(stars.changes + round % 3)) return;
    }
}
