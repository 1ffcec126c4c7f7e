// Copies the three entries of each row of the permuted tridiagonal matrix: the diagonal one and those along the path.
// The latter are `edge_values`, or are stored at `slots` of the matrix, or are found by binary search in its rows:
// whichever is not null, in this order. A thread per row. A slot beyond the entries is that of another matrix: 0.
KERNEL copy_bands(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> matrix_diagonal, i64 rows, i64 entries,
                  In<INDEX> neighbors, In<VALUE> edge_values, In<INDEX> slots, In<INDEX> order,
                  VALUE* __restrict__ lower, VALUE* __restrict__ diagonal, VALUE* __restrict__ upper) {
    GRID_STRIDE (i64, place, rows) {
        const INDEX v = order[place];
        const INDEX before = place ? order[place - 1] : NO_VERTEX;
        diagonal[place] = matrix_diagonal[v];
        VALUE to_before = VALUE{}, to_after = VALUE{};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const i64 edge = 2 * (i64)v + i;
            const INDEX neighbor = neighbors[edge];
            if (neighbor < 0) continue;
            const VALUE value = edge_values ? edge_values[edge]
                                : slots     ? ((u64)slots[edge] < (u64)entries ? data[slots[edge]] : VALUE{})
                                            : stored_value(indptr, indices, data, v, neighbor);
            (neighbor == before ? to_before : to_after) = value;
        }
        lower[place] = to_before;
        upper[place] = to_after;
    }
}

// Sets the values of a forest's edges to 0, in both directions. A thread per place for a neighbour.
KERNEL clear_edges(In<INDEX> indptr, In<INDEX> indices, i64 rows, i64 entries, In<INDEX> neighbors,
                   VALUE* __restrict__ values) {
    GRID_STRIDE (i64, edge, 2 * rows) {
        if (neighbors[edge] < 0) continue;
        const i64 v = edge / 2;
        const i64 slot = find_column(indices, (i64)indptr[v], (i64)indptr[v + 1], neighbors[edge]);
        if ((u64)slot < (u64)entries) values[slot] = VALUE{};
    }
}
