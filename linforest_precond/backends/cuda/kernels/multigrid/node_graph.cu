// No further column in a row.
#define NO_COLUMN 0x7fffffffffffffffll

// The minimum over teams of `width` lanes.
DEVICE i64 team_min(i64 value, int width) {
    for (int half = width / 2; half > 0; half /= 2) value = min(value, __shfl_xor_sync(FULL_WARP, value, half));
    return value;
}

// Merges the b rows of each node, one per lane of a team of `width` lanes, and visits its blocks in ascending order of
// their columns. FILL writes columns and Frobenius norms from starts[node] on, otherwise blocks are counted. All teams
// of a warp stay in the loop until the last one has finished, so that all lanes take part in shuffles.
template <bool FILL>
DEVICE void merge_rows(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 nodes, int b, int width,
                       In<INDEX> starts, INDEX* __restrict__ counts, INDEX* __restrict__ columns,
                       double* __restrict__ norms) {
    const int lane = threadIdx.x % 32, r = lane % width, teams = 32 / width;
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 first = warp * teams; first < nodes; first += warps * teams) {
        const i64 node = first + lane / width;
        const bool owns_row = node < nodes && r < b;
        i64 place = owns_row ? (i64)indptr[node * b + r] : 0;
        const i64 end = owns_row ? (i64)indptr[node * b + r + 1] : 0;
        i64 count = 0;
        while (true) {
            const i64 column = team_min(place < end ? (i64)indices[place] / b : NO_COLUMN, width);
            if (!__any_sync(FULL_WARP, column != NO_COLUMN)) break;
            double square = 0.0;
            // A team without further columns has no entries left either.
            for (; place < end && indices[place] < (column + 1) * b; ++place)
                if (FILL) square += wide_square(data[place]);
            __syncwarp();
            if (FILL) {
                double total = 0.0;
                for (int row = 0; row < b; ++row) total += __shfl_sync(FULL_WARP, square, lane - r + row);
                if (r == 0 && column != NO_COLUMN) {
                    columns[starts[node] + count] = (INDEX)column;
                    norms[starts[node] + count] = column == node ? sqrt(total) : -sqrt(total);
                }
            }
            count += column != NO_COLUMN;
        }
        if (!FILL && r == 0 && node < nodes) counts[node] = (INDEX)count;
    }
}

// The number of blocks of each node.
KERNEL count_blocks(In<INDEX> indptr, In<INDEX> indices, i64 nodes, int b, int width, INDEX* __restrict__ counts) {
    merge_rows<false>(indptr, indices, nullptr, nodes, b, width, nullptr, counts, nullptr, nullptr);
}

// The Frobenius norm of each block, negative off the diagonal.
KERNEL find_block_norms(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 nodes, int b, int width,
                        In<INDEX> starts, INDEX* __restrict__ columns, double* __restrict__ norms) {
    merge_rows<true>(indptr, indices, data, nodes, b, width, starts, nullptr, columns, norms);
}
