#include "runtime/common.cuh"
#include "matrix/entry_tiles.cuh"

// Reports the bad ones among a thread's entries of a chunk.
__device__ __noinline__ void report_entries(const INDEX* indices, const VALUE* data, i64 first, i64 end, i64 rows,
                                            u64* report) {
    for (i64 slot = first; slot < end; slot += LANES) {
        if (is_outside(indices[slot], rows)) report_first(report, OUT_OF_RANGE, slot);
        if (!is_finite(data[slot])) report_first(report, NONFINITE, slot);
    }
}

extern "C" __global__ void chunk_rows(const INDEX* __restrict__ indptr, i64 rows, i64 entries,
                                      INDEX* __restrict__ chunk_row, u64* report) {
    find_chunk_rows(indptr, rows, entries, chunk_row, nullptr, report);
}

// A number that an edge {low, high} of this weight has and hardly another: both halves of a 128-bit
// product. Only whether the numbers above and below the diagonal cancel is ever seen.
__device__ __forceinline__ u64 edge_hash(INDEX low, INDEX high, u64 weight_bits) {
    const u64 pair =
        sizeof(INDEX) == 4 ? (u64)(u32)high << 32 | (u32)low : (u64)high * 0x9E3779B97F4A7C15ull + (u64)low;
    const u64 a = pair ^ 0xD6E8FEB86659FD93ull, b = weight_bits ^ 0xC2B2AE3D27D4EB4Full;
    return a * b ^ __umul64hi(a, b);
}

// A chunk of entries in shared memory.
struct Chunk {
    WEIGHT* weights;
    INDEX* columns;
    i64 base;
    int count;
};

// Plain negation would take a float32 subnormal for zero.
__device__ __forceinline__ double negative(double a) { return -a; }
__device__ __forceinline__ float negative(float a) { return __uint_as_float(__float_as_uint(a) ^ 0x80000000u); }

// What a thread has found out so far.
struct Findings {
    u64 symmetry;      // hashes above the diagonal minus those below
    u64 below;         // how many those are: they were subtracted one too much each
    INDEX least_step;  // from a column to the next in its row
};

// Looks at the parts of rows that lie in a chunk. Diagonal entries lose their weight, those beside the diagonal are marked
// by a minus sign.
struct Look {
    const Chunk& chunk;
    const INDEX* __restrict__ indices;
    const VALUE* __restrict__ data;
    VALUE* __restrict__ diagonal;
    Findings& found;

    template <int WIDTH>
    __device__ __forceinline__ void operator()(Together<WIDTH>, const RowPart& part) const {
        const INDEX row = part.row;
        int i = part.begin + threadIdx.x % WIDTH;
        if (i >= part.end) return;
        INDEX previous = i > part.begin ? chunk.columns[i - 1] : part.begun ? indices[chunk.base - 1] : NO_VERTEX;
#pragma unroll 1
        for (; i < part.end; i += WIDTH) {
            const INDEX column = chunk.columns[i];
            if (WIDTH > 1 && i > part.begin) previous = chunk.columns[i - 1];
            found.least_step = min(found.least_step, (INDEX)(column - previous));
            previous = column;
            if (column == row) {
                diagonal[row] = data[chunk.base + i];
                chunk.weights[i] = 0;
                continue;
            }
            const WEIGHT weight = chunk.weights[i];
            if (rank_of(weight) == 0) continue;
            // All bits set below the diagonal: a complement is a negative less one.
            const INDEX below = (column - row) >> (8 * sizeof(INDEX) - 1);
            found.symmetry += edge_hash(min(row, column), max(row, column), bits(weight)) ^ (u64)(i64)below;
            found.below -= (i64)below;
            if (column - row == 1 || row - column == 1) chunk.weights[i] = negative(weight);
        }
    }
};

// Brings a chunk's columns and weights into shared memory, 0 beyond its end; returns whether any of the thread's
// entries is bad. All loads are under way before the first is looked at.
template <bool WHOLE>
__device__ __forceinline__ bool stage(const Chunk& chunk, const INDEX* __restrict__ indices,
                                      const VALUE* __restrict__ data, i64 rows) {
    INDEX columns[CHUNK / LANES];
    VALUE values[CHUNK / LANES];
    const int t = threadIdx.x;
#pragma unroll
    for (int j = 0; j < CHUNK / LANES; ++j) {
        const int i = t + j * LANES, place = WHOLE || i < chunk.count ? i : 0;
        columns[j] = indices[place];
        values[j] = data[place];
    }
    bool bad = false;
#pragma unroll
    for (int j = 0; j < CHUNK / LANES; ++j) {
        const int i = t + j * LANES;
        bad |= is_outside(columns[j], rows) || !is_finite(values[j]);
        chunk.columns[i] = columns[j];
        chunk.weights[i] = WHOLE || i < chunk.count ? magnitude(values[j]) : 0;
    }
    return bad;
}

