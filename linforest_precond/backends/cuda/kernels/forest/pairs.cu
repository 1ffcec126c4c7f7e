#include "runtime/common.cuh"
#include "matrix/row_merging.cuh"

// Marks with 1 the vertices that open a pair: those without a partner before them. A sum over the marks then
// numbers the pairs.
extern "C" __global__ void mark_leads(const INDEX* __restrict__ partners, i64 vertices, INDEX* __restrict__ leads) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x)
        leads[v] = partners[v] < 0 || partners[v] > v;
}

// Each vertex that opens a pair enters it and its partner, NO_VERTEX for a ghost; `opened` counts the pairs
// opened up to each vertex. A vertex's place is twice its pair, plus one for a higher member.
extern "C" __global__ void number_pairs(const INDEX* __restrict__ partners, i64 vertices,
                                        const INDEX* __restrict__ opened, INDEX* __restrict__ members,
                                        INDEX* __restrict__ places) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += (i64)gridDim.x * blockDim.x) {
        const INDEX partner = partners[v];
        if (partner >= 0 && partner < v) continue;
        const INDEX place = 2 * (opened[v] - 1);
        members[place] = v;
        members[place + 1] = partner;
        places[v] = place;
        if (partner >= 0) places[partner] = place + 1;
    }
}

// The two members of each listed pair, NO_VERTEX for those of NO_VERTEX.
extern "C" __global__ void list_members(const INDEX* __restrict__ pairs, i64 count, const INDEX* __restrict__ members,
                                        INDEX* __restrict__ found) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < 2 * count; i += (i64)gridDim.x * blockDim.x) {
        const INDEX pair = pairs[i >> 1];
        found[i] = pair < 0 ? NO_VERTEX : members[2 * (i64)pair + (i & 1)];
    }
}

// Coarse rows that a block merges at a time, at most.
#define ROWS 128
// Lanes that bring a coarse row into shared memory and out of it, and entries that each has under way.
#define STAGING_LANES 8
#define UNDER_WAY 3
// Entries of all rows of a block that fit into shared memory, and of a row that one thread sorts.
#define CAPACITY 2560
#define SHORT_ROW 64
// Entries of a row that a block can sort; a power of two.
#define LONGEST_ROW 4096

// The graph and its pairs.
struct Fine {
    const INDEX* __restrict__ indptr;
    const INDEX* __restrict__ indices;
    const WEIGHT* __restrict__ values;
    const INDEX* __restrict__ members;
    const INDEX* __restrict__ places;
    i64 pairs;
};

// The graph of the pairs, and room for rows that do not fit into shared memory (null where there are none).
struct Coarse {
    INDEX* __restrict__ indptr;
    INDEX* __restrict__ indices;
    WEIGHT* __restrict__ values;
    INDEX* __restrict__ long_indices;
    WEIGHT* __restrict__ long_values;
};

// The entries of a pair: those of its lower member, then those of the higher one.
struct PairRow {
    i64 begin[2];
    int length[2];

    __device__ __forceinline__ i64 slot(int i) const {
        return i < length[0] ? begin[0] + i : begin[1] + (i - length[0]);
    }
    __device__ __forceinline__ int count() const { return length[0] + length[1]; }
};

__device__ __forceinline__ PairRow load_row(const Fine& fine, i64 pair) {
    PairRow row;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const INDEX v = fine.members[2 * pair + side];
        row.begin[side] = v < 0 ? 0 : (i64)fine.indptr[v];
        row.length[side] = v < 0 ? 0 : (int)(fine.indptr[v + 1] - fine.indptr[v]);
    }
    return row;
}

// An entry's key: four times the column's pair, plus 2 for its higher member, plus 1 for a row of the higher member.
// No two entries of a pair have the same. What is no edge between two pairs has the largest.
#define DROPPED 0xffffffffu

__device__ __forceinline__ u32 key_of(INDEX place, WEIGHT value, int side, i64 pair) {
    return place >> 1 == pair || rank_of(value) == 0 ? DROPPED : 2 * (u32)place + side;
}
__device__ __forceinline__ u32 column_of(u32 key) { return key >> 2; }

// The weight between two pairs: up to four entries, added so that it is the same seen from either.
struct Sum {
    WEIGHT both_low = 0, high_low = 0, low_high = 0, both_high = 0;

    __device__ __forceinline__ void take(u32 key, WEIGHT weight) {
        const int kind = key & 3;
        both_low = kind == 0 ? weight : both_low;
        high_low = kind == 1 ? weight : high_low;
        low_high = kind == 2 ? weight : low_high;
        both_high = kind == 3 ? weight : both_high;
    }
    __device__ __forceinline__ WEIGHT total() const {
        const WEIGHT largest = sizeof(WEIGHT) == 4 ? (WEIGHT)3.4028234663852886e38 : (WEIGHT)1.7976931348623157e308;
        const WEIGHT sum = plus(plus(both_low, both_high), plus(low_high, high_low));
        return rank_of(sum) < rank_of(largest) ? sum : largest;
    }
};

