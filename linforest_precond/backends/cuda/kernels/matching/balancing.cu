#include "matrix/row_lanes.cuh"

// The weight of an entry that is 0, and the maximum of no entries.
#define NO_WEIGHT (-2147483647 - 1)
#define NONE (-(1ll << 62))

// The largest off-diagonal entry of a row, on all lanes of its group; raises the maxima of the columns.
DEVICE i64 largest_beside(const INDEX* indptr, const INDEX* indices, const int* weights, RowLanes lanes, i64 row,
                          i64 own, i64 profit, const i64* prices, i64* of_columns) {
    i64 largest = NONE;
    if (row >= 0) {
        for (i64 slot = indptr[row] + lanes.place(); slot < indptr[row + 1]; slot += lanes.width) {
            const i64 column = indices[slot];
            if (column == own || weights[slot] == NO_WEIGHT) continue;
            const i64 size = weights[slot] - __ldcg(prices + column) - profit;
            largest = max(largest, size);
            if (__ldcg(of_columns + column) < size) atomicMax(of_columns + column, size);
        }
    }
    return lanes.group_max(largest);
}

// Half of the difference between the largest off-diagonal entries of row j and column j is subtracted from price j, for
// all j at the same time. A cooperative launch; `columns` is a perfect matching, the maxima start at NONE, `barrier` at 0.
KERNEL balance_prices(In<INDEX> indptr, In<INDEX> indices, In<int> weights, In<int> matched, In<INDEX> columns, i64 n,
                      i64 width, i64 iterations, i64* prices, i64* of_rows, i64* of_columns, u32* barrier) {
    const RowLanes lanes = {(int)width};
    u32 generation = 0;
    for (i64 iteration = 0; iteration < iterations; ++iteration) {
        for (i64 base = lanes.first(); base < n; base += lanes.step(gridDim.x)) {
            const i64 row = base + lanes.group();
            const i64 own = row < n ? columns[row] : -1;
            const i64 profit = row < n ? matched[row] - __ldcg(prices + own) : 0;
            const i64 largest =
                largest_beside(indptr, indices, weights, lanes, row < n ? row : -1, own, profit, prices, of_columns);
            if (row < n && lanes.place() == 0) of_rows[own] = largest;
        }
        grid_barrier(barrier, generation);
        GRID_STRIDE (i64, j, n) {
            const i64 of_row = __ldcg(of_rows + j), of_column = __ldcg(of_columns + j);
            if (of_row != NONE && of_column != NONE) prices[j] = __ldcg(prices + j) - ((of_row - of_column) >> 1);
            of_columns[j] = NONE;
        }
        grid_barrier(barrier, generation);
    }
}
