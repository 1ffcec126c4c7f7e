#include "common.cuh"

// A forest of vertices: parents never lie above their children, so the root of a finished tree is the lowest
// vertex of its component. Any ancestor that another thread has just replaced still is one.
__device__ __forceinline__ int parent_of(const int* parents, int v) { return *(const volatile int*)(parents + v); }

// Finds the root and halves the way for those who come after. Only vertices that are no roots are written to.
__device__ __forceinline__ int find_root(int* parents, int v) {
    int parent = parent_of(parents, v);
    for (int below = v, above; parent > (above = parent_of(parents, parent)); parent = above) {
        *(volatile int*)(parents + below) = above;
        below = parent;
    }
    return parent;
}

// Each vertex hangs on its lowest neighbour, if that is below it; columns ascend.
extern "C" __global__ void plant(const INDEX* __restrict__ indptr, const int* __restrict__ indices, int n, int* parents) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        const INDEX begin = indptr[v];
        parents[v] = begin < indptr[v + 1] ? min(v, indices[begin]) : v;
    }
}

// Every entry joins the trees of its row and its column: the higher root hangs on the lower.
extern "C" __global__ void join(const INDEX* __restrict__ rows, const int* __restrict__ indices, i64 nnz, int* parents) {
    for (i64 place = (i64)blockIdx.x * blockDim.x + threadIdx.x; place < nnz; place += (i64)gridDim.x * blockDim.x) {
        int one = find_root(parents, (int)rows[place]), other = find_root(parents, indices[place]);
        while (one != other) {
            const int higher = max(one, other), lower = min(one, other);
            const int found = atomicCAS(parents + higher, higher, lower);
            if (found == higher) break;
            one = find_root(parents, found);
            other = lower;
        }
    }
}

// The root of each vertex. Not into the forest itself: another thread that halves a way may write after this one.
extern "C" __global__ void find_roots(int n, int* parents, int* roots, int* is_root) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        roots[v] = find_root(parents, v);
        is_root[v] = roots[v] == v;
    }
}

// From roots to labels, in place: roots are numbered in order, `numbers` counts them up to each vertex.
extern "C" __global__ void number_roots(const int* __restrict__ numbers, int n, int* __restrict__ labels) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
        labels[v] = numbers[labels[v]] - 1;
}
