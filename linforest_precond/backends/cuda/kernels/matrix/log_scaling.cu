#include "matrix/row_lanes.cuh"

// The weight of an entry that is 0.
#define NO_WEIGHT (-2147483647 - 1)

// The largest weight of each row of a warp after its shifts (none where the pointers are null); raises the maxima of
// the columns. All lanes of the group of a row return its maximum.
DEVICE i64 row_maximum(const INDEX* indptr, const INDEX* indices, const int* weights, i64 n, RowLanes lanes, i64 row,
                       const i64* row_shifts, const i64* column_shifts, i64* columns) {
    i64 largest = NO_WEIGHT;
    if (row < n) {
        const i64 shift = row_shifts ? __ldcg(row_shifts + row) : 0;
        for (i64 slot = indptr[row] + lanes.place(); slot < indptr[row + 1]; slot += lanes.width) {
            if (weights[slot] == NO_WEIGHT) continue;
            const i64 column = indices[slot];
            const i64 weight = weights[slot] + shift + (column_shifts ? __ldcg(column_shifts + column) : 0);
            largest = max(largest, weight);
            if (__ldcg(columns + column) < weight) atomicMax(columns + column, weight);
        }
    }
    return lanes.group_max(largest);
}

// The largest weight of each row and of each column; those of the columns start below all weights.
KERNEL find_maxima(In<INDEX> indptr, In<INDEX> indices, In<int> weights, i64 n, i64 width, i64* rows, i64* columns) {
    const RowLanes lanes = {(int)width};
    for (i64 base = lanes.first(); base < n; base += lanes.step(gridDim.x)) {
        const i64 row = base + lanes.group();
        const i64 largest = row_maximum(indptr, indices, weights, n, lanes, row, 0, 0, columns);
        if (row < n && lanes.place() == 0) rows[row] = largest;
    }
}

// Half of a maximum, rounded down; 0 for an empty row or column.
DEVICE i64 half_of(i64 largest) { return largest == NO_WEIGHT ? 0 : largest >> 1; }

// Ruiz iterations (2001) in logarithms: half of each maximum is subtracted from the shifts of rows and columns at the
// same time. A cooperative launch; shifts start at 0, `columns` at NO_WEIGHT, `barrier` at 0.
KERNEL equilibrate_rows(In<INDEX> indptr, In<INDEX> indices, In<int> weights, i64 n, i64 width, i64 iterations,
                        i64* row_shifts, i64* column_shifts, i64* columns, u32* barrier) {
    const RowLanes lanes = {(int)width};
    u32 generation = 0;
    for (i64 iteration = 0; iteration < iterations; ++iteration) {
        for (i64 base = lanes.first(); base < n; base += lanes.step(gridDim.x)) {
            const i64 row = base + lanes.group();
            const i64 largest =
                row_maximum(indptr, indices, weights, n, lanes, row, row_shifts, column_shifts, columns);
            // Only this row's lanes read its shift, and have read it before the reduction.
            if (row < n && lanes.place() == 0) row_shifts[row] -= half_of(largest);
        }
        grid_barrier(barrier, generation);
        GRID_STRIDE (i64, j, n) {
            column_shifts[j] -= half_of(__ldcg(columns + j));
            columns[j] = NO_WEIGHT;
        }
        grid_barrier(barrier, generation);
    }
}