// One pass over all entries: are they finite, in range, sorted, symmetric, what do they weigh, and what is
// on the diagonal (zeroed before)? A block takes a chunk of entries at a time into shared memory, looks at
// each entry by itself, then at the rows, then adds up the weights: all of them, and those beside the diagonal.
extern "C" __global__ void __launch_bounds__(LANES, sizeof(VALUE) > 8 ? 4 : 6)
    scan_entries(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                 i64 rows, i64 entries, double scale, const INDEX* __restrict__ chunk_row,
                 double* __restrict__ chunk_sums, VALUE* __restrict__ diagonal, u64* report) {
    __shared__ WEIGHT weights[CHUNK];
    __shared__ INDEX columns[CHUNK];
    __shared__ double lanes[2 * LANES];
    if (report[BAD_ROW]) return;
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    const int t = threadIdx.x;
    Findings found = {0, 0, 1};
    for (i64 number = blockIdx.x; number < chunks; number += gridDim.x) {
        const i64 base = number * CHUNK;
        const Chunk chunk = {weights, columns, base, entries - base < CHUNK ? (int)(entries - base) : CHUNK};
        const INDEX first_row = chunk_row[number];
        const INDEX last_row = number + 1 < chunks ? chunk_row[number + 1] : (INDEX)(rows - 1);
        const bool bad = chunk.count == CHUNK ? stage<true>(chunk, indices + base, data + base, rows)
                                              : stage<false>(chunk, indices + base, data + base, rows);
        if (bad) report_entries(indices, data, base + t, base + chunk.count, rows, report);
        __syncthreads();
        for_each_part(indptr, first_row, last_row, base, chunk.count, Look{chunk, indices, data, diagonal, found});
        __syncthreads();
        double sums[2] = {0.0, 0.0};
#pragma unroll
        for (int j = 0; j < CHUNK; j += LANES) {
            const double weight = widened(weights[t + j]) * scale;
            sums[0] += fabs(weight);
            sums[1] += fmax(-weight, 0.0);
        }
        const double sum = fold_lanes(sums, lanes);
        if (t % 32 == 0 && t < 64) chunk_sums[t / 32 * chunks + number] = sum;
    }
    const u64 symmetry = warp_sum(found.symmetry + found.below);
    if (t % 32 == 0 && symmetry) atomicAdd(report + SYMMETRY, symmetry);
    if (found.least_step <= 0) report[UNSORTED] = 1;
}

// The row of every entry, `width` threads to a row.
extern "C" __global__ void fill_rows(const INDEX* __restrict__ indptr, i64 rows, int width,
                                     INDEX* __restrict__ row_of) {
    const i64 groups = (i64)gridDim.x * blockDim.x / width;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width; row < rows; row += groups)
        for (i64 slot = indptr[row] + threadIdx.x % width; slot < indptr[row + 1]; slot += width) row_of[slot] = row;
}

extern "C" __global__ void magnitudes(const VALUE* __restrict__ data, i64 entries, WEIGHT* __restrict__ weights) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x)
        weights[i] = magnitude(data[i]);
}

// Each distinct entry adds its duplicates left to right; `order` sorts the entries, `heads` marks where
// in that order the distinct ones begin.
extern "C" __global__ void sum_duplicates(const VALUE* __restrict__ data, const i64* __restrict__ order,
                                          const i64* __restrict__ heads, i64 distinct, i64 entries,
                                          VALUE* __restrict__ sums) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < distinct; i += (i64)gridDim.x * blockDim.x) {
        const i64 end = i + 1 < distinct ? heads[i + 1] : entries;
        VALUE sum = data[order[heads[i]]];
        for (i64 j = heads[i] + 1; j < end; ++j) sum = plus(sum, data[order[j]]);
        sums[i] = sum;
    }
}

__device__ __forceinline__ WEIGHT clamped_sum(WEIGHT a, WEIGHT b) {
    const WEIGHT largest = sizeof(WEIGHT) == 4 ? (WEIGHT)3.4028234663852886e38 : (WEIGHT)1.7976931348623157e308;
    const WEIGHT sum = plus(a, b);
    return rank_of(sum) < rank_of(largest) ? sum : largest;
}

// Adds to each entry's magnitude that of its mirror image; entries that have none are flagged.
extern "C" __global__ void add_mirrors(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                       const INDEX* __restrict__ row_of, const WEIGHT* __restrict__ data, i64 entries,
                                       WEIGHT* __restrict__ weights, u8* __restrict__ lonely, u32* any_lonely) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const INDEX row = row_of[i], column = indices[i];
        const i64 mirror = find_column(indices, (i64)indptr[column], (i64)indptr[column + 1], row);
        const WEIGHT own = magnitude(data[i]);
        weights[i] = mirror < 0 ? own : clamped_sum(own, magnitude(data[mirror]));
        lonely[i] = mirror < 0;
        if (mirror < 0) *any_lonely = 1;
    }
}

// Merges two CSR patterns that share no entry: moves each entry of one behind those of the other,
// `other_ptr` and `other_indices`, that come before it. Run once for either side.
extern "C" __global__ void merge_entries(const INDEX* __restrict__ row_of, const INDEX* __restrict__ indices,
                                         const WEIGHT* __restrict__ weights, i64 entries,
                                         const INDEX* __restrict__ other_ptr, const INDEX* __restrict__ other_indices,
                                         INDEX* __restrict__ out_indices, WEIGHT* __restrict__ out_weights) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const i64 begin =
            lower_bound(other_indices, (i64)other_ptr[row_of[i]], (i64)other_ptr[row_of[i] + 1], indices[i]);
        out_indices[i + begin] = indices[i];
        out_weights[i + begin] = weights[i];
    }
}
