// The transpose of a CSR matrix by counting sort: entries are scattered by column in any order, then the few entries of
// each column are sorted.

// Counts the entries of each column, shifted by one place for the scan that gives the row pointers of the transpose.
// The count before an entry is its place among those of its column. Finds the longest column.
KERNEL count_column_entries(In<INDEX> indices, i64 entries, INDEX* __restrict__ counts, INDEX* __restrict__ places,
                            u64* longest) {
    i64 most = 0;
    GRID_STRIDE (i64, i, entries) {
        // Two's complement: unsigned addition serves signed counts.
        const i64 place = sizeof(INDEX) == 4 ? (i64)atomicAdd((u32*)(counts + indices[i] + 1), 1u)
                                             : (i64)atomicAdd((u64*)(counts + indices[i] + 1), 1ull);
        places[i] = (INDEX)place;
        most = max(most, place + 1);
    }
    most = warp_max(most);
    if (threadIdx.x % 32 == 0 && most) atomicMax(longest, (u64)most);
}

// Scatters the slots and rows of all entries by column; `lanes` per row.
KERNEL scatter_entries(In<INDEX> indptr, In<INDEX> indices, i64 rows, int lanes, In<INDEX> begins, In<INDEX> places,
                       INDEX* __restrict__ slots, INDEX* __restrict__ slot_rows) {
    GROUP_STRIDE (i64, row, rows, lanes)
        for (i64 slot = (i64)indptr[row] + threadIdx.x % lanes; slot < indptr[row + 1]; slot += lanes) {
            const i64 place = begins[indices[slot]] + places[slot];
            slots[place] = (INDEX)slot;
            slot_rows[place] = (INDEX)row;
        }
}

// The values of the transpose on its known pattern: entry (column, row) is found in `row`. `lanes` per column. An entry
// that is not stored there is 0.
KERNEL gather_transpose(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<INDEX> begins, In<INDEX> rows,
                        i64 columns, int lanes, VALUE* __restrict__ out_data) {
    GROUP_STRIDE (i64, column, columns, lanes)
        for (i64 i = begins[column] + threadIdx.x % lanes; i < begins[column + 1]; i += lanes) {
            const i64 slot = find_column(indices, indptr[rows[i]], indptr[rows[i] + 1], (INDEX)column);
            out_data[i] = slot < 0 ? VALUE{} : data[slot];
        }
}

// Sorts the entries of each column by rank, which is the number of lower slots: rows ascend, and duplicates keep their
// order. `lanes` per column; `data` may be null.
KERNEL sort_columns(In<INDEX> begins, i64 columns, int lanes, In<INDEX> slots, In<INDEX> slot_rows, In<VALUE> data,
                    INDEX* __restrict__ out_rows, VALUE* __restrict__ out_data) {
    GROUP_STRIDE (i64, column, columns, lanes) {
        const i64 begin = begins[column], end = begins[column + 1];
        for (i64 i = begin + threadIdx.x % lanes; i < end; i += lanes) {
            const INDEX slot = slots[i];
            i64 place = begin;
#pragma unroll 4
            for (i64 j = begin; j < end; ++j) place += slots[j] < slot;
            out_rows[place] = slot_rows[i];
            if (data) out_data[place] = data[slot];
        }
    }
}
