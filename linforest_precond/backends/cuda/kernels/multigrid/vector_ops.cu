#include "runtime/arithmetic.cuh"
#define LARGEST_SUMS 3
#include "runtime/column_sums.cuh"
#include "multigrid/block_products.cuh"

// Vector operations of multigrid cycles: sparse products fused with updates and dot products. One column is
// multiplied by CSR-Stream (TEAMS 0), or by a team of `lanes` lanes of a warp for each row (TEAMS 1): a power of two up
// to 32. Several columns are multiplied by a thread per entry.
struct Matrix {
    const INDEX *indptr, *indices;
    const VALUE* data;
    i64 rows, lanes;
};

// The sum over every `step`-th entry from `at` on of its product with source(column).
template <typename Source>
DEVICE VALUE strided_product(const Matrix& matrix, i64 at, i64 end, int step, Source source) {
    VALUE sum = VALUE{};
    for (; at < end; at += step) sum = sum + matrix.data[at] * source(matrix.indices[at]);
    return sum;
}

// The sum over the lanes of a team, by butterfly shuffles.
DEVICE VALUE team_sum(VALUE sum, int lanes) {
    for (int half = lanes / 2; half > 0; half /= 2) sum = sum + from_lane(sum, threadIdx.x % 32 ^ half);
    return sum;
}

// Entries of a row that a lane of a team multiplies; longer rows are left to the whole warp.
#define MOST_STEPS 16

// Calls take(row, product) for every row, by a team of lanes each.
template <typename Source, typename Take>
DEVICE void each_team_product(const Matrix& matrix, Source source, Take take) {
    const int lanes = (int)matrix.lanes, lane = threadIdx.x % 32, own = lane % lanes, teams = 32 / lanes;
    const i64 step = (i64)gridDim.x * THREADS / 32 * teams;
    // The first row of the warp, so that all lanes make the same number of steps and take part in the shuffles.
    for (i64 first = ((i64)blockIdx.x * THREADS + threadIdx.x) / 32 * teams; first < matrix.rows; first += step) {
        const i64 row = first + lane / lanes;
        const bool is_row = row < matrix.rows;
        const i64 begin = is_row ? (i64)matrix.indptr[row] : 0, end = is_row ? (i64)matrix.indptr[row + 1] : 0;
        const bool is_long = end - begin > MOST_STEPS * lanes;
        VALUE sum = team_sum(strided_product(matrix, begin + own, is_long ? begin : end, lanes, source), lanes);
        for (u32 left = __ballot_sync(FULL_WARP, is_long && own == 0); left; left &= left - 1) {
            const int owner = __ffs(left) - 1;
            const i64 from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
            const VALUE total = team_sum(strided_product(matrix, from + lane, to, 32, source), 32);
            if (lane == owner) sum = total;
        }
        if (is_row && own == 0) take(row, sum);
    }
}

// Calls take(entry of the vector, row, product) for every row and column, with the products with the vector of entries
// source(row, entry). A thread keeps to one column.
template <typename Source, typename Take>
DEVICE void each_entry_product(const Matrix& matrix, int columns, Source source, Take take) {
    if (columns > 1) {
        const ColumnWalk walk(matrix.rows, columns);
        for (i64 e = walk.at; e < walk.end; e += walk.step) {
            const i64 row = e / columns, end = matrix.indptr[row + 1];
            VALUE sum = VALUE{};
            for (i64 at = matrix.indptr[row]; at < end; ++at) {
                const i64 other = matrix.indices[at];
                sum = sum + matrix.data[at] * source(other, other * columns + walk.column);
            }
            take(e, row, sum);
        }
        return;
    }
    const auto from_column = [&](i64 column) { return source(column, column); };
    const auto take_row = [&](i64 row, VALUE sum) { take(row, row, sum); };
#if TEAMS
    each_team_product(matrix, from_column, take_row);
#else
    each_block_product(matrix.indptr, matrix.indices, matrix.data, matrix.rows, from_column, take_row);
#endif
}

// The same with the entries of x.
template <typename Take>
DEVICE void each_entry_product(const Matrix& matrix, In<VALUE> x, int columns, Take take) {
    each_entry_product(matrix, columns, [&](i64 row, i64 e) { return x[e]; }, take);
}

// An entry of a vector of VALUE or of double precision.
template <typename Given>
DEVICE VALUE entry_of(const Given* vector, i64 e) {
    VALUE value;
    convert(value, vector[e]);
    return value;
}

