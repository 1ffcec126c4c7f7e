#include "matrix/entry_tiles.cuh"

// Reports those of a thread's entries of a chunk that are nonfinite.
__device__ __noinline__ void report_entries(const VALUE* data, i64 first, i64 end, u64* report) {
    for (i64 slot = first; slot < end; slot += LANES)
        if (!is_finite(data[slot])) report_first(report, NONFINITE, slot);
}

// Finds the first row of each chunk of entries, and checks the row pointers and the columns.
KERNEL chunk_rows(In<INDEX> indptr, In<INDEX> indices, i64 rows, i64 entries, INDEX* __restrict__ chunk_row,
                  u64* report) {
    find_chunk_rows(indptr, rows, entries, chunk_row, nullptr, report);
    check_columns(indptr, indices, rows, entries, report);
}

// A chunk of entries in shared memory.
struct Chunk {
    WEIGHT* weights;
    INDEX* columns;
    i64 base;
    int count;
};

// Plain negation would take a float32 subnormal for zero.
DEVICE double negative(double a) { return -a; }
DEVICE float negative(float a) { return __uint_as_float(__float_as_uint(a) ^ 0x80000000u); }

// The partial results of a thread.
struct Findings {
    u64 symmetry;  // hashes above the diagonal plus complements (-hash - 1) of those below
    u64 below;     // number of entries below: corrects the complements
    u32 largest;   // leading bits of the largest magnitude
};

// Scans the part of a row that lies in a chunk. Copies the diagonal and zeroes its weight; marks weights on the sub-
// and superdiagonal by a minus sign.
struct RowScan {
    const Chunk& chunk;
    In<VALUE> data;
    VALUE* __restrict__ diagonal;
    Findings& found;

    template <int WIDTH>
    DEVICE void operator()(Lanes<WIDTH>, const RowPart& part) const {
        const INDEX row = part.row;
#pragma unroll 1
        for (int i = part.begin + threadIdx.x % WIDTH; i < part.end; i += WIDTH) {
            const INDEX column = chunk.columns[i];
            if (column == row) {
                diagonal[row] = data[chunk.base + i];
                chunk.weights[i] = 0;
                continue;
            }
            const WEIGHT weight = chunk.weights[i];
            if (rank_of(weight) == 0) continue;
            // All bits set below the diagonal: exclusive or then gives the complement, -hash - 1.
            const INDEX below = (column - row) >> (8 * sizeof(INDEX) - 1);
            found.symmetry += symmetry_hash(min(row, column), max(row, column), bits(weight)) ^ (u64)(i64)below;
            found.below -= (i64)below;
            if (column - row == 1 || row - column == 1) chunk.weights[i] = negative(weight);
        }
    }
};

// Stages a chunk's columns and weights in shared memory, padded with zeros; returns whether any of the thread's
// entries is nonfinite. All loads are issued before the first is used (memory-level parallelism).
template <bool WHOLE>
DEVICE bool stage(const Chunk& chunk, In<INDEX> indices, In<VALUE> data, u32& largest) {
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
        bad |= !is_finite(values[j]);
        chunk.columns[i] = columns[j];
        const WEIGHT weight = magnitude(values[j]);
        largest = max(largest, leading_bits(weight));
        chunk.weights[i] = WHOLE || i < chunk.count ? weight : 0;
    }
    return bad;
}

