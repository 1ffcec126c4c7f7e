#include "matrix/long_row_split.cuh"

// Lists the rows of more than `longest_whole` entries and their pieces; `counts` are zero at first. A thread reserves
// places for its row, then the warp writes the owners of the row's pieces.
KERNEL list_pieces(In<INDEX> indptr, i64 n, i64 longest_whole, LongRows found) {
    BLOCK_STRIDE (i64, base, n) {
        const i64 row = base + threadIdx.x, length = row < n ? (i64)indptr[row + 1] - indptr[row] : 0;
        const u32 pieces = length > longest_whole ? pieces_in(length) : 0;
        u32 place = 0, first = 0;
        if (pieces) {
            place = atomicAdd(found.counts, 1u);
            first = atomicAdd(found.counts + 1, pieces);
            found.rows[place] = (int)row;
            found.first[place] = first;
        }
        for (u32 left = __ballot_sync(FULL_WARP, pieces > 0); left; left &= left - 1) {
            const int lane = __ffs(left) - 1;
            const u32 owner = __shfl_sync(FULL_WARP, place, lane), count = __shfl_sync(FULL_WARP, pieces, lane);
            u32* const owners = found.owners + __shfl_sync(FULL_WARP, first, lane);
            for (u32 piece = threadIdx.x % 32; piece < count; piece += 32) owners[piece] = owner;
        }
    }
}