// r = b - A x.
KERNEL __launch_bounds__(THREADS)
    find_residual(Matrix matrix, int columns, In<VALUE> b, In<VALUE> x, VALUE* __restrict__ r) {
    each_entry_product(matrix, x, columns, [&](i64 e, i64 row, VALUE sum) { r[e] = b[e] - sum; });
}

// x = factor weights b, and r = b - A x: the first sweep from 0 and its residual. Products take x from b, so that no
// thread waits for the entries of others.
template <typename Given>
DEVICE void scale_and_subtract(const Matrix& matrix, int columns, In<VALUE> weights, double factor, In<Given> b,
                               VALUE* __restrict__ x, VALUE* __restrict__ r) {
    const VALUE by = narrow(scalar_of(factor));
    const auto scaled_entry = [&](i64 row, i64 e) { return weights[row] * by * entry_of(b, e); };
    each_entry_product(matrix, columns, scaled_entry, [&](i64 e, i64 row, VALUE sum) {
        x[e] = scaled_entry(row, e);
        r[e] = entry_of(b, e) - sum;
    });
}
KERNEL __launch_bounds__(THREADS) scale_residual(Matrix matrix, int columns, In<VALUE> weights, double factor,
                                                 In<VALUE> b, VALUE* __restrict__ x, VALUE* __restrict__ r) {
    scale_and_subtract(matrix, columns, weights, factor, b, x, r);
}
// The same for b of double precision.
KERNEL __launch_bounds__(THREADS) scale_residual_wide(Matrix matrix, int columns, In<VALUE> weights, double factor,
                                                      In<Scalar> b, VALUE* __restrict__ x, VALUE* __restrict__ r) {
    scale_and_subtract(matrix, columns, weights, factor, b, x, r);
}

// y = x + momentum (x - y) + factor weights (b - A x).
template <typename Given>
DEVICE void relax_rows(const Matrix& matrix, int columns, In<VALUE> weights, In<Given> b, In<VALUE> x,
                       Given* __restrict__ y, double momentum, double factor) {
    const VALUE of_rest = narrow(scalar_of(factor)), of_step = narrow(scalar_of(momentum));
    each_entry_product(matrix, x, columns, [&](i64 e, i64 row, VALUE sum) {
        VALUE result = x[e] + weights[row] * of_rest * (entry_of(b, e) - sum);
        if (momentum != 0) result = result + of_step * (x[e] - entry_of(y, e));
        convert(y[e], result);
    });
}
KERNEL __launch_bounds__(THREADS) relax(Matrix matrix, int columns, In<VALUE> weights, In<VALUE> b, In<VALUE> x,
                                        VALUE* __restrict__ y, double momentum, double factor) {
    relax_rows(matrix, columns, weights, b, x, y, momentum, factor);
}
// The same for b and y of double precision.
KERNEL __launch_bounds__(THREADS) relax_wide(Matrix matrix, int columns, In<VALUE> weights, In<Scalar> b, In<VALUE> x,
                                             Scalar* __restrict__ y, double momentum, double factor) {
    relax_rows(matrix, columns, weights, b, x, y, momentum, factor);
}

// y = A x, or y += A x.
KERNEL __launch_bounds__(THREADS) multiply(Matrix matrix, int columns, In<VALUE> x, VALUE* __restrict__ y, int adds) {
    each_entry_product(matrix, x, columns, [&](i64 e, i64 row, VALUE sum) { y[e] = adds ? y[e] + sum : sum; });
}

// x = factor weights b, row by row.
KERNEL __launch_bounds__(THREADS)
    scale(In<VALUE> weights, double factor, i64 rows, int columns, In<VALUE> b, VALUE* __restrict__ x) {
    const ColumnWalk walk(rows, columns);
    const VALUE by = narrow(scalar_of(factor));
    EACH_ENTRY (e, walk) x[e] = weights[columns == 1 ? e : e / columns] * by * b[e];
}

// x += z.
KERNEL __launch_bounds__(THREADS) add(i64 count, In<VALUE> z, VALUE* __restrict__ x) {
    for (i64 e = (i64)blockIdx.x * THREADS + threadIdx.x; e < count; e += (i64)gridDim.x * THREADS) x[e] = x[e] + z[e];
}

// x = 0.
KERNEL __launch_bounds__(THREADS) clear(i64 count, VALUE* __restrict__ x) {
    for (i64 e = (i64)blockIdx.x * THREADS + threadIdx.x; e < count; e += (i64)gridDim.x * THREADS) x[e] = VALUE{};
}