// What a block's threads share. A tile is the rows that a block merges at a time.
struct Tile {
    i64 begins[2][ROWS];
    int low_lengths[ROWS];
    int at[ROWS + 1];      // where each row's entries stand in the stage
    int counts[ROWS];      // entries of each coarse row
    int before[ROWS + 1];  // and of the rows before it in the tile
    i64 number, first_entry;
};

// Entries in shared memory: of all rows of a tile, or of one long row, packed with their places in it.
union Stage {
    struct {
        WEIGHT weights[CAPACITY];
        u32 keys[CAPACITY];
    } tile;
    u64 row[LONGEST_ROW];
};

// Brings a tile's entries into the stage, a few lanes to a row.
__device__ __forceinline__ void stage_tile(const Fine& fine, const Tile& tile, Stage& stage, i64 first, int rows) {
    for (int r = threadIdx.x / STAGING_LANES; r < rows; r += THREADS / STAGING_LANES) {
        const int at = tile.at[r], count = tile.at[r + 1] - at, low_length = tile.low_lengths[r];
        const PairRow row = {{tile.begins[0][r], tile.begins[1][r]}, {low_length, count - low_length}};
        for (int i = threadIdx.x % STAGING_LANES; i < count; i += STAGING_LANES * UNDER_WAY) {
            INDEX columns[UNDER_WAY];
            WEIGHT values[UNDER_WAY];
#pragma unroll
            for (int j = 0; j < UNDER_WAY; ++j) {
                const int k = i + j * STAGING_LANES;
                const i64 slot = row.slot(k < count ? k : i);
                columns[j] = fine.indices[slot];
                values[j] = fine.values[slot];
            }
#pragma unroll
            for (int j = 0; j < UNDER_WAY; ++j) {
                const int k = i + j * STAGING_LANES;
                if (k >= count) break;
                stage.tile.keys[at + k] = key_of(fine.places[columns[j]], values[j], k >= low_length, first + r);
                stage.tile.weights[at + k] = magnitude(values[j]);
            }
        }
    }
}

// Sorts the staged entries [begin, end) of a short row, adds up those of each column, and leaves columns and
// weights at `begin`; returns how many there are.
__device__ __forceinline__ int merge_short_row(Stage& stage, int begin, int end) {
    u32* const keys = stage.tile.keys;
    WEIGHT* const weights = stage.tile.weights;
    int sorted = begin;
    for (int i = begin; i < end; ++i) {
        const u32 key = keys[i];
        const WEIGHT weight = weights[i];
        if (key == DROPPED) continue;
        int place = sorted++;
        for (; place > begin && keys[place - 1] > key; --place) {
            keys[place] = keys[place - 1];
            weights[place] = weights[place - 1];
        }
        keys[place] = key;
        weights[place] = weight;
    }
    int merged = begin;
    for (int i = begin; i < sorted;) {
        const u32 column = column_of(keys[i]);
        Sum sum;
        for (; i < sorted && column_of(keys[i]) == column; ++i) sum.take(keys[i], weights[i]);
        keys[merged] = column;
        weights[merged++] = sum.total();
    }
    return merged - begin;
}

// Merges a long row by the whole block and leaves it in the room for long rows, in place of its entries;
// returns how many there are.
__device__ __forceinline__ int merge_long_row(const Fine& fine, const Coarse& coarse, u64* words, i64 pair) {
    __shared__ int heads;
    const PairRow row = load_row(fine, pair);
    const int t = threadIdx.x, count = row.count();
    int padded = 1;
    while (padded < count) padded *= 2;
    for (int i = t; i < padded; i += THREADS) {
        u32 key = DROPPED;
        if (i < count) {
            const i64 slot = row.slot(i);
            key = key_of(fine.places[fine.indices[slot]], fine.values[slot], i >= row.length[0], pair);
        }
        words[i] = (u64)key << 32 | i;
    }
    __syncthreads();
    sort_words(words, padded);
    int merged = 0;
    for (int base = 0; base < count; base += THREADS) {
        const int i = base + t;
        const u32 key = i < count ? words[i] >> 32 : DROPPED;
        const bool head = key != DROPPED && (i == 0 || column_of(words[i - 1] >> 32) != column_of(key));
        const int place = merged + block_exclusive_sum(head, &heads);
        if (head) {
            Sum sum;
            for (int j = i; j < count && column_of(words[j] >> 32) == column_of(key); ++j)
                sum.take(words[j] >> 32, magnitude(fine.values[row.slot((u32)words[j])]));
            coarse.long_indices[row.slot(place)] = column_of(key);
            coarse.long_values[row.slot(place)] = sum.total();
        }
        __syncthreads();
        merged += heads;
        __syncthreads();
    }
    return merged;
}

