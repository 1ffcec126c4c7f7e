#include "runtime/common.cuh"
#include "matrix/entry_tiles.cuh"
#include "matrix/pattern_digest.cuh"
#include "forest/refresh_pass.cuh"

// The two edges of a vertex, for one vectorized load.
struct alignas(2 * sizeof(INDEX)) EdgeSlots {
    INDEX at[2];
};

// The entries of a row to the vertex before it on its path, to itself, and to the vertex after it.
typedef Record<3> BandRow;

// A forest of vertices, and the records of its bands.
struct Paths {
    const EdgeSlots* __restrict__ slots;  // of the edges in the matrix, -1 for none
    const INDEX* __restrict__ rank;       // the row of the bands that a vertex is
    uint4* __restrict__ records;

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
        BandRow found = {};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const INDEX slot = task.slots.at[i];
            if (slot < 0) continue;
            const INDEX neighbor = chunk.column(slot);
            const bool is_before = !is_outside(neighbor, chunk.rows) && rank[neighbor] < task.place;
            (is_before ? found.at[0] : found.at[2]) = chunk.value(slot);
        }
        found.at[1] = chunk.diagonal(row, place_of_diagonal, task.end);
        found.store(records, row);
    }

    __device__ __forceinline__ void copy_empty(INDEX row) const { BandRow{}.store(records, row); }
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

// The bands in the order of the paths.
extern "C" __global__ void gather_bands(const INDEX* __restrict__ order, const uint4* __restrict__ records, i64 rows,
                                        VALUE* __restrict__ lower, VALUE* __restrict__ diagonal,
                                        VALUE* __restrict__ upper) {
    for (i64 place = (i64)blockIdx.x * blockDim.x + threadIdx.x; place < rows; place += (i64)gridDim.x * blockDim.x) {
        const BandRow row = BandRow::load(records, order[place]);
        lower[place] = row.at[0];
        diagonal[place] = row.at[1];
        upper[place] = row.at[2];
    }
}
