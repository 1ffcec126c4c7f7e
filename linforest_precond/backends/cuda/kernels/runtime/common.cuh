// What every kernel shares: integer names, hashes, magnitudes, the fixed-shape sum, block reductions.
// Bare NVRTC sees this text: no standard header is included.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL_WARP 0xffffffffu
// An empty place in a list of neighbours.
#define NO_VERTEX ((INDEX) - 1)

struct Complex64 {
    float re, im;
};
struct Complex128 {
    double re, im;
};

// The finalizer of splitmix64.
__device__ __forceinline__ u64 mix64(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// The finalizer of MurmurHash3.
__device__ __forceinline__ u32 mix32(u32 z) {
    z = (z ^ z >> 16) * 0x85EBCA6Bu;
    z = (z ^ z >> 13) * 0xC2B2AE35u;
    return z ^ z >> 16;
}

// The words that make iteration k differ from the others: number 2 * k + 1 for charges, 2 * k + 2 for ties.
__device__ __forceinline__ u64 iteration_key(u64 seed, u64 number) {
    return mix64(seed + 0x9E3779B97F4A7C15ull * number);
}

// Whether a vertex is positive in an iteration; `threshold` is the probability times 2**53.
__device__ __forceinline__ bool is_positive(u64 key, u64 threshold, u64 vertex) {
    return (mix64(key + vertex * 0xD1342543DE82EF95ull) >> 11) < threshold;
}

// CuPy compiles with --ftz=true: plain float32 arithmetic, comparisons and conversions take subnormal numbers
// for zero. What decides or is reported goes through the functions below, which do not.
__device__ __forceinline__ double widened(double a) { return a; }
__device__ __forceinline__ double widened(float a) {
    double wide;
    asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(a));
    return wide;
}
__device__ __forceinline__ float narrowed(double a) {
    float narrow;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(narrow) : "d"(a));
    return narrow;
}
__device__ __forceinline__ double plus(double a, double b) { return a + b; }
__device__ __forceinline__ float plus(float a, float b) {
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}
__device__ __forceinline__ Complex64 plus(Complex64 a, Complex64 b) { return {plus(a.re, b.re), plus(a.im, b.im)}; }
__device__ __forceinline__ Complex128 plus(Complex128 a, Complex128 b) { return {plus(a.re, b.re), plus(a.im, b.im)}; }

__device__ __forceinline__ float conjugate(float a) { return a; }
__device__ __forceinline__ double conjugate(double a) { return a; }
__device__ __forceinline__ Complex64 conjugate(Complex64 a) { return {a.re, -a.im}; }
__device__ __forceinline__ Complex128 conjugate(Complex128 a) { return {a.re, -a.im}; }

// What magnitudes are compared by. Written as plain C, the compiler would turn it back into a float32 comparison.
__device__ __forceinline__ double rank_of(double a) { return fabs(a); }
__device__ __forceinline__ u32 rank_of(float a) {
    u32 rank;
    asm("and.b32 %0, %1, 0x7fffffff;" : "=r"(rank) : "r"(__float_as_uint(a)));
    return rank;
}

__device__ __forceinline__ double magnitude(double a) { return fabs(a); }
__device__ __forceinline__ float magnitude(float a) { return __uint_as_float(rank_of(a)); }

// Squares of float32 values are exact in float64; |a| above the largest float32 is clamped to it.
__device__ __forceinline__ float magnitude(Complex64 a) {
    const double re = widened(a.re), im = widened(a.im);
    return narrowed(fmin(sqrt(re * re + im * im), 3.4028234663852886e38));
}

// Both parts are scaled by an exact power of two, so that no square overflows or vanishes.
__device__ __forceinline__ double magnitude(Complex128 a) {
    const double largest = fmax(fabs(a.re), fabs(a.im));
    if (largest == 0.0) return 0.0;
    int exponent;
    frexp(largest, &exponent);
    const double re = ldexp(a.re, -exponent), im = ldexp(a.im, -exponent);
    return fmin(ldexp(sqrt(re * re + im * im), exponent), 1.7976931348623157e308);
}

__device__ __forceinline__ bool is_finite(float a) { return isfinite(a); }
__device__ __forceinline__ bool is_finite(double a) { return isfinite(a); }
__device__ __forceinline__ bool is_finite(Complex64 a) { return isfinite(a.re) && isfinite(a.im); }
__device__ __forceinline__ bool is_finite(Complex128 a) { return isfinite(a.re) && isfinite(a.im); }

__device__ __forceinline__ u64 bits(float a) { return __float_as_uint(a); }
__device__ __forceinline__ u64 bits(double a) { return (u64)__double_as_longlong(a); }

// Sums are trees of a fixed shape: 2048 values to a chunk, dealt out to 256 lanes in turn; a lane adds its
// eight in order, then the lanes are folded in halves.
#define CHUNK 2048
#define LANES 256

