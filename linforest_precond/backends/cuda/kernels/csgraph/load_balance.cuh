// All entries of a matrix in CSR, dealt out evenly to warps whatever the lengths of the rows: every warp takes tiles of
// consecutive entries, and its lanes share the entries of the rows in a tile.

#define TILE 1024

// The last row that begins at an entry or before it; by a whole warp, whose lanes look at 32 rows at a time.
__device__ __forceinline__ int row_of_entry(const INDEX* __restrict__ indptr, int n, i64 entry) {
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

// Calls visit(row, place) for every entry of the rows that wanted(row) names. All threads of the grid must come.
template <typename Wanted, typename Visit>
__device__ __forceinline__ void for_each_entry(const INDEX* __restrict__ indptr, int n, i64 nnz, Wanted wanted,
                                               Visit visit) {
    const u32 lane = threadIdx.x % 32;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 tile = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; tile * TILE < nnz; tile += warps) {
        const i64 tile_begin = tile * TILE, tile_end = min(tile_begin + TILE, nnz);
        // A lane to a row, and how many entries of the tile the rows up to it have.
        for (i64 first = row_of_entry(indptr, n, tile_begin), reached = tile_begin; reached < tile_end; first += 32) {
            const int row = (int)min(first + lane, (i64)n - 1);
            const i64 row_end = (i64)indptr[row + 1];
            const i64 begin = max((i64)indptr[row], tile_begin), end = min(row_end, tile_end);
            const int length = first + lane < n && begin < end && wanted(row) ? (int)(end - begin) : 0;
            int up_to = length;
            for (int step = 1; step < 32; step *= 2) {
                const int other = __shfl_up_sync(FULL_WARP, up_to, step);
                if (lane >= step) up_to += other;
            }
            const int total = __shfl_sync(FULL_WARP, up_to, 31);
            // From an entry's number among these to its place.
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
