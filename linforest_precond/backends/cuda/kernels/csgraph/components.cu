#include "csgraph/load_balance.cuh"

// Union-find: a parent is never above its child, so the root of a finished tree is the lowest vertex of its component.
// A stale parent is still an ancestor, so reading it from L1 is safe; L2 reads of a few hot roots would serialise.
DEVICE int parent_of(const int* parents, int v) {
    int parent;
    asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(parent) : "l"(parents + v));
    return parent;
}

// Find. Path compression updates the vertex itself only: writes to the other vertices of the path would contend. Roots
// are never written.
DEVICE int find_root(int* parents, int v) {
    int parent = parent_of(parents, v);
    for (int grandparent; parent > (grandparent = parent_of(parents, parent)); parent = grandparent)
        *(volatile int*)(parents + v) = grandparent;
    return parent;
}

// Union: hooks the higher root to the lower by CAS; where another thread was first, continues from its parent.
DEVICE void link(int* parents, int one, int other) {
    if (parent_of(parents, one) == parent_of(parents, other)) return;
    one = find_root(parents, one);
    other = find_root(parents, other);
    while (one != other) {
        const int higher = max(one, other), lower = min(one, other);
        const int found = atomicCAS(parents + higher, higher, lower);
        if (found == higher) return;
        one = find_root(parents, found);
        other = lower;
    }
}

// The most frequent root in a sample of vertices, by one block.
__device__ void find_largest(int* parents, int n, int* largest) {
    __shared__ int sample[1024];
    __shared__ u64 most;
    if (threadIdx.x == 0) most = 0;
    sample[threadIdx.x] = find_root(parents, (int)(mix32(threadIdx.x) % (u32)n));
    __syncthreads();
    u64 count = 0;
    for (int other = 0; other < (int)blockDim.x; ++other) count += sample[other] == sample[threadIdx.x];
    atomicMax(&most, count << 32 | (u32)sample[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) *largest = (int)(u32)most;
}

DEVICE void compress(int* parents, int n) {
    GRID_STRIDE (i64, v, n) find_root(parents, (int)v);
}

// Afforest (M. Sutton, T. Ben-Nun, A. Barak, IPDPS 2018, doi:10.1109/IPDPS.2018.00012), in one cooperative launch:
// links with two neighbours of each vertex join nearly all of a large component. If the pattern is symmetric, the rows
// of that component are then skipped: edges that leave it are stored in other rows too. `parents` become the roots.
KERNEL __launch_bounds__(1024) afforest(In<INDEX> indptr, In<int> indices, int n, i64 nnz, int symmetric, int* parents,
                                        int* is_root, u32* barrier, int* largest) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    u32 generation = 0;
    // The parent is the first neighbour, the lowest because columns ascend, if it is below the vertex.
    for (i64 v = first; v < n; v += stride) {
        const INDEX begin = indptr[v];
        parents[v] = begin < indptr[v + 1] ? min((int)v, indices[begin]) : (int)v;
    }
    grid_barrier(barrier, generation);
    compress(parents, n);
    grid_barrier(barrier, generation);
    for (i64 v = first; v < n; v += stride) {
        const INDEX second = indptr[v] + 1;
        if (second < indptr[v + 1]) link(parents, (int)v, indices[second]);
    }
    grid_barrier(barrier, generation);
    compress(parents, n);
    if (blockIdx.x == 0) find_largest(parents, n, largest);
    grid_barrier(barrier, generation);
    const int skipped = symmetric ? *(volatile int*)largest : -1;
    for_each_entry(
        indptr, n, nnz, [&](int row) { return parent_of(parents, row) != skipped; },
        [&](int row, i64 place) { link(parents, row, indices[place]); });
    grid_barrier(barrier, generation);
    for (i64 v = first; v < n; v += stride) is_root[v] = find_root(parents, (int)v) == v;
}

// Replaces roots by labels: `numbers` is the inclusive scan of the roots' flags.
KERNEL number_roots(In<int> numbers, int n, int* __restrict__ labels) {
    GRID_STRIDE (int, v, n) labels[v] = numbers[labels[v]] - 1;
}
