// Vertices of a thread per round: their loads are batched for memory-level parallelism.
#define AT_ONCE 4

// Sorts the vertices by (path id, position). `path_ends` is the inclusive prefix sum of the path lengths by id: where
// the path ends in the new order.
KERNEL place_vertices(In<INDEX> path_id, In<INDEX> position, i64 vertices, In<INDEX> path_ends,
                      INDEX* __restrict__ order, INDEX* __restrict__ rank) {
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

// The key of each vertex in the radix sort: its path id in the upper half, its position in the lower half.
KERNEL pack_path_keys(In<INDEX> path_id, In<INDEX> position, i64 vertices, u64* __restrict__ words) {
    GRID_STRIDE (i64, v, vertices) words[v] = (u64)path_id[v] << 32 | (u32)position[v];
}

// The rank of each vertex: its place in the order.
KERNEL invert_order(In<INDEX> order, i64 vertices, INDEX* __restrict__ rank) {
    GRID_STRIDE (i64, place, vertices) rank[order[place]] = (INDEX)place;
}