// Writes a tile's merged rows behind those of the tiles before it, a few lanes to a row.
__device__ __forceinline__ void write_tile(const Fine& fine, const Coarse& coarse, const Tile& tile, const Stage& stage,
                                           i64 first, int rows, bool staged) {
    for (int r = threadIdx.x / STAGING_LANES; r < rows; r += THREADS / STAGING_LANES) {
        const i64 out = tile.first_entry + tile.before[r];
        if (threadIdx.x % STAGING_LANES == 0) coarse.indptr[first + r] = out;
        PairRow row;
        if (!staged) row = load_row(fine, first + r);
        for (int i = threadIdx.x % STAGING_LANES; i < tile.counts[r]; i += STAGING_LANES) {
            coarse.indices[out + i] =
                staged ? (INDEX)stage.tile.keys[tile.at[r] + i] : coarse.long_indices[row.slot(i)];
            coarse.values[out + i] = staged ? stage.tile.weights[tile.at[r] + i] : coarse.long_values[row.slot(i)];
        }
    }
}

// What the whole graph came to: tiles taken, entries, entries of the longest row; zero at first.
enum Total { TAKEN, ENTRIES, LONGEST };

// The graph of the pairs: each pair gathers the entries of its two rows by column pair and adds up those that meet,
// columns ascending. Blocks take tiles of `rows_at_once` rows in turn. Where the tile fits into shared memory, each
// row is merged by a thread, otherwise one after the other by all.
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    merge_rows(Fine fine, Coarse coarse, int rows_at_once, u64* posts, u64* totals) {
    __shared__ Tile tile;
    __shared__ Stage stage;
    const int t = threadIdx.x;
    const i64 tiles = (fine.pairs + rows_at_once - 1) / rows_at_once;
    int longest = 0;
    while (true) {
        __syncthreads();
        if (t == 0) tile.number = atomicAdd(totals + TAKEN, 1ull);
        __syncthreads();
        const i64 number = tile.number, first = number * rows_at_once;
        if (number >= tiles) break;
        const int rows = (int)(fine.pairs - first < rows_at_once ? fine.pairs - first : rows_at_once);
        int length = 0;
        if (t < rows) {
            const PairRow row = load_row(fine, first + t);
            tile.begins[0][t] = row.begin[0];
            tile.begins[1][t] = row.begin[1];
            tile.low_lengths[t] = row.length[0];
            length = row.count();
        }
        const bool any_long = __syncthreads_or(length > SHORT_ROW);
        const int at = block_exclusive_sum(length, tile.at + rows);
        if (t < rows) tile.at[t] = at;
        __syncthreads();
        const bool staged = !any_long && tile.at[rows] <= CAPACITY;
        if (staged) {
            stage_tile(fine, tile, stage, first, rows);
            __syncthreads();
            if (t < rows) tile.counts[t] = merge_short_row(stage, at, at + length);
        } else {
            for (int r = 0; r < rows; ++r) {
                const int count = merge_long_row(fine, coarse, stage.row, first + r);
                if (t == 0) tile.counts[r] = count;
            }
        }
        __syncthreads();
        const int count = t < rows ? tile.counts[t] : 0;
        longest = max(longest, count);
        const int before = block_exclusive_sum(count, tile.before + rows);
        if (t < rows) tile.before[t] = before;
        __syncthreads();
        if (t < 32) {
            const u64 own = tile.before[rows], entries = entries_before(posts, number, own);
            if (t == 0) tile.first_entry = entries;
            if (t == 0 && number == tiles - 1) coarse.indptr[fine.pairs] = totals[ENTRIES] = entries + own;
        }
        __syncthreads();
        write_tile(fine, coarse, tile, stage, first, rows, staged);
    }
    for (int half = 16; half > 0; half /= 2) longest = max(longest, __shfl_xor_sync(FULL_WARP, longest, half));
    if (t % 32 == 0) atomicMax(totals + LONGEST, (u64)longest);
}

// The pair and the key of every entry in one word, for graphs with rows too long for a block.
extern "C" __global__ void pack_keys(const INDEX* __restrict__ row_of, const INDEX* __restrict__ indices,
                                     const WEIGHT* __restrict__ values, i64 entries, const INDEX* __restrict__ places,
                                     u64* __restrict__ words) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const INDEX place = places[row_of[i]];
        const u32 key = key_of(places[indices[i]], values[i], place & 1, place >> 1);
        words[i] = key == DROPPED ? ~0ull : (u64)(place >> 1) << 32 | key;
    }
}

// Adds up the entries of each column of each coarse row: the sorted words from one head on that share pair and column.
extern "C" __global__ void merge_sorted(const u64* __restrict__ words, const i64* __restrict__ order,
                                        const WEIGHT* __restrict__ values, i64 entries, const i64* __restrict__ heads,
                                        i64 merged, INDEX* __restrict__ indices, WEIGHT* __restrict__ weights) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < merged; i += (i64)gridDim.x * blockDim.x) {
        const u64 head = words[heads[i]];
        Sum sum;
        for (i64 j = heads[i]; j < entries && words[j] >> 2 == head >> 2; ++j)
            sum.take((u32)words[j], magnitude(values[order[j]]));
        indices[i] = column_of((u32)head);
        weights[i] = sum.total();
    }
}