// The sums of a block's 256 lanes, of COUNT values each: the i-th in the first thread of warp i, 0 elsewhere. `lanes`
// is shared memory for COUNT times 256 doubles; the caller puts a barrier between two uses of it.
template <int COUNT>
__device__ __forceinline__ double fold_lanes(const double (&values)[COUNT], double* lanes) {
    const int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) lanes[LANES * i + t] = values[i];
    __syncthreads();
    if (t >= 32 * COUNT) return 0.0;
    const double* own = lanes + t / 32 * LANES + t % 32;
    const double quarter0 = (own[0] + own[128]) + (own[64] + own[192]);
    const double quarter1 = (own[32] + own[160]) + (own[96] + own[224]);
    double sum = quarter0 + quarter1;
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(FULL_WARP, sum, half);
    return sum;
}

// What a lane of the warp has.
__device__ __forceinline__ float from_lane(float a, int lane) { return __shfl_sync(FULL_WARP, a, lane); }
__device__ __forceinline__ double from_lane(double a, int lane) { return __shfl_sync(FULL_WARP, a, lane); }
template <typename Complex>
__device__ __forceinline__ Complex from_lane(Complex a, int lane) {
    return {from_lane(a.re, lane), from_lane(a.im, lane)};
}

// Adds a count over the warp; every lane gets the sum.
__device__ __forceinline__ u64 warp_sum(u64 value) {
    for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
    return value;
}

// The sum of `value` over the threads of a block before this one; the sum over all goes to *total, in shared
// memory. The caller puts a barrier before it reads it, and another before the next call.
__device__ __forceinline__ int block_sum_before(int value, int* total) {
    __shared__ int warp_sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    int before = sum - value;
    for (int i = 0; i < warp; ++i) before += warp_sums[i];
    if (threadIdx.x == blockDim.x - 1) *total = before + value;
    return before;
}

// How many items a thread of append_places can have.
#define AT_ONCE 4

// Finds room at the end of a list, whose length is *length, for those of every thread's AT_ONCE items that `wanted`
// marks: first the first items of all threads in their order, then the second, and so on. One atomic for a
// block of at most 1024 threads; all of them must call it.
__device__ __forceinline__ void append_places(u32 wanted, u64* length, u64 (&places)[AT_ONCE]) {
    __shared__ u64 warp_counts[32];
    __shared__ u64 block_counts, first;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // The counts of the four items side by side, 16 bits each.
    const u64 own =
        (wanted & 1) | (u64)(wanted >> 1 & 1) << 16 | (u64)(wanted >> 2 & 1) << 32 | (u64)(wanted >> 3) << 48;
    u64 before = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(FULL_WARP, before, step);
        if (lane >= step) before += other;
    }
    if (lane == 31) warp_counts[warp] = before;
    before -= own;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 counts = 0;
        for (int i = 0; i < (int)blockDim.x / 32; ++i) {
            const u64 count = warp_counts[i];
            warp_counts[i] = counts;
            counts += count;
        }
        const u64 total = (counts & 0xffff) + (counts >> 16 & 0xffff) + (counts >> 32 & 0xffff) + (counts >> 48);
        block_counts = counts;
        first = total ? atomicAdd(length, total) : 0;
    }
    __syncthreads();
    before += warp_counts[warp];
    u64 place = first;
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
        places[i] = place + (before >> 16 * i & 0xffff);
        place += block_counts >> 16 * i & 0xffff;
    }
    __syncthreads();
}

// The first place in the sorted columns [begin, end) that is not below `column`.
template <typename Index>
__device__ __forceinline__ i64 first_not_less(const Index* __restrict__ indices, i64 begin, i64 end, Index column) {
    while (begin < end) {
        const i64 middle = begin + (end - begin) / 2;
        if (indices[middle] < column) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// The place of `column` in the sorted columns [begin, end), or -1.
template <typename Index>
__device__ __forceinline__ i64 find_column(const Index* __restrict__ indices, i64 begin, i64 end, Index column) {
    const i64 place = first_not_less(indices, begin, end, column);
    return place < end && indices[place] == column ? place : -1;
}

// The entry of a row in `column`, or 0 where nothing is stored or where either is NO_VERTEX.
template <typename Index, typename Value>
__device__ __forceinline__ Value stored_value(const Index* __restrict__ indptr, const Index* __restrict__ indices,
                                              const Value* __restrict__ data, Index row, Index column) {
    if (row < 0 || column < 0) return Value{};
    const i64 slot = find_column(indices, (i64)indptr[row], (i64)indptr[row + 1], column);
    return slot < 0 ? Value{} : data[slot];
}

__device__ __forceinline__ u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Waits until all blocks of a cooperative launch have come; `arrivals` counts up from zero and is
// used by this launch alone. What blocks wrote before is visible to all after.
__device__ __forceinline__ void grid_barrier(u32* arrivals, u32& generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrivals, 1u);
        const u32 target = ++generation * gridDim.x;
        while (*(volatile u32*)arrivals < target) __nanosleep(32);
        __threadfence();
    }
    __syncthreads();
}
