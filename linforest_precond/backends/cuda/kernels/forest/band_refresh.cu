#include "matrix/pattern_digest.cuh"

// New values for bands whose entries have known slots in a matrix. One kernel reads the matrix: it checks and sums the
// values, and hashes the pattern. The index arrays are the user's own: no address depends on them, and another hash
// than that of the first matrix tells that the slots are those of another pattern.

// The words of the report: whether a value is NaN or infinite, the leading bits of the largest magnitude, the sums of
// the weights (of all couplings, and of those next to the diagonal), the hash of the pattern, and a counter of blocks.
enum ValueReport { NOT_FINITE, LARGEST, SUMS, DIGEST = SUMS + 2, BLOCKS_DONE = DIGEST + 2 };

// What an entry is to the sums, in two bits. A word of 16 bits holds the kinds of the eight entries of a chunk that a
// thread adds: t, t + LANES, ...
enum EntryKind { COUPLING, DIAGONAL, ADJACENT };

// The partial results of a thread.
struct Findings {
    Digest digest;
    u32 largest;
    bool bad;
};

// Adds a thread's entries of a chunk. All loads are issued before the first is used (memory-level parallelism). A WHOLE
// chunk has no missing entries, and columns that are aligned for vectorized loads.
template <bool WHOLE>
DEVICE void add_chunk(In<INDEX> indices, In<VALUE> data, int count, u64 first_group, u32 kinds, Findings& found,
                      double (&sums)[2]) {
    constexpr int fours = CHUNK / 4 / LANES, singles = CHUNK / LANES;
    const int t = threadIdx.x;
    Four columns[fours];
    VALUE values[singles];
#pragma unroll
    for (int j = 0; j < fours; ++j) {
        const int group = t + j * LANES;
        if (WHOLE) columns[j] = ((const Four*)indices)[group];
        else
            for (int i = 0; i < 4; ++i) columns[j].at[i] = 4 * group + i < count ? indices[4 * group + i] : 0;
    }
#pragma unroll
    for (int j = 0; j < singles; ++j) values[j] = WHOLE || t + j * LANES < count ? data[t + j * LANES] : VALUE{};
#pragma unroll
    for (int j = 0; j < fours; ++j) {
        const int group = t + j * LANES;
        if (WHOLE || 4 * group < count) found.digest.add(columns[j], first_group + group, 1);
    }
#pragma unroll
    for (int j = 0; j < singles; ++j) {
        const WEIGHT own = magnitude(values[j]);
        found.bad |= !is_finite(values[j]);
        found.largest = max(found.largest, leading_bits(own));
        const u32 kind = kinds >> 2 * j & 3;
        const double weight = kind == DIAGONAL ? 0.0 : widened(own);
        sums[0] += weight;
        sums[1] += kind == ADJACENT ? weight : 0.0;
    }
}

// One pass over a matrix: hashes the pattern, looks for NaN and infinity, and sums the weights of each chunk by the
// fixed tree, with the bits of scan_entries in entries.cu. The sums of at most CHUNK chunks are added up, too.
DEVICE void describe_values(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, i64 entries, In<u16> kinds,
                            double* chunk_sums, u64* report) {
    __shared__ double lanes[2][2 * LANES];  // used in turn: one barrier per chunk
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    const bool aligned = (u64)indices % sizeof(Four) == 0;
    const int t = threadIdx.x;
    Findings found = {};
    found.digest.add_array(indptr, rows + 1, 0);
    int turn = 0;
    for (i64 number = blockIdx.x; number < chunks; number += gridDim.x) {
        const i64 base = number * CHUNK;
        const int count = entries - base < CHUNK ? (int)(entries - base) : CHUNK;
        const u32 own = kinds[number * LANES + t];
        const u64 group = (u64)base / 4;
        double sums[2] = {0.0, 0.0};
        if (aligned && count == CHUNK) add_chunk<true>(indices + base, data + base, count, group, own, found, sums);
        else add_chunk<false>(indices + base, data + base, count, group, own, found, sums);
        const double sum = fold_lanes(sums, lanes[turn]);
        if (t % 32 == 0 && t < 64) chunk_sums[t / 32 * chunks + number] = sum;
        turn ^= 1;
    }
    found.digest.report(report + DIGEST);
    if (found.bad) report[NOT_FINITE] = 1;
    const u32 largest = warp_max(found.largest);
    if (t % 32 == 0 && largest > report[LARGEST]) atomicMax(report + LARGEST, (u64)largest);
    if (chunks <= CHUNK && is_last_block(report + BLOCKS_DONE, gridDim.x))
        add_chunks(chunk_sums, chunks, report + SUMS);
}

