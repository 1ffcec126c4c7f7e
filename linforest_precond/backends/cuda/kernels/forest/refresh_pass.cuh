// New values for bands along a forest, in one pass over a matrix that should have the pattern of the forest's: the entries
// are copied, checked and summed, and the pattern is hashed. The index arrays are the user's own: whatever they contain,
// no address depends on them unchecked, and another hash than that of the forest's matrix tells that the bands are void.

// The words of the report after those of a scan: two sums of weights, and the hash of the pattern.
#define DIGEST (WORDS + 2)

// Values of 16 bytes are not staged in shared memory, which has too little room: their second read is from a cache.
constexpr bool staged = sizeof(VALUE) <= 8;

// What an entry is to the sums of the weights.
enum EntryKind { COUPLING, DIAGONAL, ADJACENT };

// A chunk of entries, its columns in shared memory, and all entries.
struct Chunk {
    const INDEX* __restrict__ indices;
    const VALUE* __restrict__ data;
    i64 entries, rows, base;
    int count;
    const INDEX* columns;
    const VALUE* values;
    u8* kinds;

    // The column and the value of an entry, which is most often in this chunk. A slot beyond the entries has none.
    __device__ __forceinline__ INDEX column(i64 slot) const {
        if ((u64)(slot - base) < (u64)count) return columns[slot - base];
        return (u64)slot < (u64)entries ? indices[slot] : NO_VERTEX;
    }
    __device__ __forceinline__ VALUE value(i64 slot) const {
        if ((u64)(slot - base) < (u64)count) return values[slot - base];
        return (u64)slot < (u64)entries ? data[slot] : VALUE{};
    }

    // Marks the entries on the diagonal and beside it of the part [begin, end) of a row. Returns the place of the
    // diagonal entry in the chunk, or -1.
    __device__ __forceinline__ int mark(INDEX row, int begin, int end) const {
        const int place = (int)lower_bound(columns, (i64)begin, (i64)end, row);
        const bool found = place < end && columns[place] == row;
        if (found) kinds[place] = DIAGONAL;
        if (place > begin && columns[place - 1] == row - 1) kinds[place - 1] = ADJACENT;
        const int after = place + found;
        if (after < end && columns[after] == row + 1) kinds[after] = ADJACENT;
        return found ? place : -1;
    }

    // The diagonal entry of a row, which this chunk holds at `place`, or else one of the next chunks may hold.
    __device__ __forceinline__ VALUE diagonal(INDEX row, int place, i64 row_end) const {
        if (place >= 0) return values[place];
        const i64 slot = find_column(indices, base + count, min(row_end, entries), row);
        return slot < 0 ? VALUE{} : data[slot];
    }
};

// Stages a chunk in shared memory, and hashes its columns; missing columns count as zeros. All loads are issued before
// the first is used (memory-level parallelism).
__device__ __forceinline__ void stage(const INDEX* __restrict__ indices, const VALUE* __restrict__ data, i64 base,
                                      int count, INDEX* columns, VALUE* values, u8* kinds, Digest& digest) {
    constexpr int fours = CHUNK / 4 / LANES, singles = CHUNK / LANES;
    const int t = threadIdx.x;
    Four four[fours];
    VALUE value[singles];
    if (count == CHUNK) {
#pragma unroll
        for (int j = 0; j < fours; ++j) four[j] = ((const Four*)(indices + base))[t + j * LANES];
#pragma unroll
        for (int j = 0; staged && j < singles; ++j) value[j] = data[base + t + j * LANES];
    } else {
#pragma unroll
        for (int j = 0; j < fours; ++j)
            for (int i = 0; i < 4; ++i) {
                const int place = 4 * (t + j * LANES) + i;
                four[j].at[i] = place < count ? indices[base + place] : 0;
            }
#pragma unroll
        for (int j = 0; staged && j < singles; ++j)
            if (t + j * LANES < count) value[j] = data[base + t + j * LANES];
    }
#pragma unroll
    for (int j = 0; j < fours; ++j) {
        const int group = t + j * LANES;
        if (4 * group < count) digest.add(four[j], (u64)(base / 4 + group), 1);
        ((Four*)columns)[group] = four[j];
        ((u32*)kinds)[group] = 0;
    }
#pragma unroll
    for (int j = 0; staged && j < singles; ++j) values[t + j * LANES] = value[j];
}

