// A tile of entries for each block, ITEMS consecutive ones for each thread: an odd number avoids bank conflicts.
#define TILE (THREADS * ITEMS)

// A run of consecutive entries: the row that begins last in it, or NO_VERTEX, and the sum of the products since then.
struct Run {
    INDEX row;
    VALUE sum;
};

// The operator of the segmented scan, associative up to rounding.
DEVICE Run operator+(const Run& a, const Run& b) { return b.row == NO_VERTEX ? Run{a.row, a.sum + b.sum} : b; }

DEVICE Run from_lane_before(const Run& run, int distance) {
    return {__shfl_up_sync(FULL_WARP, run.row, distance), __shfl_up_sync(FULL_WARP, run.sum, distance)};
}

// Block-wide exclusive segmented scan: the run of all entries of the threads before this one.
DEVICE Run block_exclusive_run(const Run& own) {
    __shared__ Run runs_of_warps[THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Run run = own;
    for (int step = 1; step < 32; step *= 2) {
        const Run other = from_lane_before(run, step);
        if (lane >= step) run = other + run;
    }
    if (lane == 31) runs_of_warps[warp] = run;
    run = from_lane_before(run, 1);
    if (lane == 0) run = {NO_VERTEX, 0};
    __syncthreads();
    for (int before = warp - 1; before >= 0 && run.row == NO_VERTEX; --before) run = runs_of_warps[before] + run;
    return run;
}

// d = A x + d by segmented reduction over CSR (SRCSR; C. Klein, R. Strzodka, ICPP 2022, doi:10.1145/3545008.3545035):
// entries are shared evenly among threads, whatever the lengths of the rows. A row within a tile is stored; a row that
// may continue in other tiles, the tile's first or last one, is added atomically, so its last bits depend on the order.
// `tile_rows` are the rows of the tiles' first entries, then that of the last entry. Empty rows have nothing to add.
KERNEL __launch_bounds__(THREADS) add_product(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<INDEX> tile_rows,
                                              i64 entries, In<VALUE> x, VALUE* __restrict__ d) {
    __shared__ VALUE products[TILE];
    __shared__ INDEX rows[TILE];  // the row that begins at an entry
    const int t = threadIdx.x;
    const i64 base = (i64)blockIdx.x * TILE;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const i64 place = base + i * THREADS + t, at = min(place, entries - 1);
        const VALUE product = data[at] * x[indices[at]];
        products[i * THREADS + t] = place < entries ? product : 0;
        rows[i * THREADS + t] = NO_VERTEX;
    }
    __syncthreads();
    const INDEX first = tile_rows[blockIdx.x], last = tile_rows[blockIdx.x + 1];
    for (i64 row = (i64)first + t; row <= last; row += THREADS) {
        const i64 begin = max((i64)indptr[row] - base, (i64)0), end = min((i64)indptr[row + 1] - base, (i64)TILE);
        if (begin < end) rows[begin] = (INDEX)row;
    }
    __syncthreads();
    Run own[ITEMS], all = {NO_VERTEX, 0};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        own[i] = {rows[t * ITEMS + i], products[t * ITEMS + i]};
        all = all + own[i];
    }
    Run run = block_exclusive_run(all);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (own[i].row != NO_VERTEX && run.row == first) atomicAdd(d + run.row, run.sum);
        else if (own[i].row != NO_VERTEX && run.row != NO_VERTEX) d[run.row] += run.sum;
        run = run + own[i];
    }
    if (t == THREADS - 1) atomicAdd(d + run.row, run.sum);
}