// Scans all entries: a block stages a chunk at a time, checks each entry, scans the rows, then sums the weights by the
// fixed tree: of all entries, and of those on the sub- and superdiagonal. The diagonal is zero at first.
DEVICE void scan_chunks(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, i64 entries, double scale,
                        const INDEX* chunk_row, double* chunk_sums, VALUE* __restrict__ diagonal, u64* report) {
    __shared__ WEIGHT weights[CHUNK];
    __shared__ INDEX columns[CHUNK];
    __shared__ double lanes[2 * LANES];
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    const int t = threadIdx.x;
    Findings found = {0, 0, 0};
    for (i64 number = blockIdx.x; number < chunks; number += gridDim.x) {
        const i64 base = number * CHUNK;
        const Chunk chunk = {weights, columns, base, entries - base < CHUNK ? (int)(entries - base) : CHUNK};
        const INDEX first_row = chunk_row[number];
        const INDEX last_row = number + 1 < chunks ? chunk_row[number + 1] : (INDEX)(rows - 1);
        const bool bad = chunk.count == CHUNK ? stage<true>(chunk, indices + base, data + base, found.largest)
                                              : stage<false>(chunk, indices + base, data + base, found.largest);
        if (bad) report_entries(data, base + t, base + chunk.count, report);
        __syncthreads();
        for_each_part(indptr, first_row, last_row, base, chunk.count, RowScan{chunk, data, diagonal, found});
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
    const u32 largest = warp_max(found.largest);
    if (t % 32 == 0 && largest > report[LARGEST]) atomicMax(report + LARGEST, (u64)largest);
}

#define SCAN_BOUNDS __launch_bounds__(LANES, sizeof(VALUE) > 8 ? 4 : 6)

// One pass over all entries, unless their columns are invalid: finite, symmetric? Also their weights, and the diagonal.
KERNEL SCAN_BOUNDS scan_entries(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, i64 entries,
                                double scale, In<INDEX> chunk_row, double* __restrict__ chunk_sums,
                                VALUE* __restrict__ diagonal, u64* report) {
    if (is_valid(report))
        scan_chunks(indptr, indices, data, rows, entries, scale, chunk_row, chunk_sums, diagonal, report);
}

// The same with all that comes before and after it, in one cooperative launch, for at most CHUNK chunks: the rows of the
// chunks, a diagonal of zeros, and the sums of the weights. The report is followed by the two sums and the barrier.
KERNEL SCAN_BOUNDS describe_entries(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, i64 entries,
                                    double scale, INDEX* chunk_row, double* chunk_sums, VALUE* diagonal, u64* report) {
    u32* const barrier = (u32*)(report + WORDS + 2);
    u32 generation = 0;
    GRID_STRIDE (i64, row, rows) diagonal[row] = VALUE{};
    find_chunk_rows(indptr, rows, entries, chunk_row, nullptr, report);
    check_columns(indptr, indices, rows, entries, report);
    grid_barrier(barrier, generation);
    if (is_valid(report))
        scan_chunks(indptr, indices, data, rows, entries, scale, chunk_row, chunk_sums, diagonal, report);
    grid_barrier(barrier, generation);
    if (blockIdx.x == 0 && is_valid(report)) add_chunks(chunk_sums, (entries + CHUNK - 1) / CHUNK, report + WORDS);
}

// The row of every entry, `width` lanes per row.
KERNEL fill_rows(In<INDEX> indptr, i64 rows, int width, INDEX* __restrict__ row_of) {
    GROUP_STRIDE (i64, row, rows, width)
        for (i64 slot = indptr[row] + threadIdx.x % width; slot < indptr[row + 1]; slot += width) row_of[slot] = row;
}

// The magnitude of every entry.
KERNEL magnitudes(In<VALUE> data, i64 entries, WEIGHT* __restrict__ weights) {
    GRID_STRIDE (i64, i, entries) weights[i] = magnitude(data[i]);
}

// Segmented sum over sorted entries: a thread adds the duplicates of an entry left to right. `order` sorts the entries,
// `heads` are the places in that order where distinct ones begin.
KERNEL sum_duplicates(In<VALUE> data, In<i64> order, In<i64> heads, i64 distinct, i64 entries,
                      VALUE* __restrict__ sums) {
    GRID_STRIDE (i64, i, distinct) {
        const i64 end = i + 1 < distinct ? heads[i + 1] : entries;
        VALUE sum = data[order[heads[i]]];
        for (i64 j = heads[i] + 1; j < end; ++j) sum = plus(sum, data[order[j]]);
        sums[i] = sum;
    }
}

// The sum of two magnitudes, at most the largest finite number.
DEVICE WEIGHT clamped_sum(WEIGHT a, WEIGHT b) {
    const WEIGHT largest = sizeof(WEIGHT) == 4 ? (WEIGHT)3.4028234663852886e38 : (WEIGHT)1.7976931348623157e308;
    const WEIGHT sum = plus(a, b);
    return rank_of(sum) < rank_of(largest) ? sum : largest;
}

// |A| + |A|^T on A's pattern: adds the magnitude of each entry's mirror image; entries without one are flagged. `width`
// lanes per row. The indices may change meanwhile, so they are checked.
KERNEL add_mirrors(In<INDEX> indptr, In<INDEX> indices, i64 rows, int width, In<WEIGHT> data,
                   WEIGHT* __restrict__ weights, u8* __restrict__ unpaired, u32* any_unpaired) {
    GROUP_STRIDE (i64, row, rows, width) {
        const i64 end = indptr[row + 1];
        for (i64 i = (i64)indptr[row] + threadIdx.x % width; i < end; i += width) {
            const INDEX column = clamped(indices[i], rows);
            const i64 mirror = find_column(indices, (i64)indptr[column], (i64)indptr[column + 1], (INDEX)row);
            const WEIGHT own = magnitude(data[i]);
            weights[i] = mirror < 0 ? own : clamped_sum(own, magnitude(data[mirror]));
            unpaired[i] = mirror < 0;
            if (mirror < 0) *any_unpaired = 1;
        }
    }
}

// Merges two CSR matrices that share no entry: an entry's place is its own number plus the number of the other matrix's
// entries before it, by binary search. Run once for either side.
KERNEL merge_entries(In<INDEX> row_of, In<INDEX> indices, In<WEIGHT> weights, i64 entries, In<INDEX> other_ptr,
                     In<INDEX> other_indices, INDEX* __restrict__ out_indices, WEIGHT* __restrict__ out_weights) {
    GRID_STRIDE (i64, i, entries) {
        const i64 begin =
            lower_bound(other_indices, (i64)other_ptr[row_of[i]], (i64)other_ptr[row_of[i] + 1], indices[i]);
        out_indices[i + begin] = indices[i];
        out_weights[i + begin] = weights[i];
    }
}
