// The value stored between each vertex and its mate, by binary search in the vertex's row.
KERNEL find_matched_values(In<INDEX> indptr, In<INDEX> indices, In<VALUE> values, i64 rows, In<INDEX> mate,
                           VALUE* __restrict__ out) {
    GRID_STRIDE (i64, v, rows) { out[v] = stored_value(indptr, indices, values, (INDEX)v, mate[v]); }
}
