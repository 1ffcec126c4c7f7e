// Pairs of sets as complete bipartite graphs: a row-major block of weights for each pair.

struct PairArrays {
    const i64 *lefts, *rights;
    const i64 *rows, *columns;
    const i64 *starts, *row_starts, *column_starts;
    i64 pairs;
};

// The sum of 32 values in the order of the lanes, after `total`; the same bits as a serial loop.
DEVICE double add_lanes(double total, double value) {
    for (int lane = 0; lane < 32; ++lane) total += from_lane(value, lane);
    return total;
}
