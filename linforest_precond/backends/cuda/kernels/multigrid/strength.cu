#include "runtime/common.cuh"
// Scalars instead of blocks.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// Lanes per row.
#define WIDTH 8

// WIDTH lanes per row; the rows of a warp are taken together, so that all lanes take part in shuffles.
#define EACH_ROW(row, rows)                                                            \
    for (i64 first = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32 * (32 / WIDTH), \
             row = first + threadIdx.x % 32 / WIDTH;                                   \
         first < rows; first += (i64)gridDim.x * blockDim.x / WIDTH, row = first + threadIdx.x % 32 / WIDTH)
#define EACH_SLOT(slot, row, rows)                                           \
    for (i64 slot = row < rows ? (i64)indptr[row] + threadIdx.x % WIDTH : 0, \
             end = row < rows ? (i64)indptr[row + 1] : 0;                    \
         slot < end; slot += WIDTH)

__device__ __forceinline__ WEIGHT imaginary_part(WEIGHT) { return 0; }
__device__ __forceinline__ float imaginary_part(Complex64 a) { return a.im; }
__device__ __forceinline__ double imaginary_part(Complex128 a) { return a.im; }

// Strength of connection 2 |a_ij| / (|a_ii| + |a_jj|); 0 unless the entry has the opposite sign of the diagonal.
__device__ __forceinline__ double coupling(VALUE value, VALUE here, VALUE there) {
    const double own = widened(real_part(here));
    const double pull = own > 0 ? -widened(real_part(value)) : widened(real_part(value));
    const double size = fabs(own) + fabs(widened(real_part(there)));
    return pull > 0 && size > 0 ? 2.0 * pull / size : 0.0;
}

// Flags a matrix that is not Hermitian: some entry is not the conjugate of its mirror image.
extern "C" __global__ void find_mirrors(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                        const VALUE* __restrict__ data, i64 rows, u32* different) {
    bool found = false;
    EACH_ROW(row, rows) {
        EACH_SLOT(slot, row, rows) {
            const INDEX column = indices[slot];
            const VALUE mirror = stored_value(indptr, indices, data, column, (INDEX)row);
            found |= !(data[slot] == conjugate(mirror));
        }
    }
    if (found) *different = 1;
}

// The sum of the magnitudes of each row, and the magnitude of its sum.
extern "C" __global__ void add_rows(const INDEX* __restrict__ indptr, const VALUE* __restrict__ data, i64 rows,
                                    double* __restrict__ sizes, double* __restrict__ sums) {
    EACH_ROW(row, rows) {
        double size = 0, real = 0, imaginary = 0;
        EACH_SLOT(slot, row, rows) {
            const VALUE value = data[slot];
            size += widened(magnitude(value));
            real += widened(real_part(value));
            imaginary += widened(imaginary_part(value));
        }
        for (int half = WIDTH / 2; half > 0; half /= 2) {
            size += __shfl_xor_sync(FULL_WARP, size, half);
            real += __shfl_xor_sync(FULL_WARP, real, half);
            imaginary += __shfl_xor_sync(FULL_WARP, imaginary, half);
        }
        if (row < rows && threadIdx.x % WIDTH == 0) {
            sizes[row] = size;
            sums[row] = sqrt(real * real + imaginary * imaginary);
        }
    }
}

// The strongest connection of each row.
extern "C" __global__ void find_strongest(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                          const VALUE* __restrict__ data, const VALUE* __restrict__ diagonal, i64 rows,
                                          double* __restrict__ strongest) {
    EACH_ROW(row, rows) {
        double best = 0;
        EACH_SLOT(slot, row, rows) {
            const INDEX column = indices[slot];
            if (column != row) best = fmax(best, coupling(data[slot], diagonal[row], diagonal[column]));
        }
        for (int half = WIDTH / 2; half > 0; half /= 2) best = fmax(best, __shfl_xor_sync(FULL_WARP, best, half));
        if (row < rows && threadIdx.x % WIDTH == 0) strongest[row] = best;
    }
}

// The strength of each entry; 0 for weak connections, below `strength` times the strongest of either row.
extern "C" __global__ void weigh_entries(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                         const VALUE* __restrict__ data, const VALUE* __restrict__ diagonal, i64 rows,
                                         const double* __restrict__ strongest, double strength,
                                         double* __restrict__ weights) {
    EACH_ROW(row, rows) {
        EACH_SLOT(slot, row, rows) {
            const INDEX column = indices[slot];
            double weight = column == row ? 0.0 : coupling(data[slot], diagonal[row], diagonal[column]);
            if (weight < strength * fmin(strongest[row], strongest[column])) weight = 0;
            weights[slot] = weight;
        }
    }
}
