#include "runtime/common.cuh"
#include "matrix/row_merging.cuh"

// Coarse rows of a tile at most, and what fits into shared memory: members of groups, and their entries.
#define ROWS 128
#define MEMBERS 512
#define CAPACITY (sizeof(VALUE) > 8 ? 1280 : 2560)
// Entries of a row that a team of lanes merges, and entries that each lane has under way.
#define SHORT_ROW 128
#define TEAM 8
#define UNDER_WAY 3
// Entries of a row that a block can sort; a power of two.
#define LONGEST_ROW 4096

__device__ __forceinline__ double times(double a, double b) { return a * b; }
__device__ __forceinline__ float times(float a, float b) {
    float product;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
template <typename COMPLEX>
__device__ __forceinline__ COMPLEX times(COMPLEX a, COMPLEX b) {
    return {plus(times(a.re, b.re), -times(a.im, b.im)), plus(times(a.re, b.im), times(a.im, b.re))};
}

// The matrix whose rows are merged, and new numbers of its columns, null where they keep theirs.
struct Fine {
    const INDEX* __restrict__ indptr;
    const INDEX* __restrict__ indices;
    const VALUE* __restrict__ data;
    const INDEX* __restrict__ numbers;

    __device__ __forceinline__ u32 number(INDEX column) const { return (u32)(numbers ? numbers[column] : column); }
};

// Which rows become one: where the members of each group begin, the members, what their rows are multiplied with, null for
// ones, and how many entries the members before each one have.
struct Groups {
    const INDEX* __restrict__ begins;
    const INDEX* __restrict__ members;
    const VALUE* __restrict__ weights;
    const INDEX* __restrict__ starts;
    i64 count;

    __device__ __forceinline__ i64 first_entry(i64 row) const { return starts[begins[row]]; }
    __device__ __forceinline__ VALUE weighted(i64 member, VALUE value) const {
        return weights ? times(weights[member], value) : value;
    }
};

struct Coarse {
    INDEX* __restrict__ indptr;
    INDEX* __restrict__ indices;
    VALUE* __restrict__ data;
};

// Where merged rows wait that do not fit into shared memory, each where its entries start (null where all fit). The
// longest rows are merged before; they are listed with their counts.
struct Room {
    INDEX* indices;
    VALUE* data;
    const INDEX* __restrict__ longest_rows;
    const INDEX* __restrict__ longest_counts;
    i64 longest;
};

// What decides how rows are merged; zero at first.
enum Sizes { TERMS, LONGEST, LARGEST };

__device__ __forceinline__ u64 warp_most(u64 value) {
    for (int half = 16; half > 0; half /= 2) value = max(value, __shfl_xor_sync(FULL_WARP, value, half));
    return value;
}

// How many entries each member has, shifted by one place, and how many all have: sums over them, if these do not overflow,
// then say where those of each start.
extern "C" __global__ void count_entries(const INDEX* __restrict__ indptr, const INDEX* __restrict__ members, i64 count,
                                         INDEX* __restrict__ lengths, u64* sizes) {
    u64 terms = 0;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const INDEX length = indptr[members[i] + 1] - indptr[members[i]];
        lengths[i + 1] = length;
        terms += length;
    }
    terms = warp_sum(terms);
    if (threadIdx.x % 32 == 0 && terms) atomicAdd(sizes + TERMS, terms);
}

// The most entries and the most members that a coarse row is made of.
extern "C" __global__ void measure_groups(Groups groups, u64* sizes) {
    u64 longest = 0, largest = 0;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < groups.count; row += (i64)gridDim.x * blockDim.x) {
        const INDEX begin = groups.begins[row], end = groups.begins[row + 1];
        largest = max(largest, (u64)(end - begin));
        longest = max(longest, (u64)(groups.starts[end] - groups.starts[begin]));
    }
    longest = warp_most(longest);
    largest = warp_most(largest);
    if (threadIdx.x % 32) return;
    atomicMax(sizes + LONGEST, longest);
    atomicMax(sizes + LARGEST, largest);
}

// The member that the i-th entry of a coarse row comes from, and where it is stored.
struct Source {
    i64 member, slot;
};

__device__ __forceinline__ Source source_of(const Fine& fine, const Groups& groups, i64 row, i64 i) {
    const i64 begin = groups.begins[row], end = groups.begins[row + 1];
    const i64 entry = groups.starts[begin] + i;
    const i64 member = lower_bound(groups.starts, begin, end, (INDEX)(entry + 1)) - 1;
    return {member, fine.indptr[groups.members[member]] + (entry - groups.starts[member])};
}

