// Inner products with all vectors of a basis, which lie one after the other: grid-wide sums whose number is known on the
// device only. A pass over the vectors computes GROUP of them at a time, in a fixed order as in column_sums.cuh.
#define GROUP 4
#define WARPS (THREADS / 32)

DEVICE double warp_total(double a) {
    for (int half = 16; half > 0; half /= 2) a = a + __shfl_xor_sync(FULL_WARP, a, half);
    return a;
}
DEVICE Complex128 warp_total(Complex128 a) { return {warp_total(a.re), warp_total(a.im)}; }

// Block reduction of GROUP sums for each column to `totals`; by shuffles for one column.
DEVICE void reduce_group(int columns, const Scalar (&own)[GROUP], Scalar* shared, Scalar* totals) {
    if (columns > 1) {
        sum_parts<GROUP>(columns, THREADS / columns, own, shared, totals);
        return;
    }
    EACH (i, GROUP) {
        const Scalar total = warp_total(own[i]);
        if (threadIdx.x % 32 == 0) shared[i * WARPS + threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        Scalar total = shared[threadIdx.x * WARPS];
        for (int warp = 1; warp < WARPS; ++warp) total = total + shared[threadIdx.x * WARPS + warp];
        totals[threadIdx.x] = total;
    }
    __syncthreads();
}

// The sums over all entries of `count` products, where add(sum, i, e) adds the one with number i of entry e. Threads of
// columns that do not take part add nothing. Returns true in the last block to finish, where sums[i * columns + c], in
// global memory, has the results. `partials` has room for `count` sums of each column and block.
template <typename Add>
DEVICE bool add_up_basis(const KrylovSpace& space, const Walk& walk, bool takes_part, int count, Scalar* partials,
                         Scalar* sums, const Add& add) {
    __shared__ Scalar shared[GROUP * THREADS];
    __shared__ Scalar totals[GROUP * THREADS];
    __shared__ bool is_last;
    const int columns = (int)space.columns;
    for (int first = 0; first < count; first += GROUP) {
        Scalar own[GROUP] = {};
        const int more = count - first;
        if (takes_part && more >= GROUP)
            EACH_ENTRY (e, walk)
                EACH (i, GROUP) add(own[i], first + i, e);
        else if (takes_part)
            EACH_ENTRY (e, walk)
                EACH (i, GROUP)
                    if (i < more) add(own[i], first + i, e);
        reduce_group(columns, own, shared, totals);
        for (int t = threadIdx.x; t < GROUP * columns; t += THREADS) {
            const int i = first + t % GROUP;
            if (i < count) partials[((i64)i * columns + t / GROUP) * gridDim.x + blockIdx.x] = totals[t];
        }
        __syncthreads();
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(space.arrivals, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    for (int t = threadIdx.x / 32; t < count * columns; t += WARPS) {
        Scalar total = {};
        for (int b = threadIdx.x % 32; b < gridDim.x; b += 32) total = total + partials[(i64)t * gridDim.x + b];
        total = warp_total(total);
        if (threadIdx.x % 32 == 0) sums[t] = total;
    }
    if (threadIdx.x == 0) *space.arrivals = 0;
    __syncthreads();
    return true;
}

// The steps that the columns with the given status have made in their cycle, at most; -1 where there is none. All
// threads of a block call it.
DEVICE int most_steps(const KrylovSpace& space, double status) {
    __shared__ int most;
    if (threadIdx.x == 0) most = -1;
    __syncthreads();
    const int c = threadIdx.x;
    if (c < space.columns && space.status(c) == status) atomicMax(&most, (int)space.number(NUMBER_POSITION, c));
    __syncthreads();
    return most;
}

// Writes the norm of a column for the next record; NaN where it has none.
DEVICE void write_norm(const KrylovSpace& space, int c, double norm) {
    const i64 slot = (i64)space.report[REPORT_RECORDS] % space.capacity;
    space.norms()[slot * space.columns + c] = norm;
}

// After the scalar step of all columns, by the whole block: the number of active columns, and the record of their norms.
DEVICE void end_step(const KrylovSpace& space, bool recorded) {
    __syncthreads();
    if (threadIdx.x) return;
    count_active(space);
    if (!recorded) return;
    const i64 slot = (i64)space.report[REPORT_RECORDS] % space.capacity;
    bool any = false;
    for (int i = 0; i < space.columns; ++i) any |= !isnan(space.norms()[slot * space.columns + i]);
    if (!any) return;
    space.report[REPORT_STEPS] += 1;
    append_record(space, 0);
}
