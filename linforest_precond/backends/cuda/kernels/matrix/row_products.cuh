// Products of a sparse matrix and one vector by CSR-Stream (Greathouse & Daga, "Efficient sparse matrix-vector
// multiplication on GPUs using the CSR storage format", SC 2014), by warps: there is no barrier of a block, and the
// loads of a warp's next entries are always under way (double buffering by asynchronous copies).

#include "matrix/row_limits.cuh"

#define CHUNK_ENTRIES (sizeof(VALUE) > 8 ? WIDE_CHUNK_ENTRIES : NARROW_CHUNK_ENTRIES)
#define ENTRIES_OF_LANE (CHUNK_ENTRIES / 32)

// Starts a copy of 4 or 8 bytes from global to shared memory.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    const u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(BYTES) : "memory");
#else
    for (int i = 0; i < BYTES / 4; ++i) ((u32*)to)[i] = ((const u32*)from)[i];
#endif
}
__device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most LATER groups of copies are under way.
template <int LATER>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
    __syncwarp();
}

// Consecutive entries of a matrix in shared memory; their products with a vector replace the values.
struct Chunk {
    VALUE values[CHUNK_ENTRIES];
    INDEX columns[CHUNK_ENTRIES];

    // Starts to copy the entries from `base` on, up to `end`.
    __device__ __forceinline__ void fetch(const INDEX* __restrict__ indices, const VALUE* __restrict__ data, i64 base,
                                          i64 end) {
        const int lane = threadIdx.x % 32, count = (int)min(end - base, (i64)CHUNK_ENTRIES);
        EACH (i, ENTRIES_OF_LANE)
            if (i * 32 + lane < count)
                copy_async<sizeof(INDEX)>(columns + i * 32 + lane, indices + base + i * 32 + lane);
        EACH (i, ENTRIES_OF_LANE)
            if (i * 32 + lane < count)
                EACH (part, (int)(sizeof(VALUE) / sizeof(WEIGHT)))  // complex values are aligned to their parts
                    copy_async<sizeof(WEIGHT)>((WEIGHT*)(values + i * 32 + lane) + part,
                                               (const WEIGHT*)(data + base + i * 32 + lane) + part);
        end_copies();
    }

    template <bool CLAMPED, typename Source>
    __device__ __forceinline__ void multiply(int count, i64 rows, Source source) {
        const int lane = threadIdx.x % 32;
        VALUE factors[ENTRIES_OF_LANE];
        EACH (i, ENTRIES_OF_LANE)
            if (i * 32 + lane < count) {
                const INDEX column = columns[i * 32 + lane];
                factors[i] = source(CLAMPED ? clamped(column, rows) : column);
            }
        EACH (i, ENTRIES_OF_LANE)
            if (i * 32 + lane < count) values[i * 32 + lane] = values[i * 32 + lane] * factors[i];
        __syncwarp();
    }
};

// 32 rows, one for each lane; rows beyond the last one are empty.
template <bool SPLIT>
struct WarpRows {
    INDEX own_begin, own_end;

    __device__ __forceinline__ WarpRows(const INDEX* __restrict__ indptr, i64 first, i64 rows) {
        const i64 row = first + threadIdx.x % 32;
        own_begin = indptr[min(row, rows)];
        own_end = indptr[min(row + 1, rows)];
    }
    __device__ __forceinline__ bool is_long() const { return SPLIT && own_end - own_begin > LONGEST_ROW; }
    __device__ __forceinline__ i64 begin() const { return past_long(__shfl_sync(FULL_WARP, own_begin, 0)); }
    __device__ __forceinline__ i64 end() const { return __shfl_sync(FULL_WARP, own_end, 31); }

    // The first entry from `at` on that is in none of the long rows.
    __device__ __forceinline__ i64 past_long(i64 at) const {
        if (SPLIT)
            while (const u32 owner = __ballot_sync(FULL_WARP, is_long() && own_begin <= at && at < own_end))
                at = __shfl_sync(FULL_WARP, own_end, __ffs(owner) - 1);
        return at;
    }

    // Adds those products of the lane's row that are in the chunk at `base`, in order.
    __device__ __forceinline__ void add(const VALUE* products, i64 base, VALUE& sum) const {
        const int from = (int)max(own_begin - base, (i64)0), to = (int)min(own_end - base, (i64)CHUNK_ENTRIES);
        if (!is_long())
            for (int at = from; at < to; ++at) sum = sum + products[at];
        __syncwarp();
    }
};

// Calls take(row, sum, is_long) for every row, with the products with the vector of entries source(column); the sum of a
// long row is not computed. A block takes THREADS rows at a time, a thread per row. A warp multiplies the entries of its
// rows with coalesced loads, a chunk at a time, and every lane sums the products of its row in order. CLAMPED: for a
// square matrix whose indices may change (`clamped`). SPLIT: there may be long rows.
template <bool CLAMPED, bool SPLIT, typename Source, typename Take>
__device__ __forceinline__ void each_product(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                             const VALUE* __restrict__ data, i64 all_rows, Source source, Take take) {
    extern __shared__ __align__(16) u8 shared_memory[];
    Chunk* const chunks = (Chunk*)shared_memory + threadIdx.x / 32 * 2;
    const i64 step = (i64)gridDim.x * THREADS;
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x / 32 * 32;
    if (first >= all_rows) return;
    WarpRows<SPLIT> rows(indptr, first, all_rows), next(indptr, first + step, all_rows);
    i64 base = rows.begin(), end = rows.end();
    chunks[0].fetch(indices, data, base, end);
    int turn = 0;
    for (; first < all_rows; first += step) {
        const WarpRows<SPLIT> later(indptr, first + 2 * step, all_rows);
        VALUE sum = VALUE{};
        bool is_last;
        do {
            const i64 at = base;
            const int count = (int)min(end - base, (i64)CHUNK_ENTRIES);
            base = rows.past_long(base + CHUNK_ENTRIES);
            is_last = base >= end;
            if (is_last) base = next.begin(), end = next.end();
            Chunk& chunk = chunks[turn];
            turn = 1 - turn;
            chunks[turn].fetch(indices, data, base, end);
            wait_for_copies<1>();
            chunk.multiply<CLAMPED>(count, all_rows, source);
            rows.add(chunk.values, at, sum);
        } while (!is_last);
        if (first + threadIdx.x % 32 < all_rows) take(first + threadIdx.x % 32, sum, rows.is_long());
        rows = next;
        next = later;
    }
}
