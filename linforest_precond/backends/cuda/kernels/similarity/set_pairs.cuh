// Pairs of sets as complete bipartite graphs: a row-major block of weights for each pair.

struct PairArrays {
    const i64* lefts;
    const i64* rights;
    const i64* rows;
    const i64* columns;
    const i64* starts;
    const i64* row_starts;
    const i64* column_starts;
    i64 pairs;
};

// Pairs are visited by warps.
DEVICE i64 first_pair() { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }
DEVICE i64 pair_stride() { return (i64)gridDim.x * blockDim.x / 32; }

// The sum of 32 values in the order of the lanes, after `total`; the same bits as a serial loop.
DEVICE double add_lanes(double total, double value) {
    for (int lane = 0; lane < 32; ++lane) total += from_lane(value, lane);
    return total;
}
