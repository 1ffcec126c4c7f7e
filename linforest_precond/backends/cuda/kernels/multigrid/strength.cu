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

DEVICE WEIGHT imaginary_part(WEIGHT) { return 0; }
DEVICE float imaginary_part(Complex64 a) { return a.im; }
DEVICE double imaginary_part(Complex128 a) { return a.im; }

// Strength of connection 2 |a_ij| / (|a_ii| + |a_jj|); 0 unless the entry has the opposite sign of the diagonal.
DEVICE double coupling(VALUE value, VALUE here, VALUE there) {
    const double own = widened(real_part(here));
    const double pull = own > 0 ? -widened(real_part(value)) : widened(real_part(value));
    const double size = fabs(own) + fabs(widened(real_part(there)));
    return pull > 0 && size > 0 ? 2.0 * pull / size : 0.0;
}

// The sum of the magnitudes of a row, and the magnitude of its sum; to all lanes of the row.
struct RowSums {
    double size, sum;
};

DEVICE RowSums add_row(In<INDEX> indptr, In<VALUE> data, i64 row, i64 rows) {
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
    return {size, sqrt(real * real + imaginary * imaginary)};
}

KERNEL add_rows(In<INDEX> indptr, In<VALUE> data, i64 rows, double* __restrict__ sizes, double* __restrict__ sums) {
    EACH_ROW(row, rows) {
        const RowSums found = add_row(indptr, data, row, rows);
        if (row >= rows || threadIdx.x % WIDTH) continue;
        sizes[row] = found.size;
        sums[row] = found.sum;
    }
}

// The summand of an entry in the check whether the matrix is Hermitian, a hash: those of an entry and of its conjugate
// mirror image cancel. Zeros need no mirror image, real diagonal entries no other one.
DEVICE u64 balance_of(INDEX row, INDEX column, VALUE value) {
    const WEIGHT imaginary = imaginary_part(value);
    if (column == row ? is_zero(imaginary) : is_zero(value)) return 0;
    const u64 sign = 1ull << (8 * sizeof(WEIGHT) - 1);
    const u64 real_bits = is_zero(real_part(value)) ? 0 : bits(real_part(value));
    const u64 imaginary_bits = is_zero(imaginary) ? 0 : bits(imaginary) ^ (column < row ? sign : 0);
    const u64 hash = symmetry_hash(min(row, column), max(row, column), real_bits + mix64(imaginary_bits));
    return column < row ? 0 - hash : hash;
}

// What all rows show, one 64-bit word each, zero at first: a sum that is 0 for Hermitian matrices; two flags; the number
// of rows whose diagonal is at least the sum of the others, up to a thousandth; the bits of the largest magnitude on the
// diagonal, and the complement of those of the smallest; then for each block the sum of its rows' magnitudes, each in
// units of the diagonal.
enum Fact { NOT_HERMITIAN, NOT_POSITIVE, NOT_CENTERED, DOMINANT, LARGEST, SMALLEST, RATIOS };

#define DOMINANCE (1.0 + 1e-3)
#define BLOCK_WARPS 8

// The facts of a matrix in one launch. Mirror images are compared only with `mirrors`. A row counts as one of zero sum
// up to `tolerance`; diagonals below `tiny` count as that.
KERNEL __launch_bounds__(32 * BLOCK_WARPS)
    find_facts(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> diagonal, i64 rows, i64 mirrors,
               double tolerance, double tiny, u64* facts) {
    __shared__ double warp_ratios[BLOCK_WARPS];
    bool positive = true, centered = true;
    u64 balance = 0, dominant = 0, largest = 0, smallest = 0;
    double ratios = 0;
    EACH_ROW(row, rows) {
        if (mirrors) EACH_SLOT(slot, row, rows) balance += balance_of((INDEX)row, indices[slot], data[slot]);
        const RowSums found = add_row(indptr, data, row, rows);
        if (row >= rows || threadIdx.x % WIDTH) continue;
        const double own = widened(magnitude(diagonal[row]));
        const u64 bits = (u64)__double_as_longlong(own);
        positive &= widened(real_part(diagonal[row])) > 0;
        centered &= found.sum <= tolerance * found.size;
        dominant += own * DOMINANCE >= found.size - own;
        largest = max(largest, bits);
        smallest = max(smallest, ~bits);
        ratios += found.size / fmax(own, tiny);
    }
    if (!positive) facts[NOT_POSITIVE] = 1;
    if (!centered) facts[NOT_CENTERED] = 1;
    balance = warp_sum(balance);
    dominant = warp_sum(dominant);
    largest = warp_max(largest);
    smallest = warp_max(smallest);
    for (int half = 16; half > 0; half /= 2) ratios += __shfl_xor_sync(FULL_WARP, ratios, half);
    if (threadIdx.x % 32 == 0) {
        if (balance) atomicAdd(facts + NOT_HERMITIAN, balance);
        atomicAdd(facts + DOMINANT, dominant);
        atomicMax(facts + LARGEST, largest);
        atomicMax(facts + SMALLEST, smallest);
        warp_ratios[threadIdx.x / 32] = ratios;
    }
    __syncthreads();
    if (threadIdx.x) return;
    double sum = 0;
    for (int warp = 0; warp < BLOCK_WARPS; ++warp) sum += warp_ratios[warp];
    facts[RATIOS + blockIdx.x] = (u64)__double_as_longlong(sum);
}

// What is true of a row, one byte each, zero at first: its strongest connection overflows; the sign of its diagonal.
enum Flag { NOT_FINITE, POSITIVE, OTHER_SIGN };

// The strongest connection of each row, and the flags of all rows.
KERNEL find_strongest(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> diagonal, i64 rows,
                      double* __restrict__ strongest, u8* flags) {
    bool finite = true, positive = false, other = false;
    EACH_ROW(row, rows) {
        double best = 0;
        EACH_SLOT(slot, row, rows) {
            const INDEX column = indices[slot];
            if (column != row) best = fmax(best, coupling(data[slot], diagonal[row], diagonal[column]));
        }
        for (int half = WIDTH / 2; half > 0; half /= 2) best = fmax(best, __shfl_xor_sync(FULL_WARP, best, half));
        if (row >= rows || threadIdx.x % WIDTH) continue;
        strongest[row] = best;
        finite &= is_finite(best);
        const bool is_positive = widened(real_part(diagonal[row])) > 0;
        positive |= is_positive;
        other |= !is_positive;
    }
    if (!finite) flags[NOT_FINITE] = 1;
    if (positive) flags[POSITIVE] = 1;
    if (other) flags[OTHER_SIGN] = 1;
}

// The strength of each entry; 0 for weak connections, below `strength` times the strongest of either row.
KERNEL weigh_entries(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> diagonal, i64 rows,
                     In<double> strongest, double strength, double* __restrict__ weights) {
    EACH_ROW(row, rows) {
        EACH_SLOT(slot, row, rows) {
            const INDEX column = indices[slot];
            double weight = column == row ? 0.0 : coupling(data[slot], diagonal[row], diagonal[column]);
            if (weight < strength * fmin(strongest[row], strongest[column])) weight = 0;
            weights[slot] = weight;
        }
    }
}
