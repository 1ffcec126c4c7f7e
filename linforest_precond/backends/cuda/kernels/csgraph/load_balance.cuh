// Load balancing by entries: every warp takes ranges of consecutive entries of a CSR matrix, whatever the rows'
// lengths, and its lanes share the entries of the rows in a range.

#define RANGE 1024

// The last row that begins at or before an entry: 32-ary search by a whole warp.
DEVICE int row_of_entry(In<INDEX> indptr, int n, i64 entry) {
    i64 first = 0, count = n;
    while (count > 1) {
        const i64 step = (count + 31) / 32, row = first + step * (threadIdx.x % 32);
        const bool begins = row < first + count && (i64)indptr[row] <= entry;
        const int last = 31 - __clz(__ballot_sync(FULL_WARP, begins));
        count = min(step, count - step * last);
        first += step * last;
    }
    return (int)first;
}

// Calls visit(row, place) for every entry of the rows for which wanted(row) holds. Called by all threads of the grid.
template <typename Wanted, typename Visit>
DEVICE void for_each_entry(In<INDEX> indptr, int n, i64 nnz, Wanted wanted, Visit visit) {
    const u32 lane = threadIdx.x % 32;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 range = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; range * RANGE < nnz; range += warps) {
        const i64 range_begin = range * RANGE, range_end = min(range_begin + RANGE, nnz);
        // A lane per row: an inclusive scan of the rows' entries in the range.
        for (i64 first = row_of_entry(indptr, n, range_begin), reached = range_begin; reached < range_end;
             first += 32) {
            const int row = (int)min(first + lane, (i64)n - 1);
            const i64 row_end = (i64)indptr[row + 1];
            const i64 begin = max((i64)indptr[row], range_begin), end = min(row_end, range_end);
            const int length = first + lane < n && begin < end && wanted(row) ? (int)(end - begin) : 0;
            int up_to = length;
            for (int step = 1; step < 32; step *= 2) {
                const int other = __shfl_up_sync(FULL_WARP, up_to, step);
                if (lane >= step) up_to += other;
            }
            const int total = __shfl_sync(FULL_WARP, up_to, 31);
            // A lane per entry: binary search of the scan for its row.
            const i64 offset = begin - (up_to - length);
            for (int base = 0; base < total; base += 32) {
                const int number = base + (int)lane;
                int owner = 0;
                for (int step = 16; step > 0; step /= 2)
                    if (__shfl_sync(FULL_WARP, up_to, owner + step - 1) <= number) owner += step;
                const i64 place = __shfl_sync(FULL_WARP, offset, owner) + number;
                if (number < total) visit((int)(first + owner), place);
            }
            reached = __shfl_sync(FULL_WARP, row_end, 31);
        }
    }
}
