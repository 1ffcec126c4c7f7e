#include "runtime/common.cuh"
#include "runtime/edge_order.cuh"

// Lanes that search the row of a single (unmatched) vertex.
#define WIDTH 8

// An edge to a matched vertex; no edge has the value 0.
struct Edge {
    WEIGHT value;
    u32 hash;
    INDEX column;
};

// The best of a vertex's edges to matched vertices in the total order of edges, searched by WIDTH lanes.
__device__ __forceinline__ Edge heaviest_matched(const INDEX* __restrict__ indices, const WEIGHT* __restrict__ values,
                                                 const INDEX* __restrict__ mate, i64 begin, i64 end, i64 v,
                                                 u32 tie_key) {
    Edge best = {0, ~0u, NO_VERTEX};
    for (i64 slot = begin + threadIdx.x % WIDTH; slot < end; slot += WIDTH) {
        const INDEX column = indices[slot];
        const WEIGHT value = values[slot];
        if (column == v || rank_of(value) == 0 || mate[column] < 0) continue;
        const Edge edge = {value, edge_hash((INDEX)v, column, tie_key), column};
        if (is_better(edge, best)) best = edge;
    }
    for (int half = WIDTH / 2; half > 0; half /= 2) {
        const Edge other = {__shfl_xor_sync(FULL_WARP, best.value, half), __shfl_xor_sync(FULL_WARP, best.hash, half),
                            __shfl_xor_sync(FULL_WARP, best.column, half)};
        if (is_better(other, best)) best = other;
    }
    return best;
}

// The root of each vertex: the lower vertex of the pair that it belongs to or joins, or itself. A single vertex lower
// than the root that it joins is a candidate for the lowest vertex of the aggregate: claims[root] is the maximum of
// `vertices - v` over these candidates, zero where there is none. A warp processes 32 vertices, its single ones with
// WIDTH lanes each.
extern "C" __global__ void find_roots(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                      const WEIGHT* __restrict__ values, const INDEX* __restrict__ mate, i64 vertices,
                                      u32 tie_key, INDEX* __restrict__ roots, INDEX* claims) {
    const int lane = threadIdx.x % 32;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 base = (i64)blockIdx.x * blockDim.x + threadIdx.x - lane; base < vertices; base += step) {
        const i64 v = base + lane;
        const INDEX other = v < vertices ? mate[v] : 0;
        if (v < vertices && other >= 0) roots[v] = min((INDEX)v, other);
        u32 singles = __ballot_sync(FULL_WARP, other < 0);
        while (singles) {
            u32 own = singles;
            for (int i = 0; i < lane / WIDTH; ++i) own &= own - 1;
            const i64 single = base + __ffs(own) - 1;
            const i64 begin = own ? (i64)indptr[single] : 0, end = own ? (i64)indptr[single + 1] : 0;
            const Edge edge = heaviest_matched(indices, values, mate, begin, end, single, tie_key);
            if (own && lane % WIDTH == 0) {
                const INDEX root = edge.column < 0 ? (INDEX)single : min(edge.column, mate[edge.column]);
                roots[single] = root;
                if (single < root) atomicMax(claims + root, (INDEX)(vertices - single));
            }
            for (int i = 0; i < 32 / WIDTH; ++i) singles &= singles - 1;
        }
    }
}

__device__ __forceinline__ INDEX lowest_of(const INDEX* __restrict__ claims, i64 vertices, INDEX root) {
    return claims[root] ? (INDEX)(vertices - claims[root]) : root;
}

// Marks with 1 the vertices that are the lowest of their aggregates: a prefix sum of the marks numbers the aggregates.
extern "C" __global__ void mark_lowest(const INDEX* __restrict__ roots, const INDEX* __restrict__ claims, i64 vertices,
                                       INDEX* __restrict__ marks) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x)
        marks[v] = lowest_of(claims, vertices, roots[v]) == v;
}

// Replaces the root of each vertex by its aggregate; `opened` is the inclusive prefix sum of the marks.
extern "C" __global__ void number_aggregates(INDEX* roots, const INDEX* __restrict__ claims, i64 vertices,
                                             const INDEX* __restrict__ opened) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x)
        roots[v] = opened[lowest_of(claims, vertices, roots[v])] - 1;
}

// Counting sort, first pass: counts the members of each aggregate, shifted by one place for the prefix sum, and numbers
// the members of an aggregate in arbitrary order.
extern "C" __global__ void count_members(const INDEX* __restrict__ aggregates, i64 vertices, u32* sizes,
                                         u32* __restrict__ arrivals) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x)
        arrivals[v] = atomicAdd(sizes + aggregates[v] + 1, 1u);
}

// Counting sort, second pass: scatters the vertices to their aggregates.
extern "C" __global__ void place_members(const INDEX* __restrict__ aggregates, const INDEX* __restrict__ indptr,
                                         const u32* __restrict__ arrivals, i64 vertices, INDEX* __restrict__ members) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x)
        members[indptr[aggregates[v]] + arrivals[v]] = v;
}

// Insertion sort of the few members of each aggregate: makes their order independent of the threads' timing.
extern "C" __global__ void sort_members(const INDEX* __restrict__ indptr, i64 count, INDEX* members) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 begin = indptr[i], end = indptr[i + 1];
        for (i64 next = begin + 1; next < end; ++next) {
            const INDEX member = members[next];
            i64 place = next;
            for (; place > begin && members[place - 1] > member; --place) members[place] = members[place - 1];
            members[place] = member;
        }
    }
}