// A vector with strides, in units of its items; `wide` if it is of double precision.
struct Strided {
    void* at;
    i64 wide;
    i64 row, column;
};
// Copies a vector with strides to another one.
KERNEL __launch_bounds__(THREADS) copy(i64 rows, int columns, Strided from, Strided to) {
    const ColumnWalk walk(rows, columns);
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        const i64 row = e / columns, source = row * from.row + walk.column * from.column;
        const i64 target = row * to.row + walk.column * to.column;
        const Scalar value = from.wide ? ((const Scalar*)from.at)[source] : widen(((const VALUE*)from.at)[source]);
        if (to.wide) ((Scalar*)to.at)[target] = value;
        else ((VALUE*)to.at)[target] = narrow(value);
    }
}

// The scalars of the two Krylov steps of a K-cycle, for each column: the factors of both directions, and the curvature
// <t, A c> of the first one.
enum { FIRST, SECOND, CURVATURE };

DEVICE double real_of(Scalar a) { return *(double*)&a; }
DEVICE bool is_positive(double a) { return a > 0 && isfinite(a); }

// v = A c, and the factor of c from <t, v> and <t, b>; t is c where A is definite, else v.
KERNEL __launch_bounds__(THREADS) first_step(Matrix matrix, Sums sums, In<VALUE> c, In<VALUE> b, VALUE* __restrict__ v,
                                             int definite, Scalar* scalars) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    Scalar own[2] = {};
    each_entry_product(matrix, c, (int)sums.columns, [&](i64 e, i64 row, VALUE product) {
        v[e] = product;
        const VALUE test = definite ? c[e] : product;
        add_product(own[0], test, product);
        add_product(own[1], test, b[e]);
    });
    if (!add_up<2>(sums, own, totals)) return;
    for (int i = threadIdx.x; i < sums.columns; i += THREADS) {
        const double curvature = real_of(totals[2 * i]);
        const bool usable = is_positive(curvature) && is_finite(totals[2 * i + 1]);
        scalars[FIRST * sums.columns + i] = usable ? over(totals[2 * i + 1], scalar_of(curvature)) : scalar_of(1);
        scalars[SECOND * sums.columns + i] = scalar_of(0);
        scalars[CURVATURE * sums.columns + i] = scalar_of(usable ? curvature : 0);
    }
}

// rest = b - (factor of c) v.
KERNEL __launch_bounds__(THREADS)
    subtract(i64 rows, int columns, In<Scalar> scalars, In<VALUE> b, In<VALUE> v, VALUE* __restrict__ rest) {
    const ColumnWalk walk(rows, columns);
    const VALUE factor = narrow(scalars[FIRST * columns + walk.column]);
    EACH_ENTRY (e, walk) rest[e] = b[e] - factor * v[e];
}

// The factors of d and c, after d was orthogonalized against c, from <t, v>, <t, A d> and <t, rest>; t is d where A is
// definite, else A d.
KERNEL __launch_bounds__(THREADS)
    second_step(Matrix matrix, Sums sums, In<VALUE> d, In<VALUE> v, In<VALUE> rest, int definite, Scalar* scalars) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    Scalar own[3] = {};
    each_entry_product(matrix, d, (int)sums.columns, [&](i64 e, i64 row, VALUE product) {
        const VALUE test = definite ? d[e] : product;
        add_product(own[0], test, v[e]);
        add_product(own[1], test, product);
        add_product(own[2], test, rest[e]);
    });
    if (!add_up<3>(sums, own, totals)) return;
    for (int i = threadIdx.x; i < sums.columns; i += THREADS) {
        const double first = real_of(scalars[CURVATURE * sums.columns + i]), curvature = real_of(totals[3 * i + 1]);
        const Scalar mixed = totals[3 * i];
        const double left = first > 0 ? curvature - real_of(conjugate(mixed) * mixed) / first : 0;
        if (!(left > 1e-14 * curvature)) continue;
        const Scalar second = over(totals[3 * i + 2], scalar_of(left));
        Scalar& first_factor = scalars[FIRST * sums.columns + i];
        const Scalar factor = first_factor - over(conjugate(mixed) * second, scalar_of(first));
        if (!is_finite(second) || !is_finite(factor)) continue;
        scalars[SECOND * sums.columns + i] = second;
        first_factor = factor;
    }
}

// c = (factor of c) c + (factor of d) d.
KERNEL __launch_bounds__(THREADS)
    combine(i64 rows, int columns, In<Scalar> scalars, VALUE* __restrict__ c, In<VALUE> d) {
    const ColumnWalk walk(rows, columns);
    const VALUE first = narrow(scalars[FIRST * columns + walk.column]);
    const VALUE second = narrow(scalars[SECOND * columns + walk.column]);
    const bool both = length(scalars[SECOND * columns + walk.column]) != 0;
    EACH_ENTRY (e, walk) c[e] = both ? first * c[e] + second * d[e] : first * c[e];
}

