// Scalars instead of blocks.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// A column whose norm falls below this share in the orthogonalization depends on the columns before it.
#define RANK_TOLERANCE 1e-10

DEVICE double widen(double a) { return a; }
DEVICE double widen(float a) { return widened(a); }
DEVICE Complex128 widen(Complex64 a) { return {widened(a.re), widened(a.im)}; }
DEVICE Complex128 widen(Complex128 a) { return a; }
DEVICE void narrow(double& to, double a) { to = a; }
DEVICE void narrow(float& to, double a) { to = narrowed(a); }
DEVICE void narrow(Complex64& to, Complex128 a) { to = {narrowed(a.re), narrowed(a.im)}; }
DEVICE void narrow(Complex128& to, Complex128 a) { to = a; }

// Warp reduction by butterfly shuffles, an order that does not change: every lane gets the same sum.
DEVICE double sum_of_lanes(double a) {
    for (int half = 16; half > 0; half /= 2) a += __shfl_xor_sync(FULL_WARP, a, half);
    return a;
}
DEVICE Complex128 sum_of_lanes(Complex128 a) { return {sum_of_lanes(a.re), sum_of_lanes(a.im)}; }

// The inner product of two columns by a warp; a lane has every 32nd row.
DEVICE WIDE dot(const WIDE* u, const WIDE* v, i64 rows) {
    WIDE sum = {};
    for (i64 row = threadIdx.x % 32; row < rows; row += 32) sum = sum + conjugate(u[row]) * v[row];
    return sum_of_lanes(sum);
}

DEVICE double norm(const WIDE* u, i64 rows) { return sqrt(real_part(dot(u, u, rows))); }

// The aggregates: member nodes of each, and the unknowns of a node.
struct Aggregates {
    const INDEX *starts, *members;
    i64 count, block_size;
};

// Modified Gram-Schmidt, twice, on the k columns of `work`, one after the other. A lane only touches its own rows, so
// the warp needs no barrier. The triangular factor goes to `coarse`, k x k and zero before.
DEVICE void orthonormalize_columns(WIDE* work, i64 rows, int k, WIDE* coarse) {
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < k; ++j) {
        WIDE* const own = work + j * rows;
        const double original = norm(own, rows);
        for (int pass = 0; pass < 2; ++pass)
            for (int i = 0; i < j; ++i) {
                const WIDE* const other = work + i * rows;
                const WIDE share = dot(other, own, rows);
                if (lane == 0) coarse[i * k + j] = coarse[i * k + j] + share;
                for (i64 row = lane; row < rows; row += 32) own[row] = own[row] - share * other[row];
            }
        const double remaining = norm(own, rows);
        const bool independent = remaining > RANK_TOLERANCE * original;
        if (lane == 0 && independent) *(double*)&coarse[j * k + j] = remaining;
        for (i64 row = lane; row < rows; row += 32) own[row] = independent ? scaled(own[row], 1.0 / remaining) : WIDE{};
    }
}

// The rows of the prolongator at the members of each aggregate, and the triangular factors; a warp per aggregate.
// `work` has room for the k columns of all aggregates, `coarse` is zero before.
KERNEL orthonormalize(Aggregates aggregates, In<INDEX> indptr, In<VALUE> candidates, int k, WIDE* work, WIDE* coarse,
                      INDEX* __restrict__ indices, VALUE* __restrict__ data) {
    const i64 b = aggregates.block_size;
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, i, aggregates.count, 32) {
        const i64 begin = aggregates.starts[i], rows = (aggregates.starts[i + 1] - begin) * b;
        WIDE* const own = work + begin * b * k;
        for (i64 row = lane; row < rows; row += 32) {
            const i64 fine = aggregates.members[begin + row / b] * b + row % b;
            for (int j = 0; j < k; ++j) own[j * rows + row] = widen(candidates[fine * k + j]);
        }
        orthonormalize_columns(own, rows, k, coarse + i * k * k);
        for (i64 row = lane; row < rows; row += 32) {
            const i64 slot = indptr[aggregates.members[begin + row / b] * b + row % b];
            for (int j = 0; j < k; ++j) {
                indices[slot + j] = (INDEX)(i * k + j);
                narrow(data[slot + j], own[j * rows + row]);
            }
        }
    }
}

// The row pointers of the prolongator; `before` counts the nodes in aggregates up to each one, itself included.
KERNEL point_to_rows(In<INDEX> numbers, In<INDEX> before, i64 nodes, i64 b, i64 k, INDEX* __restrict__ indptr) {
    GRID_STRIDE (i64, row, nodes * b + 1) {
        const i64 node = row / b;
        const bool aggregated = node < nodes && numbers[node] >= 0;
        const i64 earlier = node < nodes ? before[node] - aggregated : nodes ? before[nodes - 1] : 0;
        indptr[row] = (INDEX)((earlier * b + (aggregated ? row % b : 0)) * k);
    }
}

// data = P - weights data, row by row; `data` is A P, whose rows have the columns of P. Flags entries that do not.
KERNEL subtract_product(In<INDEX> indptr, In<INDEX> indices, In<VALUE> values, In<VALUE> weights, i64 rows,
                        In<INDEX> product_indptr, In<INDEX> product_indices, VALUE* __restrict__ data, u32* missing) {
    const int lanes = 8, lane = threadIdx.x % lanes;
    GROUP_STRIDE (i64, row, rows, lanes) {
        const i64 begin = indptr[row], end = indptr[row + 1];
        for (i64 slot = product_indptr[row] + lane; slot < product_indptr[row + 1]; slot += lanes) {
            const i64 own = find_column(indices, begin, end, product_indices[slot]);
            const VALUE step = -(weights[row] * data[slot]);
            data[slot] = own < 0 ? step : values[own] + step;
        }
        for (i64 slot = begin + lane; slot < end; slot += lanes)
            if (!(values[slot] == VALUE{}) &&
                find_column(product_indices, product_indptr[row], product_indptr[row + 1], indices[slot]) < 0)
                *missing = 1;
    }
}

// The diagonal of a coarse matrix where a candidate was dropped: the largest one of its node; a thread per node.
KERNEL fill_diagonal(In<VALUE> coarse, i64 nodes, i64 k, In<INDEX> indptr, In<INDEX> indices,
                     VALUE* __restrict__ data) {
    GRID_STRIDE (i64, node, nodes) {
        double largest = 0.0;
        for (i64 row = node * k; row < node * k + k; ++row) {
            const VALUE own = stored_value(indptr, indices, data, (INDEX)row, (INDEX)row);
            largest = fmax(largest, fabs(widened(real_part(own))));
        }
        if (largest == 0.0) largest = 1.0;
        for (i64 row = node * k; row < node * k + k; ++row) {
            if (!(coarse[row * k + row - node * k] == VALUE{})) continue;
            const i64 slot = find_column(indices, (i64)indptr[row], (i64)indptr[row + 1], (INDEX)row);
            if (slot >= 0) set_real(data[slot], (WEIGHT)largest);
        }
    }
}
