// Residuals b - A x in twice the working precision: compensated dot products in double precision, with the order of
// summation of the CPU backend (krylov/residuals.py), and so the same bits. Numbers are real: a complex one is two.

// A sum, and what rounding has lost of it: Dot2 of Ogita, Rump & Oishi (2005), doi:10.1137/030601818.
struct Sum {
    double total, rest;

    // Knuth's TwoSum.
    DEVICE void add(double b, double lost) {
        const double sum = total + b, share = sum - total;
        rest += ((total - (sum - share)) + (b - share)) + lost;
        total = sum;
    }
    DEVICE void add_product(double a, double x) {
        const double product = a * x;
        add(product, fma(a, x, -product));
    }
};

// The entries of A. The indices of row i begin `period` * i before those of indptr: a dense matrix has them once.
struct Entries {
    const INDEX *indptr, *indices;
    const DATA* data;
    i64 rows, width, period, parts;  // width: of x; 2 parts where A is complex
};

// Subtracts the products of every `step`th entry of a row with a column of x. The parts of a complex number are
// neighbours: the imaginary part of A is multiplied with the other part of x.
DEVICE void subtract(Sum& sum, const Entries& A, i64 row, i64 first, int step, const VALUE* x, i64 columns,
                     i64 column) {
    const i64 end = A.indptr[row + 1];
    for (i64 entry = A.indptr[row] + first; entry < end; entry += step) {
        const VALUE* const own = x + (i64)clamped(A.indices[entry - row * A.period], A.width) * columns;
        sum.add_product(-(double)A.data[entry * A.parts], own[column]);
        if (A.parts == 2) {
            const double a = A.data[2 * entry + 1];
            sum.add_product(column % 2 ? -a : a, own[column ^ 1]);
        }
    }
}

// target = b - A x: a thread per number of the result; the lanes of a warp share those of long rows.
KERNEL subtract_products(Entries A, In<VALUE> b, In<VALUE> x, i64 columns, VALUE* __restrict__ target) {
    const i64 count = A.rows * columns;
    const int lane = threadIdx.x % 32;
    WARP_STRIDE (i64, first, count) {
        const i64 place = first + lane, row = place / columns;
        const bool is_long = place < count && A.indptr[row + 1] - A.indptr[row] > LONGEST_ROW_OF_LANE;
        if (place < count && !is_long) {
            Sum sum = {(double)b[place], 0};
            subtract(sum, A, row, 0, 1, x, columns, place % columns);
            target[place] = (VALUE)(sum.total + sum.rest);
        }
        for (u32 left = __ballot_sync(FULL_WARP, is_long); left; left &= left - 1) {
            const i64 shared = first + __ffs(left) - 1;
            Sum own = {lane ? 0 : (double)b[shared], 0};
            subtract(own, A, shared / columns, lane, 32, x, columns, shared % columns);
            Sum sum = {__shfl_sync(FULL_WARP, own.total, 0), __shfl_sync(FULL_WARP, own.rest, 0)};
            for (int other = 1; other < 32; ++other)
                sum.add(__shfl_sync(FULL_WARP, own.total, other), __shfl_sync(FULL_WARP, own.rest, other));
            if (lane == 0) target[shared] = (VALUE)(sum.total + sum.rest);
        }
    }
}