__device__ __forceinline__ VALUE value_of(const Fine& fine, const Groups& groups, i64 row, i64 i) {
    const Source source = source_of(fine, groups, row, i);
    return groups.weighted(source.member, fine.data[source.slot]);
}

// What a block's threads share. A tile is the rows that a block takes at a time, a chunk those of them that are in
// shared memory.
struct Tile {
    i64 number, first_entry;
    i64 members[ROWS + 1], entries[ROWS + 1];  // how many come before each row
    int counts[ROWS];                          // entries of each coarse row
    int before[ROWS + 1];                      // and of the rows before it in the tile
    int chunk_end;
};

// A chunk's entries, their columns with new numbers; each that is the first in its column gets a place in its row.
struct Chunk {
    VALUE values[CAPACITY];
    u32 columns[CAPACITY];
    u8 places[CAPACITY];
    INDEX shifts[MEMBERS];    // from where a member's entries stand here to where they are stored
    int starts[MEMBERS + 1];  // where a member's entries stand here
};

union Stage {
    Chunk chunk;
    u64 row[LONGEST_ROW];  // the entries of one long row: column and number
};

// The column of an entry that was added to another one; none has this number.
#define DROPPED 0xffffffffu

// Brings the entries of the rows [first, end) of a tile into shared memory, a team of lanes to a row.
__device__ __forceinline__ void stage_chunk(const Fine& fine, const Groups& groups, const Tile& tile, Chunk& chunk,
                                            int first, int end) {
    const i64 first_member = tile.members[first], first_entry = tile.entries[first];
    const int members = (int)(tile.members[end] - first_member);
    for (int m = threadIdx.x; m < members; m += THREADS) {
        const int start = (int)(groups.starts[first_member + m] - first_entry);
        chunk.starts[m] = start;
        chunk.shifts[m] = fine.indptr[groups.members[first_member + m]] - start;
    }
    if (threadIdx.x == 0) chunk.starts[members] = (int)(tile.entries[end] - first_entry);
    __syncthreads();
    for (int r = first + threadIdx.x / TEAM; r < end; r += THREADS / TEAM) {
        const int row_end = (int)(tile.entries[r + 1] - first_entry);
        int m = (int)(tile.members[r] - first_member);
        for (int i = (int)(tile.entries[r] - first_entry) + threadIdx.x % TEAM; i < row_end; i += TEAM * UNDER_WAY) {
            INDEX columns[UNDER_WAY];
            VALUE values[UNDER_WAY];
#pragma unroll
            for (int j = 0; j < UNDER_WAY; ++j) {
                if (i + j * TEAM >= row_end) break;
                while (chunk.starts[m + 1] <= i + j * TEAM) ++m;
                const i64 slot = (i64)chunk.shifts[m] + (i + j * TEAM);
                columns[j] = fine.indices[slot];
                values[j] = groups.weighted(first_member + m, fine.data[slot]);
            }
#pragma unroll
            for (int j = 0; j < UNDER_WAY; ++j) {
                if (i + j * TEAM >= row_end) break;
                chunk.columns[i + j * TEAM] = fine.number(columns[j]);
                chunk.values[i + j * TEAM] = values[j];
            }
        }
    }
}

// Adds up the entries [begin, begin + length) of a short row by column, by a team of lanes; all teams of a warp must
// call it. The first entry of a column takes all after it, in order, and its place is the number of lower columns; the
// others are dropped. Returns, to every lane, how many are left.
__device__ __forceinline__ int merge_short_row(Chunk& chunk, int begin, int length) {
    const int lane = threadIdx.x % TEAM;
    u32* const columns = chunk.columns + begin;
    VALUE* const values = chunk.values + begin;
    u32 first = 0;  // which of the lane's entries are the first in their columns
    for (int i = lane, own = 0; i < length; i += TEAM, ++own) {
        const u32 column = columns[i];
        int j = 0;
        while (columns[j] != column) ++j;
        if (j < i) continue;
        VALUE sum = values[i];
        for (++j; j < length; ++j)
            if (columns[j] == column) sum = plus(sum, values[j]);
        values[i] = sum;  // which no other lane looks at
        first |= 1u << own;
    }
    __syncwarp();
    for (int i = lane, own = 0; i < length; i += TEAM, ++own)
        if (!(first >> own & 1)) columns[i] = DROPPED;
    __syncwarp();
    for (int i = lane, own = 0; i < length; i += TEAM, ++own) {
        if (!(first >> own & 1)) continue;
        const u32 column = columns[i];
        int lower = 0;
        for (int j = 0; j < length; ++j) lower += columns[j] < column;
        chunk.places[begin + i] = lower;
    }
    int count = __popc(first);
    for (int half = TEAM / 2; half > 0; half /= 2) count += __shfl_xor_sync(FULL_WARP, count, half);
    return count;
}