// The mean of each column.
KERNEL __launch_bounds__(THREADS) find_means(i64 rows, Sums sums, In<VALUE> x, Scalar* means) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    const ColumnWalk walk(rows, (int)sums.columns);
    Scalar own[1] = {};
    EACH_ENTRY (e, walk) own[0] = own[0] + widen(x[e]);
    if (!add_up<1>(sums, own, totals)) return;
    for (int i = threadIdx.x; i < sums.columns; i += THREADS) means[i] = over(totals[i], scalar_of((double)rows));
}
// x -= the mean of its column.
KERNEL __launch_bounds__(THREADS) subtract_means(i64 rows, int columns, In<Scalar> means, VALUE* __restrict__ x) {
    const ColumnWalk walk(rows, columns);
    const VALUE mean = narrow(means[walk.column]);
    EACH_ENTRY (e, walk) x[e] = x[e] - mean;
}

// The real part of the dot product of two columns.
KERNEL __launch_bounds__(THREADS) dot(i64 rows, Sums sums, In<VALUE> u, In<VALUE> v, double* result) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    const ColumnWalk walk(rows, 1);
    Scalar own[1] = {};
    EACH_ENTRY (e, walk) add_product(own[0], u[e], v[e]);
    if (add_up<1>(sums, own, totals) && threadIdx.x == 0) *result = real_of(totals[0]);
}
// y = A x for one column, and the real part of the dot product of x and y.
KERNEL __launch_bounds__(THREADS)
    multiply_dot(Matrix matrix, Sums sums, In<VALUE> x, VALUE* __restrict__ y, double* result) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    Scalar own[1] = {};
    each_entry_product(matrix, x, 1, [&](i64 e, i64 row, VALUE product) {
        y[e] = product;
        add_product(own[0], x[e], product);
    });
    if (add_up<1>(sums, own, totals) && threadIdx.x == 0) *result = real_of(totals[0]);
}
// r -= factor q, for the ratio of two dot products.
KERNEL __launch_bounds__(THREADS)
    subtract_multiple(i64 rows, In<double> above, In<double> below, In<VALUE> q, VALUE* __restrict__ r) {
    const ColumnWalk walk(rows, 1);
    const VALUE factor = narrow(scalar_of(*above / *below));
    EACH_ENTRY (e, walk) r[e] = r[e] - factor * q[e];
}
// p = z + factor p, for the ratio of two dot products.
KERNEL __launch_bounds__(THREADS)
    extend(i64 rows, In<double> above, In<double> below, In<VALUE> z, VALUE* __restrict__ p) {
    const ColumnWalk walk(rows, 1);
    const VALUE factor = narrow(scalar_of(*above / *below));
    EACH_ENTRY (e, walk) p[e] = z[e] + factor * p[e];
}

// Numbers between -1/2 and 1/2 by multiplicative hashing with 2^32 over the golden ratio: a vector from `first` on.
KERNEL __launch_bounds__(THREADS) fill_pseudorandom(i64 rows, i64 first, VALUE* __restrict__ x) {
    const u32 golden = 2654435769u;
    const ColumnWalk walk(rows, 1);
    EACH_ENTRY (e, walk) {
        const u32 hash = (u32)(first + e + 1) * golden, bits = (hash ^ hash >> 15) * golden;
        x[e] = narrow(scalar_of(bits / 4294967296.0 - 0.5));
    }
}

// x = D b for a dense square matrix D: a block per row, as the matrix is small and latency counts.
KERNEL __launch_bounds__(THREADS)
    multiply_dense(In<VALUE> dense, i64 rows, int columns, In<VALUE> b, VALUE* __restrict__ x) {
    __shared__ VALUE warp_sums[THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (int column = 0; column < columns; ++column) {
            VALUE sum = VALUE{};
#pragma unroll 4
            for (i64 j = threadIdx.x; j < rows; j += THREADS)
                sum = sum + dense[row * rows + j] * b[j * columns + column];
            for (int half = 16; half > 0; half /= 2) sum = sum + from_lane(sum, lane ^ half);
            if (lane == 0) warp_sums[warp] = sum;
            __syncthreads();
            if (threadIdx.x == 0) {
                for (int i = 1; i < THREADS / 32; ++i) sum = sum + warp_sums[i];
                x[row * columns + column] = sum;
            }
            __syncthreads();
        }
}
