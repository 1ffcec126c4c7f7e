#include "matrix/entry_tiles.cuh"

// Finds the first row of each chunk of entries, and checks the row pointers and the columns.
KERNEL chunk_rows_of_pattern(In<INDEX> indptr, In<INDEX> indices, i64 rows, i64 entries, INDEX* __restrict__ chunk_row,
                             int* __restrict__ lengths, u64* report) {
    find_chunk_rows(indptr, rows, entries, chunk_row, lengths, report);
    check_columns(indptr, indices, rows, entries, report);
}

// Two hashes of a vertex.
DEVICE u32 first_hash(u32 vertex) { return mix32(vertex); }
DEVICE u32 second_hash(u32 vertex) { return mix32(vertex ^ 0x5851F42Du); }

// Scans the part of a row that lies in a chunk. An entry in row i and column j adds first(i) * second(j) -
// second(i) * first(j) to `symmetry`: mirror images cancel, and the diagonal adds 0. The pattern is symmetric if all
// cancel.
struct RowScan {
    const INDEX* columns;
    int* __restrict__ degrees;
    u64& symmetry;

    template <int WIDTH>
    DEVICE void operator()(Lanes<WIDTH>, const RowPart& part) const {
        u64 first_sum = 0, second_sum = 0;
#pragma unroll 2
        for (int i = part.begin + threadIdx.x % WIDTH; i < part.end; i += WIDTH) {
            const INDEX column = columns[i];
            first_sum += first_hash((u32)column);
            second_sum += second_hash((u32)column);
            if (column == part.row) atomicSub(degrees + part.row, 1);
        }
        symmetry += first_hash((u32)part.row) * second_sum - second_hash((u32)part.row) * first_sum;
    }
};

// One pass over valid indices: symmetric? `degrees` are the rows' lengths at first, and lose the diagonal. A block stages a chunk of columns at a time in shared memory, then scans the rows.
KERNEL __launch_bounds__(LANES, 6) scan_pattern(In<INDEX> indptr, In<INDEX> indices, i64 rows, i64 entries,
                                                In<INDEX> chunk_row, int* __restrict__ degrees, u64* report) {
    __shared__ INDEX columns[CHUNK];
    if (!is_valid(report)) return;
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    u64 symmetry = 0;
    for (i64 number = blockIdx.x; number < chunks; number += gridDim.x) {
        const i64 base = number * CHUNK;
        const int count = (int)min(entries - base, (i64)CHUNK);
        const INDEX first_row = chunk_row[number];
        const INDEX last_row = number + 1 < chunks ? chunk_row[number + 1] : (INDEX)(rows - 1);
        INDEX own[CHUNK / LANES];
#pragma unroll
        for (int j = 0; j < CHUNK / LANES; ++j) {
            const int i = threadIdx.x + j * LANES;
            own[j] = indices[base + (i < count ? i : 0)];
        }
#pragma unroll
        for (int j = 0; j < CHUNK / LANES; ++j) columns[threadIdx.x + j * LANES] = own[j];
        __syncthreads();
        for_each_part(indptr, first_row, last_row, base, count, RowScan{columns, degrees, symmetry});
        __syncthreads();
    }
    symmetry = warp_sum(symmetry);
    if (threadIdx.x % 32 == 0 && symmetry) atomicAdd(report + SYMMETRY, symmetry);
}