__device__ __forceinline__ void merge_chunk(Tile& tile, Chunk& chunk, int first, int end) {
    for (int base = first; base < end; base += THREADS / TEAM) {
        const int r = min(base + (int)threadIdx.x / TEAM, end);
        const int begin = (int)(tile.entries[r] - tile.entries[first]);
        const int length = r < end ? (int)(tile.entries[r + 1] - tile.entries[r]) : 0;
        const int count = merge_short_row(chunk, begin, length);
        if (r < end && threadIdx.x % TEAM == 0) tile.counts[r] = count;
    }
}

// Writes the merged rows of a chunk, a team of lanes to a row; row r begins at `begin(r)`.
template <typename Begin>
__device__ __forceinline__ void write_chunk(const Tile& tile, const Chunk& chunk, int first, int end, Begin begin,
                                            INDEX* indices, VALUE* data) {
    for (int r = first + threadIdx.x / TEAM; r < end; r += THREADS / TEAM) {
        const i64 out = begin(r);
        const int row_end = (int)(tile.entries[r + 1] - tile.entries[first]);
        for (int i = (int)(tile.entries[r] - tile.entries[first]) + threadIdx.x % TEAM; i < row_end; i += TEAM) {
            if (chunk.columns[i] == DROPPED) continue;
            indices[out + chunk.places[i]] = (INDEX)chunk.columns[i];
            data[out + chunk.places[i]] = chunk.values[i];
        }
    }
}

// Merges a long row by the whole block and leaves it in the room; returns how many entries it has.
__device__ __forceinline__ int merge_long_row(const Fine& fine, const Groups& groups, const Room& room, u64* words,
                                              i64 row, i64 first_entry, int length) {
    __shared__ int heads;
    const int t = threadIdx.x;
    int padded = 1;
    while (padded < length) padded *= 2;
    for (int i = t; i < padded; i += THREADS) {
        const u32 column = i < length ? fine.number(fine.indices[source_of(fine, groups, row, i).slot]) : DROPPED;
        words[i] = (u64)column << 32 | i;
    }
    __syncthreads();
    sort_words(words, padded);
    int merged = 0;
    for (int base = 0; base < length; base += THREADS) {
        const int i = base + t;
        const u32 column = i < length ? words[i] >> 32 : DROPPED;
        const bool head = i < length && (i == 0 || words[i - 1] >> 32 != column);
        const i64 place = first_entry + merged + block_exclusive_sum(head, &heads);
        if (head) {
            VALUE sum = value_of(fine, groups, row, (u32)words[i]);
            for (int j = i + 1; j < length && words[j] >> 32 == column; ++j)
                sum = plus(sum, value_of(fine, groups, row, (u32)words[j]));
            room.indices[place] = (INDEX)column;
            room.data[place] = sum;
        }
        __syncthreads();
        merged += heads;
        __syncthreads();
    }
    return merged;
}

// Merges the rows of a tile: as many short ones at a time as fit into shared memory, long ones each by the whole block.
// Returns whether all are in shared memory now; otherwise they are in the room.
__device__ __forceinline__ bool merge_tile(const Fine& fine, const Groups& groups, const Room& room, Tile& tile,
                                           Stage& stage, i64 first_row, int rows) {
    const int t = threadIdx.x;
    for (int first = 0; first < rows;) {
        if (t == 0) tile.chunk_end = rows;
        __syncthreads();
        if (t >= first && t < rows &&
            (tile.entries[t + 1] - tile.entries[t] > SHORT_ROW ||
             tile.entries[t + 1] - tile.entries[first] > CAPACITY ||
             tile.members[t + 1] - tile.members[first] > MEMBERS))
            atomicMin(&tile.chunk_end, t);
        __syncthreads();
        const int end = tile.chunk_end;
        if (end > first) {
            stage_chunk(fine, groups, tile, stage.chunk, first, end);
            __syncthreads();
            merge_chunk(tile, stage.chunk, first, end);
            __syncthreads();
            if (first == 0 && end == rows) return true;
            const auto own_place = [&](int r) { return tile.entries[r]; };
            write_chunk(tile, stage.chunk, first, end, own_place, room.indices, room.data);
            first = end;
        } else {
            const i64 row = first_row + first, length = tile.entries[first + 1] - tile.entries[first];
            const int count =
                length > LONGEST_ROW
                    ? (int)room.longest_counts[lower_bound(room.longest_rows, 0, room.longest, (INDEX)row)]
                    : merge_long_row(fine, groups, room, stage.row, row, tile.entries[first], (int)length);
            if (t == 0) tile.counts[first] = count;
            ++first;
        }
        __syncthreads();
    }
    return false;
}

