// Products of a sparse matrix and one vector by CSR-Stream (Greathouse & Daga, "Efficient sparse matrix-vector
// multiplication on GPUs using the CSR storage format", SC 2014), by warps: there is no barrier of a block, and a warp
// loads its next entries while it sums the products of the last ones.
#include "matrix/row_limits.cuh"

// Entries of a chunk that each lane loads, as many as registers hold: 32 rows of nine entries are one chunk.
#define ENTRIES_OF_LANE (sizeof(VALUE) > 8 ? 4 : sizeof(INDEX) > 4 ? 7 : 9)
#define CHUNK_ENTRIES (32 * (int)ENTRIES_OF_LANE)
// Blocks of each multiprocessor that kernels with these products are compiled for.
#define RESIDENT_BLOCKS 4

// Loads of what is read once are evicted first: the vector stays in the caches.
DEVICE float streamed(const float* at) { return __ldcs(at); }
DEVICE double streamed(const double* at) { return __ldcs(at); }
DEVICE int streamed(const int* at) { return __ldcs(at); }
DEVICE i64 streamed(const i64* at) { return __ldcs(at); }
template <typename Complex>
DEVICE Complex streamed(const Complex* at) {
    return {streamed(&at->re), streamed(&at->im)};
}

// Consecutive entries of a matrix in registers: a lane holds every 32nd.
struct Chunk {
    INDEX columns[ENTRIES_OF_LANE];
    VALUE values[ENTRIES_OF_LANE];

    // Loads the first `count` entries from `base` on.
    DEVICE void load(In<INDEX> indices, In<VALUE> data, i64 base, i64 count) {
        const int lane = threadIdx.x % 32;
        indices += base + lane;
        data += base + lane;
        EACH (i, (int)ENTRIES_OF_LANE)
            if (i * 32 + lane < count) {
                columns[i] = streamed(indices + i * 32);
                values[i] = streamed(data + i * 32);
            }
    }

    // Writes the products with the vector of entries source(column) to shared memory.
    template <typename Source>
    DEVICE void multiply(i64 count, i64 rows, Source source, VALUE* products) const {
        const int lane = threadIdx.x % 32;
        EACH (i, (int)ENTRIES_OF_LANE)
            if (i * 32 + lane < count) products[i * 32 + lane] = values[i] * source(clamped(columns[i], rows));
    }
};

// 32 rows, one for each lane; rows beyond the last one are empty.
struct WarpRows {
    INDEX own_begin, own_end;

    DEVICE WarpRows(In<INDEX> indptr, i64 first, i64 rows) {
        const i64 row = first + threadIdx.x % 32;
        own_begin = indptr[min(row, rows)];
        own_end = indptr[min(row + 1, rows)];
    }
    DEVICE bool is_long() const { return own_end - own_begin > LONGEST_ROW; }
    DEVICE i64 begin() const { return past_long(__shfl_sync(FULL_WARP, own_begin, 0)); }
    DEVICE i64 end() const { return __shfl_sync(FULL_WARP, own_end, 31); }

    // The first entry from `at` on that is in none of the long rows.
    DEVICE i64 past_long(i64 at) const {
        while (const u32 owner = __ballot_sync(FULL_WARP, is_long() && own_begin <= at && at < own_end))
            at = __shfl_sync(FULL_WARP, own_end, __ffs(owner) - 1);
        return at;
    }
};

// Calls take(row, sum, is_long) for every row, with the products with the vector of entries source(column); the sum of a
// long row is not computed. A block takes THREADS rows at a time, a thread per row. A warp multiplies the entries of its
// rows with coalesced loads, a chunk at a time, and every lane sums the products of its row in order. The matrix is
// square, and its indices may change (`clamped`).
template <typename Source, typename Take>
DEVICE void each_product(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 all_rows, Source source, Take take) {
    __shared__ VALUE products_of_warps[THREADS / 32][CHUNK_ENTRIES];
    VALUE* const products = products_of_warps[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    const i64 step = (i64)gridDim.x * THREADS;
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x / 32 * 32;
    if (first >= all_rows) return;
    WarpRows rows(indptr, first, all_rows);
    i64 base = rows.begin(), end = rows.end();
    Chunk chunk;
    chunk.load(indices, data, base, end - base);
    for (; first < all_rows; first += step) {
        const WarpRows next(indptr, first + step, all_rows);
        VALUE sum = VALUE{};
        bool is_last;
        do {
            chunk.multiply(end - base, all_rows, source, products);
            const int from = (int)max(rows.own_begin - base, (i64)0);
            const int to = rows.is_long() ? from : (int)min(rows.own_end - base, (i64)CHUNK_ENTRIES);
            base = rows.past_long(base + CHUNK_ENTRIES);
            is_last = base >= end;
            if (is_last) {
                base = next.begin();
                end = next.end();
            }
            chunk.load(indices, data, base, end - base);
            __syncwarp();
            for (int at = from; at < to; ++at) sum = sum + products[at];
            __syncwarp();
        } while (!is_last);
        if (first + lane < all_rows) take(first + lane, sum, rows.is_long());
        rows = next;
    }
}
