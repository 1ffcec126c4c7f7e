#include "runtime/common.cuh"
#include "matrix/entry_tiles.cuh"
#include "matrix/pattern_digest.cuh"
#include "forest/refresh_pass.cuh"

// The two edges of a vertex, for one vectorized load.
struct alignas(2 * sizeof(INDEX)) EdgeSlots {
    INDEX at[2];
};

// The bands along a forest of vertices.
struct Paths {
    const EdgeSlots* __restrict__ slots;  // of the edges in the matrix, -1 for none
    const INDEX* __restrict__ rank;       // the row of the bands that a vertex is
    VALUE* __restrict__ lower;
    VALUE* __restrict__ diagonal;
    VALUE* __restrict__ upper;

    struct Task {
        INDEX begin, end, place;
        EdgeSlots slots;
    };

    __device__ __forceinline__ Task load(const INDEX* __restrict__ indptr, i64 row) const {
        return {indptr[row], indptr[row + 1], rank[row], slots[row]};
    }

    // A vertex is before another one where its row in the bands is.
    __device__ __forceinline__ void copy(const Chunk& chunk, INDEX row, const Task& task, const PartOfRow& part,
                                         int place_of_diagonal) const {
        VALUE to_before = VALUE{}, to_after = VALUE{};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const INDEX slot = task.slots.at[i];
            if (slot < 0) continue;
            const INDEX neighbor = chunk.column(slot);
            const bool is_before = !is_outside(neighbor, chunk.rows) && rank[neighbor] < task.place;
            (is_before ? to_before : to_after) = chunk.value(slot);
        }
        lower[task.place] = to_before;
        diagonal[task.place] = chunk.diagonal(row, place_of_diagonal, task.end);
        upper[task.place] = to_after;
    }

    __device__ __forceinline__ void copy_empty(INDEX row) const {
        const INDEX place = rank[row];
        lower[place] = diagonal[place] = upper[place] = VALUE{};
    }
};

extern "C" __global__ void begin_refresh(const INDEX* __restrict__ indptr, i64 rows, i64 entries, Paths paths,
                                         INDEX* __restrict__ chunk_row, u64* report) {
    begin_pass(indptr, rows, entries, paths, chunk_row, report);
}

extern "C" __global__ void __launch_bounds__(LANES, REFRESH_BLOCKS)
    refresh_bands(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                  i64 rows, i64 entries, Paths paths, const INDEX* __restrict__ chunk_row,
                  double* __restrict__ chunk_sums, u64* report) {
    pass(indptr, indices, data, rows, entries, paths, chunk_row, chunk_sums, report);
}