// What all tiles came to: tiles taken, entries; zero at first.
enum Total { TAKEN, ENTRIES };

// Merges the rows of each group's members: entries of a column add up in the order of the members, columns ascend. Blocks
// take tiles of `rows_at_once` rows in turn.
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    merge_coarse_rows(Fine fine, Groups groups, Coarse coarse, Room room, int rows_at_once, u64* posts, u64* totals) {
    __shared__ Tile tile;
    __shared__ Stage stage;
    const int t = threadIdx.x;
    const i64 tiles = (groups.count + rows_at_once - 1) / rows_at_once;
    while (true) {
        __syncthreads();
        if (t == 0) tile.number = atomicAdd(totals + TAKEN, 1ull);
        __syncthreads();
        const i64 number = tile.number, first_row = number * rows_at_once;
        if (number >= tiles) break;
        const int rows = (int)min(groups.count - first_row, (i64)rows_at_once);
        if (t <= rows) {
            tile.members[t] = groups.begins[first_row + t];
            tile.entries[t] = groups.starts[tile.members[t]];
        }
        __syncthreads();
        const bool staged = merge_tile(fine, groups, room, tile, stage, first_row, rows);
        const int before = block_exclusive_sum(t < rows ? tile.counts[t] : 0, tile.before + rows);
        if (t < rows) tile.before[t] = before;
        __syncthreads();
        if (t < 32) {
            const u64 own = tile.before[rows], entries = entries_before(posts, number, own);
            if (t == 0) tile.first_entry = entries;
            if (t == 0 && number == tiles - 1) coarse.indptr[groups.count] = totals[ENTRIES] = entries + own;
        }
        __syncthreads();
        if (t < rows) coarse.indptr[first_row + t] = tile.first_entry + tile.before[t];
        const auto place = [&](int r) { return tile.first_entry + tile.before[r]; };
        if (staged) {
            write_chunk(tile, stage.chunk, 0, rows, place, coarse.indices, coarse.data);
            continue;
        }
        for (int r = 0; r < rows; ++r)
            for (int i = t; i < tile.counts[r]; i += THREADS) {
                coarse.indices[place(r) + i] = room.indices[tile.entries[r] + i];
                coarse.data[place(r) + i] = room.data[tile.entries[r] + i];
            }
    }
}

// The longest rows' entries, too many for a block: the number of the row and the column in one word, and the value.
// `offsets` says where the words of each row begin.
extern "C" __global__ void pack_words(Fine fine, Groups groups, const INDEX* __restrict__ rows,
                                      const i64* __restrict__ offsets, i64 count, u64* __restrict__ words,
                                      VALUE* __restrict__ values) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < offsets[count]; i += (i64)gridDim.x * blockDim.x) {
        const i64 number = lower_bound(offsets, 0, count, i + 1) - 1;
        const Source source = source_of(fine, groups, rows[number], i - offsets[number]);
        words[i] = (u64)number << 32 | fine.number(fine.indices[source.slot]);
        values[i] = groups.weighted(source.member, fine.data[source.slot]);
    }
}

// Adds up the sorted entries of each column of the longest rows, a warp to a column, and leaves the rows in the room.
// `heads` says where the columns begin, `firsts` which of them is the first of each row.
extern "C" __global__ void merge_longest_rows(Groups groups, Room room, const u64* __restrict__ words,
                                              const VALUE* __restrict__ values, i64 entries,
                                              const i64* __restrict__ heads, i64 merged,
                                              const i64* __restrict__ firsts) {
    const int lane = threadIdx.x % 32;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < merged; i += warps) {
        const i64 begin = heads[i], end = i + 1 < merged ? heads[i + 1] : entries;
        VALUE sum = values[begin];
        for (i64 base = begin + 1; base < end; base += 32) {
            const VALUE own = base + lane < end ? values[base + lane] : VALUE{};
            const int count = (int)min(end - base, (i64)32);
            for (int j = 0; j < count; ++j) sum = plus(sum, from_lane(own, j));
        }
        if (lane == 0) {
            const i64 number = words[begin] >> 32;
            const i64 place = groups.first_entry(room.longest_rows[number]) + (i - firsts[number]);
            room.indices[place] = (INDEX)(u32)words[begin];
            room.data[place] = sum;
        }
    }
}
