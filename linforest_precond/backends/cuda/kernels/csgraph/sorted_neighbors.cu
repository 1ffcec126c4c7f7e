#include "csgraph/sorted_neighbors.cuh"

// A diagonal entry is sorted behind all neighbours.
#define LAST_RANK 0x7fffffff

DEVICE int rank_in_row(In<int> ranks, int row, int column) { return column == row ? LAST_RANK : ranks[column]; }

// The offset and length of each row of neighbours. With degrees the length is the degree, which leaves out the diagonal
// entry at the row's end; without, all stored entries.
KERNEL find_spans(In<INDEX> indptr, In<int> degrees, int n, Span* spans) {
    GRID_STRIDE (int, v, n) spans[v] = {indptr[v], degrees ? (INDEX)degrees[v] : indptr[v + 1] - indptr[v]};
}

// Rank sort, WIDTH lanes per row: a neighbour's place is the number of neighbours of lower rank.
KERNEL sort_short_rows(In<INDEX> indptr, In<int> indices, In<int> degrees, In<int> ranks, int n,
                       u32* __restrict__ neighbours) {
    const int lane = threadIdx.x % WIDTH, groups = blockDim.x / WIDTH;
    for (int base = blockIdx.x * groups; base < n; base += gridDim.x * groups) {
        const int row = base + threadIdx.x / WIDTH;
        const i64 begin = row < n ? (i64)indptr[row] : 0, end = row < n ? (i64)indptr[row + 1] : 0;
        const bool fits = end - begin <= WIDTH;
        const int column = fits && begin + lane < end ? indices[begin + lane] : -1;
        const int rank = column < 0 ? LAST_RANK : rank_in_row(ranks, row, column);
        int below = 0;
#pragma unroll
        for (int other = 0; other < WIDTH; ++other) below += __shfl_sync(FULL_WARP, rank, other, WIDTH) < rank;
        if (column >= 0) neighbours[begin + below] = column == row ? EMPTY : with_flags(column, degrees[column]);
        if (fits) continue;
        for (i64 place = begin + lane; place < end; place += WIDTH) {
            const int own = indices[place], own_rank = rank_in_row(ranks, row, own);
            i64 target = begin;
            for (i64 other = begin; other < end; ++other) target += rank_in_row(ranks, row, indices[other]) < own_rank;
            neighbours[target] = own == row ? EMPTY : with_flags(own, degrees[own]);
        }
    }
}

// Keys for one sort of all rows: the row in the upper half, the neighbour's rank in the lower.
KERNEL make_keys(In<INDEX> rows, In<int> indices, In<int> ranks, i64 nnz, u64* __restrict__ keys) {
    GRID_STRIDE (i64, place, nnz)
        keys[place] = (u64)rows[place] << 32 | (u32)rank_in_row(ranks, (int)rows[place], indices[place]);
}

// Neighbour words from the sorted keys.
KERNEL from_keys(In<u64> keys, In<int> by_rank, In<int> degrees, i64 nnz, u32* __restrict__ neighbours) {
    GRID_STRIDE (i64, place, nnz) {
        const u32 rank = (u32)keys[place];
        const int vertex = rank == LAST_RANK ? -1 : by_rank[rank];
        neighbours[place] = vertex < 0 ? EMPTY : with_flags(vertex, degrees[vertex]);
    }
}
