// Binary searches in the sorted rows of a CSR matrix, and columns that are safe to follow.

// A column in [0, columns), for index arrays that may be the user's own: another stream can change these after they were
// checked. Compared as unsigned: negative columns are too large.
DEVICE int clamped(int column, i64 columns) { return (int)min((u32)column, (u32)columns - 1); }
DEVICE i64 clamped(i64 column, i64 columns) { return (i64)min((u64)column, (u64)columns - 1); }

// The first place in the sorted columns [begin, end) whose column is not less than `column`.
template <typename Index>
DEVICE i64 lower_bound(In<Index> indices, i64 begin, i64 end, Index column) {
    while (begin < end) {
        const i64 middle = begin + (end - begin) / 2;
        if (indices[middle] < column) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// The place of `column` in the sorted columns [begin, end), or -1.
template <typename Index>
DEVICE i64 find_column(In<Index> indices, i64 begin, i64 end, Index column) {
    const i64 place = lower_bound(indices, begin, end, column);
    return place < end && indices[place] == column ? place : -1;
}

// The entry (row, column) of a CSR matrix, or 0 where nothing is stored or where either is NO_VERTEX.
template <typename Index, typename Value>
DEVICE Value stored_value(In<Index> indptr, In<Index> indices, In<Value> data, Index row, Index column) {
    if (row < 0 || column < 0) return Value{};
    const i64 slot = find_column(indices, (i64)indptr[row], (i64)indptr[row + 1], column);
    return slot < 0 ? Value{} : data[slot];
}
