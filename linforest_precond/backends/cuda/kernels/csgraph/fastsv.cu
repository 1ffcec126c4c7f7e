#include "runtime/common.cuh"
#include "csgraph/load_balance.cuh"

// Lowers a parent; most are low enough already and need no atomic.
__device__ __forceinline__ void hook(int* parents, int v, int grandparent) {
    if (__ldcg(parents + v) > grandparent) atomicMin(parents + v, grandparent);
}

// FastSV (Zhang, Azad & Hu, 2020) in one cooperative launch. Every edge hangs one end and that end's parent on the other
// end's grandparent, if that is lower; then every vertex hangs on its own grandparent. Parents only ever get lower, and
// grandparents are written between the barriers alone, so the order of the hooks does not matter: when a round leaves
// all grandparents as they were, each vertex hangs on the lowest of its component. `changes` are three words in turn.
extern "C" __global__ void __launch_bounds__(1024)
    hook_and_shortcut(const INDEX* __restrict__ indptr, const int* __restrict__ indices, int n, i64 nnz, int* parents,
                      int* grandparents, int* is_root, u32* barrier, u32* changes) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    u32 generation = 0;
    for (i64 v = first; v < n; v += stride) parents[v] = grandparents[v] = (int)v;
    grid_barrier(barrier, generation);
    for (u32 round = 0;; ++round) {
        for_each_entry(
            indptr, n, nnz, [](int) { return true; },
            [&](int row, i64 place) {
                const int column = indices[place];
                const int above_row = __ldcg(grandparents + row), above_column = __ldcg(grandparents + column);
                if (above_row == above_column) return;
                const int higher = above_row > above_column ? row : column, lowest = min(above_row, above_column);
                hook(parents, __ldcg(parents + higher), lowest);
                hook(parents, higher, lowest);
            });
        grid_barrier(barrier, generation);
        bool changed = false;
        for (i64 v = first; v < n; v += stride) {
            const int before = grandparents[v], parent = min(__ldcg(parents + v), before);
            *(volatile int*)(parents + v) = parent;
            const int above = *(volatile int*)(parents + parent);
            grandparents[v] = above;
            changed |= above != before;
        }
        if (__syncthreads_or(changed) && threadIdx.x == 0) changes[round % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(round + 1) % 3] = 0;
        grid_barrier(barrier, generation);
        if (!__ldcg(changes + round % 3)) break;
    }
    for (i64 v = first; v < n; v += stride) is_root[v] = __ldcg(parents + v) == v;
}
