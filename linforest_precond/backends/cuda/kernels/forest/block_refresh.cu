#include "runtime/common.cuh"
#include "matrix/entry_tiles.cuh"
#include "matrix/pattern_digest.cuh"
#include "forest/refresh_pass.cuh"

#define SIZE (1 << BITS)
// Rows with more entries are searched for those of the bands, instead of being read from end to end.
#define LONG_ROW 32

// The bands along a forest of blocks of SIZE vertices. A place is that of a vertex in `members`, which hold -1 for a ghost.
struct BlockPaths {
    const INDEX* __restrict__ places;   // of each vertex; the complement where its block is the first of a path
    const INDEX* __restrict__ members;  // the vertices, block after block
    i64 blocks;
    VALUE* __restrict__ lower;
    VALUE* __restrict__ diagonal;
    VALUE* __restrict__ upper;

    struct Task {
        INDEX begin, end, place;
    };

    // A row of the three bands, side by side.
    struct BandRow {
        VALUE at[3 * SIZE];
    };

    __device__ __forceinline__ Task load(const INDEX* __restrict__ indptr, i64 row) const {
        return {indptr[row], indptr[row + 1], places[row]};
    }

    // The position in the row of a vertex at `own` of an entry in the column of a vertex at `other`; outside of the row
    // where the block of the latter is not a neighbour on the path.
    __device__ __forceinline__ int position(INDEX own, INDEX other) const {
        const INDEX place = own < 0 ? ~own : own, other_place = other < 0 ? ~other : other;
        const i64 step = ((i64)other_place >> BITS) - ((i64)place >> BITS);
        const bool apart = step == -1 ? own < 0 : step == 1 ? other < 0 : step != 0;
        return apart ? -1 : (int)((step + 1) * SIZE + (other_place & (SIZE - 1)));
    }

    __device__ __forceinline__ void take(BandRow& row, INDEX own, INDEX column, VALUE value, i64 rows) const {
        if (is_outside(column, rows)) return;
        const int at = position(own, places[column]);
#pragma unroll
        for (int k = 0; k < 3 * SIZE; ++k)
            if (k == at) row.at[k] = value;
    }

    // Binary search for the columns of the row's own block and its neighbours.
    __device__ __forceinline__ void search(BandRow& row, const Chunk& chunk, const Task& task) const {
        const i64 block = (i64)(task.place < 0 ? ~task.place : task.place) >> BITS;
        const i64 begin = max((i64)task.begin, 0ll), end = min((i64)task.end, chunk.entries);
        for (int k = 0; k < 3 * SIZE; ++k) {
            const i64 place = (block - 1) * SIZE + k;
            if (place < 0 || place >= blocks * SIZE || members[place] < 0) continue;
            const i64 slot = find_column(chunk.indices, begin, end, members[place]);
            if (slot >= 0) take(row, task.place, members[place], chunk.data[slot], chunk.rows);
        }
    }

    // The ghosts of a block are decoupled; their diagonal entry is that of the block's first vertex, 1 where that is 0.
    __device__ __forceinline__ void copy_ghosts(i64 block, VALUE own) const {
        VALUE unit = own;
        if (rank_of(magnitude(own)) == 0) *(WEIGHT*)&unit = 1;
        for (int r = 1; r < SIZE; ++r) {
            if (members[block * SIZE + r] >= 0) continue;
            for (int c = 0; c < SIZE; ++c) {
                const i64 at = (block * SIZE + r) * SIZE + c;
                lower[at] = upper[at] = VALUE{};
                diagonal[at] = r == c ? unit : VALUE{};
            }
        }
    }

    __device__ __forceinline__ void write(const BandRow& row, INDEX code) const {
        const i64 place = code < 0 ? ~code : code;
        VALUE own = VALUE{};
#pragma unroll
        for (int c = 0; c < SIZE; ++c) {
            lower[place * SIZE + c] = row.at[c];
            diagonal[place * SIZE + c] = row.at[SIZE + c];
            upper[place * SIZE + c] = row.at[2 * SIZE + c];
            if (c == (place & (SIZE - 1))) own = row.at[SIZE + c];
        }
        if (place % SIZE == 0) copy_ghosts(place / SIZE, own);
    }

    __device__ __forceinline__ void copy(const Chunk& chunk, INDEX row, const Task& task, const PartOfRow& part,
                                         int place_of_diagonal) const {
        BandRow found = {};
        if (task.end - chunk.base > chunk.count || part.end - part.begin > LONG_ROW) search(found, chunk, task);
        else
            for (int i = part.begin; i < part.end; ++i)
                take(found, task.place, chunk.columns[i], chunk.values[i], chunk.rows);
        write(found, task.place);
    }

    __device__ __forceinline__ void copy_empty(INDEX row) const { write({}, places[row]); }
};

extern "C" __global__ void begin_block_refresh(const INDEX* __restrict__ indptr, i64 rows, i64 entries,
                                               BlockPaths paths, INDEX* __restrict__ chunk_row, u64* report) {
    begin_pass(indptr, rows, entries, paths, chunk_row, report);
}

extern "C" __global__ void __launch_bounds__(LANES, REFRESH_BLOCKS)
    refresh_blocks(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                   i64 rows, i64 entries, BlockPaths paths, const INDEX* __restrict__ chunk_row,
                   double* __restrict__ chunk_sums, u64* report) {
    pass(indptr, indices, data, rows, entries, paths, chunk_row, chunk_sums, report);
}
