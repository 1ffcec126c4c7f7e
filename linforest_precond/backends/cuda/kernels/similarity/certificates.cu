#include "similarity/set_pairs.cuh"

// Warp per pair: the sum of each row's largest weight, or of each column's, whichever is less.
KERNEL sum_largest_weights(PairArrays at, In<double> weights, double* __restrict__ bounds) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const double* block = weights + at.starts[pair];
        const i64 height = at.rows[pair], width = at.columns[pair];
        double of_rows = 0.0, of_columns = 0.0;
        for (i64 row = 0; row < height; ++row) {
            double most = 0.0;
            for (i64 column = lane; column < width; column += 32) most = max(most, block[row * width + column]);
            of_rows += warp_max(most);
        }
        for (i64 first = 0; first < width; first += 32) {
            double most = 0.0;
            const i64 rows = first + lane < width ? height : 0;
            for (i64 row = 0; row < rows; ++row) most = max(most, block[row * width + first + lane]);
            of_columns = add_lanes(of_columns, most);
        }
        if (lane == 0) bounds[pair] = min(of_rows, of_columns);
    }
}

// Thread per pair: the weight of its matching.
KERNEL sum_matched_weights(PairArrays at, In<double> weights, In<int> mates, double* __restrict__ sums) {
    GRID_STRIDE (i64, pair, at.pairs) {
        double total = 0.0;
        for (i64 row = 0; row < at.rows[pair]; ++row) {
            const int column = mates[at.row_starts[pair] + row];
            if (column >= 0) total += weights[at.starts[pair] + row * at.columns[pair] + column];
        }
        sums[pair] = total;
    }
}

// Warp per pair: reduces the rows' duals, then the columns', as far as the edges allow; sums all of them.
KERNEL reduce_duals(PairArrays at, In<double> weights, double* __restrict__ row_duals,
                    double* __restrict__ column_duals, double* __restrict__ bounds) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const double* block = weights + at.starts[pair];
        const i64 height = at.rows[pair], width = at.columns[pair];
        double *of_rows = row_duals + at.row_starts[pair], *of_columns = column_duals + at.column_starts[pair];
        double total = 0.0;
        for (i64 row = 0; row < height; ++row) {
            double most = 0.0;
            for (i64 column = lane; column < width; column += 32)
                most = max(most, block[row * width + column] - of_columns[column]);
            most = warp_max(most);
            if (lane == 0) of_rows[row] = most;
            total += most;
        }
        __syncwarp();
        for (i64 first = 0; first < width; first += 32) {
            double most = 0.0;
            const i64 rows = first + lane < width ? height : 0;
            for (i64 row = 0; row < rows; ++row) most = max(most, block[row * width + first + lane] - of_rows[row]);
            if (rows) of_columns[first + lane] = most;
            total = add_lanes(total, most);
        }
        if (lane == 0) bounds[pair] = total;
    }
}