// The sums of a chunk's weights by the fixed tree: of its couplings, and of those next to the diagonal. Nonfinite entries
// are reported, and the leading bits of the largest magnitude are kept.
__device__ __forceinline__ double sum_weights(const Chunk& chunk, double* lanes, u32& largest, u64* report) {
    const int t = threadIdx.x;
    double sums[2] = {0.0, 0.0};
    bool bad = false;
#pragma unroll
    for (int j = 0; j < CHUNK; j += LANES) {
        const VALUE value = t + j < chunk.count ? chunk.values[t + j] : VALUE{};
        const u8 kind = chunk.kinds[t + j];
        bad |= !is_finite(value);
        const WEIGHT own = magnitude(value);
        largest = max(largest, leading_bits(own));
        const double weight = kind == DIAGONAL ? 0.0 : widened(own);
        sums[0] += weight;
        sums[1] += kind == ADJACENT ? weight : 0.0;
    }
    if (bad) report[NONFINITE] = 1;
    return fold_lanes(sums, lanes);
}

// The part of a row's entries that lies in a chunk, and whether the row begins there.
struct PartOfRow {
    int begin, end;
    bool begins;
};

__device__ __forceinline__ PartOfRow part_of(const Chunk& chunk, INDEX row_begin, INDEX row_end) {
    const i64 first = (i64)row_begin - chunk.base, last = (i64)row_end - chunk.base, count = chunk.count;
    return {(int)min(max(first, 0ll), count), (int)min(max(last, 0ll), count), first >= 0};
}

// Hashes and checks the row pointers, finds the first row of each chunk of entries, and writes the bands' empty rows.
template <typename Target>
__device__ __forceinline__ void begin_pass(const INDEX* __restrict__ indptr, i64 rows, i64 entries,
                                           const Target& target, INDEX* __restrict__ chunk_row, u64* report) {
    Digest digest = {};
    digest.add_array(indptr, rows + 1, 0);
    digest.report(report + DIGEST);
    find_chunk_rows(indptr, rows, entries, chunk_row, nullptr, report);
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += (i64)gridDim.x * blockDim.x)
        if (indptr[row] == indptr[row + 1]) target.copy_empty((INDEX)row);
}

// One pass over all entries, a chunk per block at a time. A thread copies the entries of a row that begins in the chunk:
// target.load(row) loads what is known of the row ahead, target.copy(chunk, row, task, ...) writes it.
template <typename Target>
__device__ __forceinline__ void pass(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                     const VALUE* __restrict__ data, i64 rows, i64 entries, const Target& target,
                                     const INDEX* __restrict__ chunk_row, double* __restrict__ chunk_sums,
                                     u64* report) {
    __shared__ VALUE values[staged ? CHUNK : 1];
    __shared__ alignas(32) INDEX columns[CHUNK];
    __shared__ alignas(4) u8 kinds[CHUNK];
    __shared__ double lanes[2 * LANES];
    if (report[BAD_ROW]) return;
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    const int t = threadIdx.x;
    Digest digest = {};
    u32 largest = 0;
    for (i64 number = blockIdx.x; number < chunks; number += gridDim.x) {
        const i64 base = number * CHUNK;
        const int count = entries - base < CHUNK ? (int)(entries - base) : CHUNK;
        const Chunk chunk = {indices, data, entries, rows, base, count, columns, staged ? values : data + base, kinds};
        // Clamped: the pointers may have changed since the rows were found.
        const INDEX first_row = clamped(chunk_row[number], rows);
        const INDEX last_row = number + 1 < chunks ? clamped(chunk_row[number + 1], rows) : (INDEX)(rows - 1);
        i64 row = (i64)first_row + t;
        stage(indices, data, base, count, columns, values, kinds, digest);
        typename Target::Task task = target.load(indptr, min(row, (i64)last_row));  // while others stage
        __syncthreads();
        for (; row <= last_row; row += LANES) {
            const PartOfRow part = part_of(chunk, task.begin, task.end);
            if (part.begin < part.end) {
                const int diagonal = chunk.mark((INDEX)row, part.begin, part.end);
                if (part.begins) target.copy(chunk, (INDEX)row, task, part, diagonal);
            }
            if (row + LANES <= last_row) task = target.load(indptr, row + LANES);
        }
        __syncthreads();
        const double sum = sum_weights(chunk, lanes, largest, report);
        if (t % 32 == 0 && t < 64) chunk_sums[t / 32 * chunks + number] = sum;
    }
    digest.report(report + DIGEST);
    largest = warp_max(largest);
    if (t % 32 == 0 && largest > report[LARGEST]) atomicMax(report + LARGEST, (u64)largest);
}

#ifndef REFRESH_BLOCKS
#define REFRESH_BLOCKS (sizeof(VALUE) > 8 ? 4 : 5)
#endif
