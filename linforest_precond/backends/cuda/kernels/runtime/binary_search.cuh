// Binary searches in the sorted rows of a CSR matrix.

// The first place in the sorted columns [begin, end) whose column is not less than `column`.
template <typename Index>
__device__ __forceinline__ i64 lower_bound(const Index* __restrict__ indices, i64 begin, i64 end, Index column) {
    while (begin < end) {
        const i64 middle = begin + (end - begin) / 2;
        if (indices[middle] < column) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// The place of `column` in the sorted columns [begin, end), or -1.
template <typename Index>
__device__ __forceinline__ i64 find_column(const Index* __restrict__ indices, i64 begin, i64 end, Index column) {
    const i64 place = lower_bound(indices, begin, end, column);
    return place < end && indices[place] == column ? place : -1;
}

// The entry (row, column) of a CSR matrix, or 0 where nothing is stored or where either is NO_VERTEX.
template <typename Index, typename Value>
__device__ __forceinline__ Value stored_value(const Index* __restrict__ indptr, const Index* __restrict__ indices,
                                              const Value* __restrict__ data, Index row, Index column) {
    if (row < 0 || column < 0) return Value{};
    const i64 slot = find_column(indices, (i64)indptr[row], (i64)indptr[row + 1], column);
    return slot < 0 ? Value{} : data[slot];
}
