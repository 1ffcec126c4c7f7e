// Thread per row: counts the off-diagonal entries.
KERNEL count_neighbors(In<INDEX> indptr, In<int> indices, i64 n, int* __restrict__ counts) {
    GRID_STRIDE (i64, row, n) {
        int count = 0;
        for (INDEX slot = indptr[row]; slot < indptr[row + 1]; ++slot) count += indices[slot] != row;
        counts[row] = count;
    }
}
