#include "runtime/common.cuh"

// The value stored between each vertex and its mate, by binary search in the vertex's row.
KERNEL find_matched_values(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                           const VALUE* __restrict__ values, i64 rows, const INDEX* __restrict__ mate,
                           VALUE* __restrict__ out) {
    GRID_STRIDE (i64, v, rows) { out[v] = stored_value(indptr, indices, values, (INDEX)v, mate[v]); }
}
