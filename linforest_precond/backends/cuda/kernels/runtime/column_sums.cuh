// Vectors of k columns side by side, row by row, and sums over each column in double precision. A sum has two stages in
// a fixed order: the blocks' sums, and their sum in the block that comes last. LARGEST_SUMS: how many at once at most.
#define THREADS 256

typedef WIDE Scalar;

__device__ __forceinline__ Scalar widen(VALUE a) {
    Scalar wide;
    convert(wide, a);
    return wide;
}
__device__ __forceinline__ VALUE narrow(Scalar a) {
    VALUE value;
    convert(value, a);
    return value;
}
__device__ __forceinline__ Scalar scalar_of(double a) {
    Scalar scalar = {};
    *(double*)&scalar = a;
    return scalar;
}
__device__ __forceinline__ double length(double a) { return fabs(a); }
__device__ __forceinline__ double length(Complex128 a) { return hypot(a.re, a.im); }
__device__ __forceinline__ double over(double a, double b) { return a / b; }
__device__ __forceinline__ Complex128 over(Complex128 a, Complex128 b) { return a * inverse(b); }

// Where blocks leave their sums, and how many have come; `arrivals` is zero before and after.
struct Sums {
    Scalar* partials;
    u32* arrivals;
    i64 columns;
};

// The sum over parts of what every thread of a block holds, for each column: thread `part * columns + c` holds a part
// of column c. The sums of column c are in `totals` after, in shared memory.
template <int COUNT>
__device__ __forceinline__ void sum_parts(int columns, int parts, const Scalar (&own)[COUNT], Scalar* shared,
                                          Scalar* totals) {
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

// Adds up what all threads of the grid hold. In the block that comes last it is true, and `totals`, in shared memory,
// has COUNT sums for each column. Threads beyond the last whole multiple of the columns hold nothing.
template <int COUNT>
__device__ __forceinline__ bool add_up(const Sums& sums, const Scalar (&own)[COUNT], Scalar* totals) {
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

// Every thread keeps to one column: blocks take a whole multiple of the columns at a time.
struct ColumnWalk {
    i64 at, step, end;
    int column;

    __device__ __forceinline__ ColumnWalk(i64 rows, int columns) {
        const int width = THREADS - THREADS % columns;
        column = threadIdx.x % columns;
        end = rows * columns;
        step = (i64)gridDim.x * width;
        at = threadIdx.x < width ? (i64)blockIdx.x * width + threadIdx.x : end;
    }
};
#define EACH_ENTRY(e, walk) _Pragma("unroll 4") for (i64 e = walk.at; e < walk.end; e += walk.step)

__device__ __forceinline__ void add_product(Scalar& sum, VALUE u, VALUE v) {
    sum = sum + conjugate(widen(u)) * widen(v);
}