// Entries of each band that a thread copies at once.
#define AT_A_TIME 2

// `ghost_code` in returns.py.
template <typename SLOT>
DEVICE SLOT ghost_code(SLOT slot) {
    return -3 - slot;
}

// Copies the bands: entry `place` of each is stored at slots[place] of the matrix, 0 where that is -1. The slots of the
// lower band are followed by those of the diagonal and of the upper band. A diagonal entry whose slot is below -1 is
// that of a ghost: a copy of another diagonal entry, `one` where that is 0 or not stored.
template <typename SLOT>
DEVICE void gather_bands(In<VALUE> data, In<SLOT> slots, i64 count, VALUE one, VALUE* __restrict__ lower,
                         VALUE* __restrict__ diagonal, VALUE* __restrict__ upper) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x; first < count; first += AT_A_TIME * stride) {
        SLOT own[AT_A_TIME][3];
        VALUE values[AT_A_TIME][3];
        bool ghosts[AT_A_TIME];
#pragma unroll
        for (int i = 0; i < AT_A_TIME; ++i)
#pragma unroll
            for (int band = 0; band < 3; ++band)
                own[i][band] = first + i * stride < count ? slots[band * count + first + i * stride] : (SLOT)-1;
#pragma unroll
        for (int i = 0; i < AT_A_TIME; ++i) {
            ghosts[i] = own[i][1] < -1;
            if (ghosts[i]) own[i][1] = ghost_code(own[i][1]);
        }
#pragma unroll
        for (int i = 0; i < AT_A_TIME; ++i)
#pragma unroll
            for (int band = 0; band < 3; ++band) values[i][band] = own[i][band] < 0 ? VALUE{} : data[own[i][band]];
#pragma unroll
        for (int i = 0; i < AT_A_TIME; ++i) {
            const i64 place = first + i * stride;
            if (place >= count) break;
            if (ghosts[i] && is_zero(values[i][1])) values[i][1] = one;
            lower[place] = values[i][0];
            diagonal[place] = values[i][1];
            upper[place] = values[i][2];
        }
    }
}

// Copies the bands, whose slots are 64-bit numbers if `wide`, and describes the matrix.
KERNEL __launch_bounds__(LANES, sizeof(VALUE) > 8 ? 3 : 4)
    refresh_bands(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, i64 entries, In<u16> kinds,
                  double* chunk_sums, u64* report, const void* slots, int wide, i64 count, VALUE one,
                  VALUE* __restrict__ lower, VALUE* __restrict__ diagonal, VALUE* __restrict__ upper) {
    if (wide) gather_bands(data, (const i64*)slots, count, one, lower, diagonal, upper);
    else gather_bands(data, (const int*)slots, count, one, lower, diagonal, upper);
    describe_values(indptr, indices, data, rows, entries, kinds, chunk_sums, report);
}

// Finds the slots of the entries of each row of the bands by binary search in the matrix's rows; -1 where nothing is
// stored. A thread per row.
KERNEL find_band_slots(In<INDEX> indptr, In<INDEX> indices, i64 rows, In<INDEX> neighbors, In<INDEX> order,
                       INDEX* __restrict__ slots) {
    GRID_STRIDE (i64, place, rows) {
        const INDEX v = order[place], before = place ? order[place - 1] : NO_VERTEX;
        const i64 begin = indptr[v], end = indptr[v + 1];
        i64 to_before = -1, to_after = -1;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const INDEX neighbor = neighbors[2 * (i64)v + i];
            if (neighbor >= 0) (neighbor == before ? to_before : to_after) = find_column(indices, begin, end, neighbor);
        }
        slots[place] = (INDEX)to_before;
        slots[rows + place] = (INDEX)find_column(indices, begin, end, v);
        slots[2 * rows + place] = (INDEX)to_after;
    }
}

// Marks the entries on the diagonal and next to it, in zeroed memory: two words of kinds make a word of `pairs`.
KERNEL mark_kinds(In<INDEX> indptr, In<INDEX> indices, i64 rows, u32* __restrict__ pairs) {
    GRID_STRIDE (i64, row, rows) {
        const i64 end = indptr[row + 1];
        for (i64 slot = lower_bound(indices, (i64)indptr[row], end, (INDEX)(row - 1)); slot < end; ++slot) {
            const i64 column = indices[slot];
            if (column > row + 1) break;
            const i64 word = slot / CHUNK * LANES + slot % LANES;
            const u32 kind = column == row ? DIAGONAL : ADJACENT;
            atomicOr(pairs + word / 2, kind << (16 * (word % 2) + 2 * (slot % CHUNK / LANES)));
        }
    }
}
