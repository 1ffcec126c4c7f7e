#include "runtime/common.cuh"

// Vertices a thread places together, so that their loads overlap.
#define AT_ONCE 4

// Each vertex goes to its position behind all paths with smaller ids; `path_ends` are the running sums of
// the paths' lengths by id.
extern "C" __global__ void place_vertices(const INDEX* __restrict__ path_id, const INDEX* __restrict__ position,
                                          i64 vertices, const INDEX* __restrict__ path_ends, INDEX* __restrict__ order,
                                          INDEX* __restrict__ rank) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x; first < vertices; first += AT_ONCE * stride) {
        INDEX places[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 v = first + i * stride;
            if (v >= vertices) break;
            const INDEX path = path_id[v];
            places[i] = (path ? path_ends[path - 1] : 0) + position[v] - 1;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 v = first + i * stride;
            if (v >= vertices) break;
            order[places[i]] = v;
            rank[v] = places[i];
        }
    }
}
