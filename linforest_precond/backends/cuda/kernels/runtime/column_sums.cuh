// Grid-wide sums over the columns of row-major vectors with several columns, in double precision. Two stages of a fixed
// order, so that results repeat bit for bit: every block reduces its entries, the last block to finish reduces the
// blocks' partial sums. LARGEST_SUMS is the most sums per column in one call.
#define THREADS 256

typedef WIDE Scalar;

DEVICE Scalar widen(VALUE a) {
    Scalar wide;
    convert(wide, a);
    return wide;
}
DEVICE VALUE narrow(Scalar a) {
    VALUE value;
    convert(value, a);
    return value;
}
DEVICE Scalar scalar_of(double a) {
    Scalar scalar = {};
    *(double*)&scalar = a;
    return scalar;
}
DEVICE double length(double a) { return fabs(a); }
DEVICE double length(Complex128 a) { return hypot(a.re, a.im); }
DEVICE double over(double a, double b) { return a / b; }
DEVICE Complex128 over(Complex128 a, Complex128 b) { return a * inverse(b); }

// The partial sums of the blocks, and the number of blocks that have finished; `arrivals` is zero before and after.
struct Sums {
    Scalar* partials;
    u32* arrivals;
    i64 columns;
};

// Block reduction for each column: thread `part * columns + c` holds the values of one part of column c. The COUNT sums
// of each column go to `totals`, in shared memory.
template <int COUNT>
DEVICE void sum_parts(int columns, int parts, const Scalar (&own)[COUNT], Scalar* shared, Scalar* totals) {
    const int part = threadIdx.x / columns;
    EACH (i, COUNT) shared[i * THREADS + threadIdx.x] = own[i];
    __syncthreads();
    while (parts > 1) {
        const int half = (parts + 1) / 2;
        if (part < parts - half)
            EACH (i, COUNT) {
                Scalar* const at = shared + i * THREADS + threadIdx.x;
                *at = *at + at[half * columns];
            }
        __syncthreads();
        parts = half;
    }
    if (threadIdx.x < columns)
        EACH (i, COUNT) totals[threadIdx.x * COUNT + i] = shared[i * THREADS + threadIdx.x];
    __syncthreads();
}

// Grid reduction of the values that all threads hold. Returns true in the last block to finish, where `totals`, in
// shared memory, has COUNT sums for each column. Threads beyond the largest multiple of the columns hold no values.
template <int COUNT>
DEVICE bool add_up(const Sums& sums, const Scalar (&own)[COUNT], Scalar* totals) {
    __shared__ Scalar shared[LARGEST_SUMS * THREADS];
    __shared__ bool is_last;
    const int columns = (int)sums.columns, parts = THREADS / columns;
    sum_parts<COUNT>(columns, parts, own, shared, totals);
    const int size = columns * COUNT;
    for (int i = threadIdx.x; i < size; i += THREADS) sums.partials[(i64)blockIdx.x * size + i] = totals[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(sums.arrivals, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    Scalar rest[COUNT] = {};
    const int part = threadIdx.x / columns, c = threadIdx.x % columns;
    if (part < parts)
        for (int b = part; b < gridDim.x; b += parts)
            EACH (i, COUNT) rest[i] = rest[i] + sums.partials[(i64)b * size + c * COUNT + i];
    sum_parts<COUNT>(columns, parts, rest, shared, totals);
    if (threadIdx.x == 0) *sums.arrivals = 0;
    return true;
}

// Grid-stride loop over the entries in which every thread stays in one column: a block processes a multiple of the
// columns at a time.
struct ColumnWalk {
    i64 at, step, end;
    int column;

    DEVICE ColumnWalk(i64 rows, int columns) {
        const int width = THREADS - THREADS % columns;
        column = threadIdx.x % columns;
        end = rows * columns;
        step = (i64)gridDim.x * width;
        at = threadIdx.x < width ? (i64)blockIdx.x * width + threadIdx.x : end;
    }
};
#define EACH_ENTRY(e, walk) _Pragma("unroll 4") for (i64 e = walk.at; e < walk.end; e += walk.step)

DEVICE void add_product(Scalar& sum, VALUE u, VALUE v) { sum = sum + conjugate(widen(u)) * widen(v); }
