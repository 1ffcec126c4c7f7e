// Of this header, the conversions are used.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// A CSR matrix as a dense one in double precision, row-major: a warp clears a row and scatters its entries.
KERNEL scatter_rows(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 n, WIDE* __restrict__ dense) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, row, n, 32) {
        WIDE* own = dense + row * n;
        for (i64 column = lane; column < n; column += 32) own[column] = WIDE{};
        __syncwarp();
        for (i64 slot = (i64)indptr[row] + lane; slot < (i64)indptr[row + 1]; slot += 32) {
            const i64 column = indices[slot];
            // Out of range only if the user's array has changed.
            if (column >= 0 && column < n) convert(own[column], data[slot]);
        }
    }
}
