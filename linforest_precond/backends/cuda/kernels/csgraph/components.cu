#include "runtime/common.cuh"
#include "csgraph/load_balance.cuh"

// A forest of vertices: parents never lie above their children, so the root of a finished tree is the lowest
// vertex of its component. Any ancestor that another thread has just replaced still is one, so it may come from the
// multiprocessor's own cache: many ways end at the same few roots, and in the L2 cache these would be a bottleneck.
__device__ __forceinline__ int parent_of(const int* parents, int v) {
    int parent;
    asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(parent) : "l"(parents + v));
    return parent;
}

// Finds the root. On the way the vertex is hung ever higher, which shortens the ways of those who come through it; others
// are left alone, since many would write to the same few. Only vertices that are no roots are written to.
__device__ __forceinline__ int find_root(int* parents, int v) {
    int parent = parent_of(parents, v);
    for (int above; parent > (above = parent_of(parents, parent)); parent = above)
        *(volatile int*)(parents + v) = above;
    return parent;
}

// Joins the trees of two vertices: the higher root hangs on the lower.
__device__ __forceinline__ void join(int* parents, int one, int other) {
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

// The root that most of a sample of vertices have, by one block.
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

__device__ __forceinline__ void find_all_roots(int* parents, int n) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += (i64)gridDim.x * blockDim.x)
        find_root(parents, (int)v);
}

// Hangs each vertex on the root of its component, in one cooperative launch. As Afforest does (Sutton, Ben-Nun & Barak,
// 2018): two neighbours of each vertex join nearly all vertices of a large component; of a symmetric pattern, the rows
// of its vertices need not be looked at again, because an edge that leads out of it is stored in another row too.
extern "C" __global__ void __launch_bounds__(1024)
    connect(const INDEX* __restrict__ indptr, const int* __restrict__ indices, int n, i64 nnz, int symmetric,
            int* parents, int* is_root, u32* barrier, int* largest) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    u32 generation = 0;
    // The lowest neighbour, if that is below the vertex; columns ascend.
    for (i64 v = first; v < n; v += stride) {
        const INDEX begin = indptr[v];
        parents[v] = begin < indptr[v + 1] ? min((int)v, indices[begin]) : (int)v;
    }
    grid_barrier(barrier, generation);
    find_all_roots(parents, n);
    grid_barrier(barrier, generation);
    for (i64 v = first; v < n; v += stride) {
        const INDEX second = indptr[v] + 1;
        if (second < indptr[v + 1]) join(parents, (int)v, indices[second]);
    }
    grid_barrier(barrier, generation);
    find_all_roots(parents, n);
    if (blockIdx.x == 0) find_largest(parents, n, largest);
    grid_barrier(barrier, generation);
    const int skipped = symmetric ? *(volatile int*)largest : -1;
    for_each_entry(
        indptr, n, nnz, [&](int row) { return parent_of(parents, row) != skipped; },
        [&](int row, i64 place) { join(parents, row, indices[place]); });
    grid_barrier(barrier, generation);
    for (i64 v = first; v < n; v += stride) is_root[v] = find_root(parents, (int)v) == v;
}

// From roots to labels, in place: roots are numbered in order, `numbers` counts them up to each vertex.
extern "C" __global__ void number_roots(const int* __restrict__ numbers, int n, int* __restrict__ labels) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
        labels[v] = numbers[labels[v]] - 1;
}
