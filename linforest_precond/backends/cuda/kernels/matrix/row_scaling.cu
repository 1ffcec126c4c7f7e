#include "matrix/row_lanes.cuh"

// A value times a double-precision factor, rounded once.
DEVICE double times(double a, double factor) { return a * factor; }
DEVICE float times(float a, double factor) { return narrowed(widened(a) * factor); }
template <typename Complex>
DEVICE Complex times(Complex a, double factor) {
    return {times(a.re, factor), times(a.im, factor)};
}

// The length of each row in the new order, after a 0: their prefix sums are the row pointers.
KERNEL permuted_lengths(In<INDEX> indptr, In<INDEX> order, i64 n, INDEX* __restrict__ lengths) {
    GRID_STRIDE (i64, i, n + 1) lengths[i] = i ? indptr[order[i - 1] + 1] - indptr[order[i - 1]] : 0;
}

// Row i of the new matrix is row order[i], or i where order is null; its entries keep their order. Column j becomes
// rank[j], or stays where rank is null. Each entry is multiplied by the product of its row's and column's factors, where
// these are not null: that product is the same for the mirror entry. Indices are copied where rows are permuted; they
// may be the user's own, and are clamped.
KERNEL move_rows(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<INDEX> order, In<INDEX> rank,
                 In<double> row_factors, In<double> column_factors, i64 n, i64 width, In<INDEX> permuted,
                 INDEX* columns, VALUE* __restrict__ values) {
    const RowLanes lanes = {(int)width};
    for (i64 base = lanes.first(); base < n; base += lanes.step(gridDim.x)) {
        const i64 row = base + lanes.group();
        if (row >= n) continue;
        const i64 source = order ? order[row] : row, begin = indptr[source], length = indptr[source + 1] - begin;
        const i64 target = permuted[row];
        const double factor = row_factors ? row_factors[source] : 1;
        for (i64 k = lanes.place(); k < length; k += width) {
            const INDEX column = clamped(indices[begin + k], n);
            const VALUE value = data[begin + k];
            if (order) columns[target + k] = rank ? rank[column] : column;
            values[target + k] = row_factors ? times(value, factor * column_factors[column]) : value;
        }
    }
}

// x[i] = factors[p] b[p] or, to scatter, x[p] = factors[p] b[i], for the row p = order[i], or i where order is null;
// (rows, k) arrays of any strides. x may be b where order is null.
KERNEL scale_vectors(const VALUE* b, VALUE* x, In<INDEX> order, In<double> factors, i64 rows, i64 k, i64 b_row,
                     i64 b_column, i64 x_row, i64 x_column, i64 scatter) {
    GRID_STRIDE (i64, item, rows * k) {
        const i64 i = k == 1 ? item : item / k, c = item - i * k, p = order ? order[i] : i;
        const i64 from = scatter ? i : p, to = scatter ? p : i;
        x[to * x_row + c * x_column] = times(b[from * b_row + c * b_column], factors[p]);
    }
}
