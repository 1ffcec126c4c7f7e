#include "csgraph/load_balance.cuh"

// Atomic minimum of a parent; the load before it saves most of the atomics.
DEVICE void hook(int* parents, int v, int grandparent) {
    if (__ldcg(parents + v) > grandparent) atomicMin(parents + v, grandparent);
}

// FastSV (Y. Zhang, A. Azad, Z. Hu, SIAM PP 2020, doi:10.1137/1.9781611976137.5), in one cooperative launch: rounds of
// stochastic hooking (of an end's parent), aggressive hooking (of the end) and shortcutting. Parents only decrease, and
// grandparents are written only between barriers, so the order of the hooks does not matter. When a round changes no
// grandparent, the parent of each vertex is the lowest vertex of its component. `changes` are three flags in rotation.
// for_each_edge(hook_ends) calls hook_ends(row, place) for every entry.
template <typename ForEach>
DEVICE void hook_and_shortcut(ForEach for_each_edge, In<int> indices, int n, int* parents, int* grandparents,
                              int* is_root, u32* barrier, u32* changes) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    u32 generation = 0;
    for (i64 v = first; v < n; v += stride) parents[v] = grandparents[v] = (int)v;
    grid_barrier(barrier, generation);
    for (u32 round = 0;; ++round) {
        for_each_edge([&](int row, i64 place) {
            const int column = indices[place];
            const int of_row = __ldcg(grandparents + row), of_column = __ldcg(grandparents + column);
            if (of_row == of_column) return;
            const int higher = of_row > of_column ? row : column, lowest = min(of_row, of_column);
            hook(parents, __ldcg(parents + higher), lowest);
            hook(parents, higher, lowest);
        });
        grid_barrier(barrier, generation);
        bool changed = false;
        for (i64 v = first; v < n; v += stride) {
            const int before = grandparents[v], parent = min(__ldcg(parents + v), before);
            *(volatile int*)(parents + v) = parent;
            const int grandparent = *(volatile int*)(parents + parent);
            grandparents[v] = grandparent;
            changed |= grandparent != before;
        }
        if (__syncthreads_or(changed) && threadIdx.x == 0) changes[round % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(round + 1) % 3] = 0;
        grid_barrier(barrier, generation);
        if (!__ldcg(changes + round % 3)) break;
    }
    for (i64 v = first; v < n; v += stride) is_root[v] = __ldcg(parents + v) == v;
}

KERNEL __launch_bounds__(1024) hook_edges(In<INDEX> indptr, In<int> indices, int n, i64 nnz, int* parents,
                                          int* grandparents, int* is_root, u32* barrier, u32* changes) {
    const auto by_entries = [&](auto hook_ends) {
        for_each_entry(indptr, n, nnz, [](int) { return true; }, hook_ends);
    };
    hook_and_shortcut(by_entries, indices, n, parents, grandparents, is_root, barrier, changes);
}

// Vertex-parallel: a thread per vertex hooks along its edges one after another.
KERNEL __launch_bounds__(1024) hook_vertices(In<INDEX> indptr, In<int> indices, int n, i64, int* parents,
                                             int* grandparents, int* is_root, u32* barrier, u32* changes) {
    const auto by_rows = [&](auto hook_ends) {
        GRID_STRIDE (i64, row, n)
            for (i64 place = indptr[row], end = indptr[row + 1]; place < end; ++place) hook_ends((int)row, place);
    };
    hook_and_shortcut(by_rows, indices, n, parents, grandparents, is_root, barrier, changes);
}
