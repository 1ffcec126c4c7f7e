#include "runtime/arithmetic.cuh"
#define LARGEST_SUMS 3
#include "runtime/column_sums.cuh"

// Euclidean norms without overflow and underflow in one pass: Blue, "A portable Fortran program to find the Euclidean
// norm of a vector" (1978), doi:10.1145/355769.355771. Squares are summed apart for large, small and other numbers, with
// the constants of LAPACK's dnrm2.
enum { LARGE, SMALL, OTHER };
#define LARGEST_SQUARED 0x1p486
#define SMALLEST_SQUARED 0x1p-511
#define LARGE_FACTOR 0x1p-538
#define SMALL_FACTOR 0x1p537

DEVICE void add_square(double (&sums)[3], double a) {
    const double size = fabs(a);
    const int kind = size > LARGEST_SQUARED ? LARGE : size < SMALLEST_SQUARED ? SMALL : OTHER;  // NaN: OTHER
    const double scaled = size * (kind == LARGE ? LARGE_FACTOR : kind == SMALL ? SMALL_FACTOR : 1);
    EACH (i, 3)
        if (i == kind) sums[i] += scaled * scaled;
}

DEVICE double norm_of(const double* sums) {
    if (sums[LARGE] > 0) return sqrt(sums[LARGE] + sums[OTHER] * LARGE_FACTOR * LARGE_FACTOR) / LARGE_FACTOR;
    return hypot(sqrt(sums[OTHER]), sqrt(sums[SMALL]) / SMALL_FACTOR);
}

// The norm of each column.
KERNEL __launch_bounds__(THREADS) find_norms(i64 rows, Sums sums, In<VALUE> columns, double* norms) {
    __shared__ double totals[LARGEST_SUMS * THREADS];
    const ColumnWalk walk(rows, (int)sums.columns);
    double own[3] = {};
    EACH_ENTRY (e, walk) add_square(own, widen(columns[e]));
    if (!add_up<3>(sums, own, totals)) return;
    for (int i = threadIdx.x; i < sums.columns; i += THREADS) norms[i] = norm_of(totals + 3 * i);
}
