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
template <typename Matched>
DEVICE Edge heaviest_matched(In<INDEX> indices, In<WEIGHT> values, i64 begin, i64 end, i64 v, u32 tie_key,
                             Matched is_matched) {
    Edge best = {0, ~0u, NO_VERTEX};
    for (i64 slot = begin + threadIdx.x % WIDTH; slot < end; slot += WIDTH) {
        const INDEX column = indices[slot];
        const WEIGHT value = values[slot];
        if (column == v || rank_of(value) == 0 || !is_matched(column)) continue;
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

// Calls keep(v) for every matched vertex, and join(v, w) for every single one with its heaviest matched neighbour, which
// may be NO_VERTEX. A warp processes 32 vertices, its single ones with WIDTH lanes each.
template <typename Matched, typename Keep, typename Join>
DEVICE void join_single_vertices(In<INDEX> indptr, In<INDEX> indices, In<WEIGHT> values, i64 vertices, u32 tie_key,
                                 Matched is_matched, Keep keep, Join join) {
    const int lane = threadIdx.x % 32;
    WARP_STRIDE (i64, base, vertices) {
        const i64 v = base + lane;
        const bool is_vertex = v < vertices, is_single = is_vertex && !is_matched(v);
        if (is_vertex && !is_single) keep(v);
        u32 singles = __ballot_sync(FULL_WARP, is_single);
        while (singles) {
            u32 own = singles;
            for (int i = 0; i < lane / WIDTH; ++i) own &= own - 1;
            const i64 single = base + __ffs(own) - 1;
            const i64 begin = own ? (i64)indptr[single] : 0, end = own ? (i64)indptr[single + 1] : 0;
            const Edge edge = heaviest_matched(indices, values, begin, end, single, tie_key, is_matched);
            if (own && lane % WIDTH == 0) join(single, edge.column);
            for (int i = 0; i < 32 / WIDTH; ++i) singles &= singles - 1;
        }
    }
}
